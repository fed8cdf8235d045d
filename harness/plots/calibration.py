"""How often each convention finds something where nothing is planted, at both levels, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plots.style import BLUE, INK, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.audit.calibration import Calibrated
    from harness.audit.text_calibration import TextCalibrated


def figure(rows: Sequence[Calibrated | TextCalibrated]) -> Figure:
    """Draw a row a convention; one whose interval lies off the level is marked by shape and colour."""
    drawing = new_figure(7.2, 1.3 + 0.21 * len(rows))
    panels = drawing.subplots(1, 2, sharey=True)
    for column, axes in enumerate(panels):
        level = rows[0].rates[column].level
        for y, row in enumerate(rows):
            rate = row.rates[column]
            off = rate.verdict != "nominal"
            colour, marker = (ORANGE, "D") if off else (BLUE, "o")
            axes.hlines(y, rate.low, rate.high, color=colour, linewidth=1.4)
            axes.plot(rate.share, y, marker, color=colour, markersize=4)
        axes.axvline(level, color=INK, linewidth=0.8, linestyle="--")
        widest = min(1.0, max(3 * level, 1.1 * max(row.rates[column].high for row in rows)))
        axes.set_xlim(-0.02 * widest, 1.02 * widest)
        axes.set_xlabel(f"share of random tests with p ≤ {level:g}".replace("0.", "."), fontsize=8)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(rows)), [str(row.convention) for row in rows], fontsize=7)
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    engine = drawing.get_layout_engine()
    if engine is not None:
        engine.set(w_pad=0.08)  # type: ignore[call-arg]
    return drawing
