"""All tests of an audit on one page: every specification's effect, the median, and what relabelling gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.methods.weat import SIGNIFICANT
from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.audit.specification import Curve


def figure(curves: Sequence[Curve]) -> Figure:
    """Draw a row a test, a mark a specification."""
    drawing = new_figure(7.2, 1.5 + 0.26 * len(curves))
    axes = drawing.subplots()
    labels = {
        "band": "95 % of medians when targets are relabelled",
        "yes": "p < .05",
        "no": "p ≥ .05",
        "median": "median",
    }
    for y, curve in enumerate(curves):
        d, p = (curve.cells[name].to_numpy(dtype=float) for name in ("d", "p"))
        if curve.inference is not None:
            low, high = curve.inference.null_low, curve.inference.null_high
            axes.barh(y, high - low, left=low, height=0.7, color=GREY, alpha=0.25, label=labels.pop("band", None))
        for chosen, colour, marker, key in (
            (p < SIGNIFICANT, BLUE, "o", "yes"),
            (~(p < SIGNIFICANT), ORANGE, "x", "no"),
        ):
            if chosen.any():
                at = np.unique(np.round(d[chosen], 3))
                axes.plot(at, np.full(len(at), y), marker, color=colour, markersize=3.5, label=labels.pop(key, None))
        axes.plot(curve.median, y, "|", color=INK, markersize=13, label=labels.pop("median", None))
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(curves)), [_label(curve) for curve in curves], fontsize=7.5)
    axes.set_ylim(len(curves) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("d of every specification (their number in brackets)", fontsize=8)
    axes.legend(frameon=False, fontsize=7.5, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, borderaxespad=0.2)
    return drawing


def _label(curve: Curve) -> str:
    without = f"; {curve.lacking:,} without d" if curve.lacking else ""
    return f"{curve.test} ({len(curve.cells):,}{without})"
