"""Every target's association s(w, A, B), sorted, X and Y apart: which words carry an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plots.names import cell_label
from harness.plots.p_text import format_p
from harness.plots.style import BLUE, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.17


def figure(result: Result) -> Figure:
    """Draw a row a word, X above Y, with each set's mean."""
    rows = result.tables["associations"]
    sets = [(slot, [row for row in rows if row["set"] == slot]) for slot in ("X", "Y")]
    drawing = new_figure(6.4, 1.3 + _ROW * (len(rows) + 2))
    axes = drawing.subplots()
    y = 0.0
    ticks: list[tuple[float, str]] = []
    for (slot, members), colour in zip(sets, (BLUE, ORANGE), strict=True):
        ordered = sorted(members, key=lambda row: row["s"], reverse=True)
        heights = [y + i for i in range(len(ordered))]
        values = [row["s"] for row in ordered]
        axes.hlines(heights, 0, values, color=colour, linewidth=1.2, alpha=0.6)
        marker = "o" if slot == "X" else "s"
        label = f"{slot}: {members[0]['concept'].rpartition('/')[2].replace('_', ' ')}"
        axes.plot(values, heights, marker, color=colour, markersize=4, label=label)
        mean = sum(values) / len(values)
        axes.plot([mean, mean], [heights[0] - 0.5, heights[-1] + 0.5], color=colour, linestyle="--", linewidth=1)
        ticks += [(height, row["word"]) for height, row in zip(heights, ordered, strict=True)]
        y = heights[-1] + 2
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks([height for height, _ in ticks], [word for _, word in ticks], fontsize=7)
    axes.set_ylim(y - 1, -1)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("s(w, A, B): nearer to B  ←  0  →  nearer to A")
    metrics = result.metrics
    p = format_p(metrics["p"], metrics["log10_p"])
    title = f"{cell_label(result)}: d = {metrics['d']:.2f}, p = {p}"
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(
        frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.6 / (1.3 + _ROW * len(rows))), ncols=2
    )
    return drawing
