"""The share of targets that are one piece of a model's vocabulary (husse2022, Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plots.style import BLUE, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.audit.vocabulary import Retained

_BAR = 0.38


def figure(shares: Sequence[Retained]) -> Figure:
    """Draw two bars a test, X and Y, in a panel for each model."""
    models = list(dict.fromkeys(share.model for share in shares))
    tests = list(dict.fromkeys(share.test for share in shares))
    drawing = new_figure(0.8 + 0.62 * len(tests), 0.8 + 1.9 * len(models))
    for axes, model in zip(drawing.subplots(len(models), 1, squeeze=False, sharex=True).flat, models, strict=True):
        for slot, shift, colour in (("X", -_BAR / 2, BLUE), ("Y", _BAR / 2, ORANGE)):
            found = [share for share in shares if share.model == model and share.slot == slot]
            places = [tests.index(share.test) + shift for share in found]
            axes.bar(places, [share.share for share in found], _BAR, color=colour, label=f"targets {slot}")
            for place, share in zip(places, found, strict=True):
                axes.text(place, share.share + 0.02, f"{share.kept}", ha="center", fontsize=7)
        axes.set_ylim(0, 1.12)
        axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        axes.set_xticks(range(len(tests)), tests)
        axes.set_title(f"in the vocabulary of {model}", loc="left", fontsize=10)
    handles, labels = axes.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return drawing
