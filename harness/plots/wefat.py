"""WEFAT: each word's association against its property, the line through them, and which words the line hangs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plots.labels import label_points
from harness.plots.names import cell_label, concept_label
from harness.plots.p_text import format_p
from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = 15
"""Words in the panel of influence."""


def figure(result: Result) -> Figure:
    """Draw the labelled points with the regression line (caliskan2017, Figures 1 and 2), and r without single words.

    The association is on the x-axis: the regression predicts the property from it.
    """
    metrics = result.metrics
    drawing = new_figure(10.4, 6.2)
    axes, side = drawing.subplots(1, 2, width_ratios=(3.4, 1))
    _influence(side, result)
    rows = result.tables["scores"]
    s, values = [row["s"] for row in rows], [row["property"] for row in rows]
    axes.plot(s, values, "o", color=BLUE, markersize=4)
    ends = (min(s), max(s))
    line = [metrics["intercept"] + metrics["slope"] * end for end in ends]
    axes.plot(ends, line, color=ORANGE, linewidth=1.5, zorder=1)
    axes.margins(0.1, 0.06)
    first = rows[0]
    a, b = concept_label(first["a_concept"]), concept_label(first["b_concept"])
    axes.set_xlabel(f"association s(w, A, B): nearer to {b} (B)  ←  0  →  nearer to {a} (A)")
    axes.set_ylabel(str(first["property_name"]))
    p = format_p(metrics["p"], metrics.get("log10_p"))
    axes.set_title(
        f"{cell_label(result)}: r = {metrics['r']:.2f}, p = {p}, Spearman {metrics['rho']:.2f}, {len(rows)} words",
        loc="left",
        fontsize=10,
    )
    label_points(axes, s, values, [str(row["word"]) for row in rows], fontsize=7, colour=INK)
    return drawing


def _influence(axes: Axes, result: Result) -> None:
    """Draw r without each of the words that move it most."""
    r = result.metrics["r"]
    rows = sorted(result.tables["scores"], key=lambda row: abs(row["r_without"] - r), reverse=True)[:_SHOWN]
    rows.sort(key=lambda row: row["r_without"])
    heights = range(len(rows))
    axes.hlines(heights, r, [row["r_without"] for row in rows], color=GREY, linewidth=1)
    axes.plot([row["r_without"] for row in rows], heights, "o", color=BLUE, markersize=4)
    axes.axvline(r, color=ORANGE, linewidth=1.2)
    axes.set_yticks(list(heights), [str(row["word"]) for row in rows], fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.margins(x=0.12)
    axes.set_xlabel("r without the word", fontsize=8)
    axes.set_title("influence of single words", loc="left", fontsize=9)
