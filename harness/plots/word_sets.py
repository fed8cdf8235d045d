"""Effect sizes of a test's samples for simplified, reduced and full sets of targets (husse2022, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.plots.names import in_corpus
from harness.plots.style import BLUE, GREEN, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"simplified": ORANGE, "reduced": GREEN, "full": BLUE}


class Distribution(NamedTuple):
    """A cell of CEAT, by cosine or by probability, on one of the three sets of targets."""

    model: str
    association: str
    words: str
    result: Result


def figure(found: Sequence[Distribution]) -> Figure:
    """Draw a panel for each association and model: above by cosine, below by probability."""
    models = list(dict.fromkeys(one.model for one in found))
    associations = [name for name in ("cosine", "probability") if any(one.association == name for one in found)]
    drawing = new_figure(1.2 + 3.4 * len(models), 0.7 + 2.3 * len(associations))
    grid = drawing.subplots(len(associations), len(models), squeeze=False, sharex=True)
    for row, association in zip(grid, associations, strict=True):
        for axes, model in zip(row, models, strict=True):
            drawn = [one for one in found if (one.model, one.association) == (model, association)]
            _panel(axes, drawn)
            corpus = in_corpus(drawn[0].result) if drawn else ""
            axes.set_title(f"{association}, {model}{corpus}", loc="left", fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("effect size d of a sample")
    for axes in grid[:, 0]:
        axes.set_ylabel("samples, fullest bin = 1")
    return drawing


def _panel(axes: Axes, found: Sequence[Distribution]) -> None:
    if not found:
        axes.text(0.5, 0.5, "not measured", ha="center", va="center", color=GREY, transform=axes.transAxes)
    for one in found:
        rows = one.result.tables["histogram"]
        # Each to its own height: the samples of two simplified targets lie so near that they would hide the others.
        heights = [row["count"] / max(row["count"] for row in rows) for row in rows]
        edges = [*(row["low"] for row in rows), rows[-1]["high"]]
        colour = COLOURS[one.words]
        axes.stairs(heights, edges, fill=True, color=colour, alpha=0.35)
        axes.axvline(one.result.metrics["ces"], color=colour, linewidth=1.2)
        axes.plot([], [], color=colour, linewidth=4, label=f"{one.words}: {one.result.metrics['ces']:.2f}")
    if found:
        axes.legend(frameon=False, fontsize=7.5, title="targets: combined d", title_fontsize=7.5)
