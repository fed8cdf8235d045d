"""bs(w) of every attribute word, A above B: which attributes raise the probability of X rather than Y (LPBS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.plots.names import cell_label, concept_label
from harness.plots.p_text import format_p
from harness.plots.style import BLUE, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.17


def figure(result: Result) -> Figure:
    """Draw a row an attribute word, sorted, with each set's mean and faint marks.

    The marks are an attribute's sentences, or within CEAT the quantiles of its samples. A set's mean is that of what
    was exchanged, its words or their sentences. bs of a causal model has no zero of its own (`docs/lpbs.md`), so that
    none is drawn.
    """
    rows = result.tables["attribute_scores"]
    within_ceat, has_zero = "samples" in result.tables, "causal" not in result.labels["name"]
    by_sentence = result.factors.get("unit") == "item" and not within_ceat
    drawing = new_figure(6.4, 1.7 + _ROW * (len(rows) + 2))
    axes = drawing.subplots()
    y = 0.0
    ticks: list[tuple[float, str]] = []
    for slot, colour, marker in (("A", BLUE, "o"), ("B", ORANGE, "s")):
        members = sorted((row for row in rows if row["set"] == slot), key=lambda row: row["bs"], reverse=True)
        heights = [y + i for i in range(len(members))]
        values = [row["bs"] for row in members]
        for height, row in zip(heights, members, strict=True):
            axes.plot(row["items"], [height] * len(row["items"]), "|", color=colour, markersize=5, alpha=0.45)
        label = f"{slot}: {concept_label(members[0]['concept'])}"
        axes.plot(values, heights, marker, color=colour, markersize=4, linestyle="none", label=label)
        weights = [len(row["items"]) if by_sentence else 1 for row in members]
        mean = np.average(values, weights=weights)
        axes.plot([mean, mean], [heights[0] - 0.5, heights[-1] + 0.5], color=colour, linestyle="--", linewidth=1)
        ticks += [(height, row["word"]) for height, row in zip(heights, members, strict=True)]
        y = heights[-1] + 2
    axes.plot([], [], "|", color=GREY, markersize=5, label="quantiles of samples" if within_ceat else "sentences")
    axes.plot([], [], "--", color=GREY, linewidth=1, label="mean")
    if has_zero:
        axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks([height for height, _ in ticks], [word for _, word in ticks], fontsize=7)
    axes.set_ylim(y - 1, -1)
    axes.tick_params(axis="y", length=0)
    targets = {row["set"]: concept_label(row["concept"]) for row in result.tables["target_scores"]}
    axes.set_xlabel(
        f"bs(w): raises {targets['Y']}  ←  0  →  raises {targets['X']}"
        if has_zero
        else f"bs(w): {targets['Y']}  ←  →  {targets['X']}"
    )
    p = format_p(result.metrics["p"], result.metrics["log10_p"])
    title = f"{cell_label(result)}\n{result.labels['name']}: d = {result.metrics['d']:.2f}, p = {p}"
    axes.set_title(title, loc="left", fontsize=10)
    height = 1.5 + _ROW * len(rows)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.6 / height), ncols=4)
    return drawing
