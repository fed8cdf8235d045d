"""Level 3 of ML-EAT: the four distributions of cosines, and a word about the space when they bunch together."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from harness.plots.names import cell_label, concept_label
from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(result: Result) -> Figure:
    """Draw the cosines of each target with each attribute; mean and standard deviation are marked."""
    rows = result.tables["cosines"]
    drawing = new_figure(6.4, 3.6)
    axes = drawing.subplots()
    heights = list(range(len(rows)))[::-1]
    for height, row in zip(heights, rows, strict=True):
        colour = BLUE if row["target"] == "X" else ORANGE
        violin: Any = axes.violinplot(
            row["values"], positions=[height], orientation="horizontal", widths=0.85, showextrema=False
        )
        body = violin["bodies"][0]
        body.set(facecolor=colour, edgecolor=colour, alpha=0.35 if row["attribute"] == "A" else 0.2, linewidth=1)
        body.set_hatch("" if row["attribute"] == "A" else "////")
        axes.errorbar(row["mean"], height, xerr=row["std"], fmt="o", color=INK, markersize=4, capsize=3, linewidth=1)
        text = f"{row['mean']:.2f} ({row['std']:.2f})"
        axes.annotate(text, (row["mean"], height), (0, 9), textcoords="offset points", ha="center", fontsize=7)
    labels = [
        f"{concept_label(row['target_concept'], width=24)} ({row['target']}) ×\n"
        f"{concept_label(row['attribute_concept'], width=24)} ({row['attribute']})"
        for row in rows
    ]
    axes.set_yticks(heights, labels, fontsize=8)
    axes.tick_params(axis="y", length=0)
    low, high = min(min(row["values"]) for row in rows), max(max(row["values"]) for row in rows)
    axes.set_xlim(min(low, 0) - 0.03, min(high, 1) + 0.03)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel("cosine; the mark is the mean with one standard deviation either side")
    weight = "normal" if result.labels["anisotropy"] == "low" else "bold"
    axes.set_title(
        f"{cell_label(result)}\n" + textwrap.fill(result.labels["anisotropy_in_words"], 80),
        loc="left",
        fontsize=9,
        fontweight=weight,
    )
    return drawing
