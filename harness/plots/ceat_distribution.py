"""CEAT: the distribution of effect sizes over contexts, its bins coloured by their mean p (guo2021, Figure 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plots.names import cell_label
from harness.plots.p_text import format_p
from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "viridis"
"""Lightness falls with p, so that a bin of significant samples is dark in grey too."""


def figure(result: Result) -> Figure:
    """Draw the histogram, and for multilevel CEAT how often each pattern occurs beside it."""
    patterns = result.tables.get("patterns")
    drawing = new_figure(9.6 if patterns else 6.4, 3.9)
    if patterns:
        axes, side = drawing.subplots(1, 2, width_ratios=(1.9, 1))
        _patterns(side, result)
    else:
        axes = drawing.subplots()
    _histogram(axes, result)
    return drawing


def _histogram(axes: Axes, result: Result) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    rows, metrics = result.tables["histogram"], result.metrics
    colours, scale = colormaps[COLOURS], Normalize(0.0, 1.0)
    for row in rows:
        if row["count"]:
            width = row["high"] - row["low"]
            colour = colours(scale(row["mean_p"]))
            axes.bar(row["low"], row["count"], width, align="edge", color=colour, edgecolor=colour, linewidth=0.2)
    top = 1.22 * max(row["count"] for row in rows)
    axes.set_ylim(0, top)
    axes.axvline(0, color=GREY, linewidth=1, linestyle=":")
    axes.axvline(metrics["ces"], color=ORANGE, linewidth=1.6)
    low, high = min(0.0, rows[0]["low"]), max(0.0, rows[-1]["high"])
    axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    # The text stands away from zero, unless the frame is too near on that side.
    place = (metrics["ces"] - low) / (high - low)
    left = place > 0.8 or (metrics["ces"] < 0 and place > 0.2)
    axes.annotate(
        f"CES {metrics['ces']:.2f}",
        (metrics["ces"], top),
        (-4 if left else 4, -4),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        color=ORANGE,
        fontweight="bold",
    )
    p, by_word = (format_p(metrics[f"p_{by}"], metrics[f"log10_p_{by}"]) for by in ("item", "stimulus"))
    axes.set_title(
        f"{cell_label(result)}: {int(metrics['n_samples']):,} samples, SD {metrics['d_sd']:.2f}\n"
        f"p over samples = {p}, p over words = {by_word}",
        loc="left",
        fontsize=10,
    )
    drawn = "sentence an attribute" if "attribute_scores" in result.tables else "context a stimulus"
    axes.set_xlabel(f"effect size d of a sample: one {drawn}")
    axes.set_ylabel("samples")
    bar = axes.figure.colorbar(ScalarMappable(scale, colours), ax=axes, fraction=0.045, pad=0.02)
    bar.set_label("mean p of the samples in a bin", fontsize=8)
    bar.ax.tick_params(labelsize=7.5)


def _patterns(axes: Axes, result: Result) -> None:
    """Draw the share of samples that show each of the nine patterns, the modal one in colour."""
    rows = result.tables["patterns"]
    heights = range(len(rows) - 1, -1, -1)
    modal = result.labels["pattern"]
    shares = [row["share"] for row in rows]
    axes.barh(heights, shares, color=[BLUE if row["pattern"] == modal else GREY for row in rows], height=0.7)
    for height, row in zip(heights, rows, strict=True):
        if row["count"]:
            axes.text(row["share"] + 0.02, height, f"{row['share']:.0%}", va="center", fontsize=8, color=INK)
    axes.set_yticks(list(heights), [str(row["pattern"]) for row in rows], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.18)
    axes.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
    axes.set_xlabel("share of samples")
    axes.set_title("patterns of ML-EAT", loc="left", fontsize=10)
