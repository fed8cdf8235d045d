"""SC-WEAT: the mean valence of *person* with each category's two terms (omrani2023, Figure 3), and d."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from harness.methods.weat import SIGNIFICANT
from harness.plots.p_text import format_p
from harness.plots.person import poles, stimulus
from harness.plots.style import BLUE, GREEN, GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(result: Result) -> Figure:
    """Draw a row a category: the means of both terms and the line between them; beside it d, with both p-values."""
    from matplotlib.ticker import MaxNLocator

    rows = result.tables["categories"]
    drawing = new_figure(11.6, 1.5 + 0.42 * len(rows))
    means, effects = drawing.subplots(1, 2, width_ratios=(1.7, 1), sharey=True)
    heights = list(range(len(rows)))[::-1]
    for y, row in zip(heights, rows, strict=True):
        ends = row["mean_first"], row["mean_second"]
        means.plot(ends, (y, y), color=GREEN, linewidth=2.2, zorder=1)
        for value, other, term, marker, colour in (
            (ends[0], ends[1], row["first"], "o", BLUE),
            (ends[1], ends[0], row["second"], "s", ORANGE),
        ):
            means.plot(value, y, marker, color=colour, markersize=7)
            left = value < other
            means.annotate(
                term, (value, y), (-8 if left else 8, 0), textcoords="offset points", ha="right" if left else "left",
                va="center", fontsize=8,
            )  # fmt: skip
    means.margins(x=0.24)
    means.xaxis.set_major_locator(MaxNLocator(6))
    means.set_yticks(heights, [row["category"] for row in rows])
    means.tick_params(axis="y", length=0)
    means.set_ylim(-0.7, len(rows) - 0.3)
    first, second = poles(result)
    means.set_xlabel(f"mean projection: {second} ← → {first}")
    means.set_title("circle: first term, square: second", loc="left", fontsize=8)
    _effects(effects, result, heights)
    layer = result.factors["layer"]
    where = f"layer {layer}" if isinstance(layer, int) else "last layer"
    drawing.suptitle(
        f"Projection of {stimulus(result)} on {first} v {second} by category: {result.factors['model']}, "
        f"{result.metrics['n_sentences']:,.0f} sentences, {where}",
        x=0.01,
        ha="left",
        fontsize=10,
    )
    return drawing


def _effects(axes: Axes, result: Result, heights: list[int]) -> None:
    rows = result.tables["categories"]
    orders = {row["category"]: row["d"] for row in result.tables.get("orders") or []}
    axes.axvline(0, color=GREY, linewidth=0.8)
    for y, row in zip(heights, rows, strict=True):
        others = orders.get(row["category"], [])[1:]
        axes.plot(others, [y] * len(others), "|", color=GREY, markersize=11)
        filled = row["p_two_sided"] < SIGNIFICANT
        axes.plot(row["d"], y, "D", color=INK if filled else "white", markeredgecolor=INK, markersize=5)
    axes.set_xlabel("d of first v second term")
    axes.margins(x=0.12)
    axes.tick_params(axis="y", length=0)
    right = axes.secondary_yaxis("right")
    texts = [f"d = {row['d']:.2f}   {_p_text('p', row['p_two_sided'])}{_paired_text(row)}" for row in rows]
    right.set_yticks(heights, texts, fontsize=7.5)
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)
    others = len(next(iter(orders.values()))) - 1 if orders else 0
    ticks = f"; ticks: {others} other word orders" if others else ""
    axes.set_title(f"filled: p < {SIGNIFICANT:g}; every p is two-sided{ticks}", loc="left", fontsize=8)


def _p_text(name: str, p: float) -> str:
    """Return a p-value, or that it is below what a computer writes."""
    return f"{name} = {format_p(p)}" if p > sys.float_info.min else f"{name} < 1e-307"


def _paired_text(row: dict[str, Any]) -> str:
    """Return the p-value of matched pairs, where there is one."""
    p = row.get("paired_p_two_sided")
    return "" if p is None else f"   {_p_text('paired p', p)}"
