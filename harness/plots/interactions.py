"""Which categories compound: main effects with their intervals, and a heat map of all two-way interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.plots.person import poles, stimulus
from harness.plots.style import BLUE, GREY, INK, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(result: Result) -> Figure:
    """Draw the factorial model of the projections; an interaction that Holm's correction leaves is in bold."""
    rows = result.tables["effects"]
    main = [row for row in rows if row["second"] is None]
    drawing = new_figure(5.6 + 0.52 * len(main), 2.4 + 0.4 * len(main))
    left, right = drawing.subplots(1, 2, width_ratios=(1, 2.1))
    _main(left, main)
    left.set_title("main effects", loc="left", fontsize=9)
    _heat(right, drawing, [row["first"] for row in main], [row for row in rows if row["second"] is not None])
    metrics, (first, second) = result.metrics, poles(result)
    drawing.suptitle(
        f"Factorial model of {stimulus(result)} on {first} v {second}: {result.factors['model']}, "
        f"{metrics['n_sentences']:,.0f} sentences\n"
        f"main effects explain {100 * metrics['share_main']:.1f} % of the variance, two-way interactions "
        f"{100 * metrics['share_interactions']:.1f} %\n"
        f"interval of every effect: ± {metrics['effect_half_width']:.2g}",
        x=0.01,
        ha="left",
        fontsize=10,
    )
    return drawing


def _main(axes: Axes, rows: list[dict[str, Any]]) -> None:
    from matplotlib.ticker import MaxNLocator

    heights = list(range(len(rows)))[::-1]
    effects = np.array([row["effect"] for row in rows])
    half = np.array([row["high"] for row in rows]) - effects
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.errorbar(effects, heights, xerr=half, fmt="o", color=BLUE, markersize=5, capsize=3)
    axes.set_yticks(heights, [f"{row['first']}\n({row['terms']})" for row in rows], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.set_xlabel("first term − second term,\nin units of projection")


def _heat(axes: Axes, drawing: Figure, names: list[str], rows: list[dict[str, Any]]) -> None:
    grid = np.full((len(names), len(names)), np.nan)
    at = {name: index for index, name in enumerate(names)}
    for row in rows:
        grid[at[row["second"]], at[row["first"]]] = row["effect"]
    shown = grid[1:, :-1]
    limit = float(np.nanmax(np.abs(shown))) or 1.0
    image = axes.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
    digits = max(0, 1 - int(np.floor(np.log10(limit))))
    for row in rows:
        y, x = at[row["second"]] - 1, at[row["first"]]
        dark = abs(row["effect"]) > 0.6 * limit
        axes.text(
            x, y, f"{row['effect']:z.{digits}f}", ha="center", va="center", fontsize=7.5 if len(names) < 8 else 6.5,
            color="white" if dark else INK,
            fontweight="bold" if row["p_holm"] < 0.05 else "normal",
        )  # fmt: skip
    axes.set_xticks(range(len(names) - 1), names[:-1], rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(range(len(names) - 1), names[1:], fontsize=8)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = drawing.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label("both first or both second terms: above (+)\nor below (−) the sum of their effects", fontsize=8)
    bar.outline.set_visible(False)
    axes.set_title("two-way interactions (bold: p < .05 after Holm)", loc="left", fontsize=9)
