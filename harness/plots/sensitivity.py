"""What each factor is worth: mean |Δd| between cells that differ in it alone, and how often the answer changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plots.style import BLUE, GREEN, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.audit.sensitivity import FactorEffect

_MARKS = (
    ("sign", "sign_flips", ORANGE, "s"),
    ("verdict", "verdict_flips", BLUE, "o"),
    ("pattern", "pattern_flips", GREEN, "^"),
)


def figure(effects: Sequence[FactorEffect]) -> Figure:
    """Draw a row a factor, the largest mean |Δd| on top."""
    known = [effect for effect in effects if effect.pairs]
    drawing = new_figure(7.2, 1.5 + 0.32 * max(len(known), 1))
    left, right = drawing.subplots(1, 2, sharey=True, width_ratios=[1.3, 1])
    y = list(range(len(known)))
    left.barh(y, [effect.mean_change for effect in known], color=GREY, height=0.55)
    for at, effect in zip(y, known, strict=True):
        left.text(effect.mean_change, at, f" {effect.mean_change:.3f}", va="center", fontsize=7.5)
    left.set_yticks(y, [f"{effect.factor}\n{effect.kind}, {effect.pairs:,} pairs" for effect in known], fontsize=7)
    left.set_xlabel("mean |Δd| when only this changes", fontsize=8)
    left.margins(x=0.18)
    left.set_xlim(left=0)
    left.set_ylim(len(known) - 0.4, -0.6)
    left.tick_params(axis="y", length=0)
    for (name, field, colour, marker), shift in zip(_MARKS, (-0.2, 0.0, 0.2), strict=True):
        shares = [(getattr(effect, field), at + shift) for at, effect in zip(y, known, strict=True)]
        shares = [(value, at) for value, at in shares if value is not None]
        if shares:
            right.hlines([at for _, at in shares], 0, [value for value, _ in shares], color=colour, linewidth=0.8)
            right.plot(*zip(*shares, strict=True), marker, color=colour, markersize=4.5, label=f"{name} flips")
    right.set_xlim(-0.02, 1.02)
    right.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"], fontsize=7)
    right.set_xlabel("share of pairs", fontsize=8)
    right.tick_params(axis="y", length=0)
    right.legend(frameon=False, fontsize=7.5, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.2)
    return drawing
