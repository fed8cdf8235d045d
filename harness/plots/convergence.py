"""CEAT: the combined effect size against the number of samples, with its band and where they were enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plots.names import cell_label
from harness.plots.style import BLUE, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(result: Result) -> Figure:
    """Draw CES of the first n samples, the error of sampling around it, and the number that the stop rule names."""
    rows, metrics = result.tables["convergence"], result.metrics
    n, ces = [row["n"] for row in rows], [row["ces"] for row in rows]
    final, enough = metrics["ces"], metrics["n_enough"]
    drawing = new_figure(6.4, 3.6)
    axes = drawing.subplots()
    low, high = ([row["ces"] + sign * row["error"] for row in rows] for sign in (-1, 1))
    axes.fill_between(n, low, high, color=BLUE, alpha=0.18, linewidth=0, label="error of sampling")
    bounds = [[row[key] for row in rows] for key in ("ci_low", "ci_high")]
    for values, label in zip(bounds, ("interval of the random-effects model", None), strict=True):
        axes.plot(n, values, color=GREY, linewidth=0.9, linestyle="--", label=label)
    axes.plot(n, ces, "o-", color=BLUE, markersize=4, label="CES of the first n samples")
    axes.axhline(final, color=ORANGE, linewidth=0.9)
    axes.set_xscale("log")
    if n[0] <= enough <= n[-1]:
        axes.axvline(enough, color=ORANGE, linewidth=1.2, linestyle=":")
        beyond = enough > (n[0] * n[-1]) ** 0.5
        axes.annotate(
            f"{int(enough):,} were enough",
            (enough, 1),
            (-4 if beyond else 4, -3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if beyond else "left",
            va="top",
            color=ORANGE,
            fontsize=8,
        )
    axes.set_xticks(n, [f"{k:,}" for k in n], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("samples n")
    axes.set_ylabel("combined effect size")
    axes.margins(y=0.15)
    axes.legend(frameon=False, fontsize=7.5, loc="best")
    verdict = "" if result.labels["samples_enough"] == "yes" else f"\nabout {int(enough):,} samples are needed"
    axes.set_title(
        f"{cell_label(result)}: CES {final:.3f} ± {metrics['ces_error']:.3f}{verdict}", loc="left", fontsize=10
    )
    return drawing
