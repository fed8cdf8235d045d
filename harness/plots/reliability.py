"""What single words are worth: d with all words, its range with one left out, and its spread over random halves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.audit.reliability import Reliability


def figure(rows: Sequence[Reliability]) -> Figure:
    """Draw a row a test and model."""
    drawing = new_figure(7.2, 1.4 + 0.2 * len(rows))
    axes = drawing.subplots()
    for y, row in enumerate(rows):
        axes.hlines(y, row.d - row.half_spread, row.d + row.half_spread, color=GREY, linewidth=5, alpha=0.35)
        colour, marker = (BLUE, "o") if row.sign_safe else (ORANGE, "D")
        axes.hlines(y, row.low, row.high, color=colour, linewidth=1.6)
        axes.plot(row.d, y, marker, color=colour, markersize=4.5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [f"{row.test} {row.model}" for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("d: line, range with one word left out; grey, ± standard deviation over random halves", fontsize=8)
    return drawing
