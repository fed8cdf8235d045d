"""ValNorm: correlation with human ratings by layer, cosine against projection (omrani2023, Figure 2), and the words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.plots.style import BLUE, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = (("projection", BLUE, "o"), ("cosine", ORANGE, "s"))


def figure(result: Result) -> Figure:
    """Draw r at every layer, with and without the words that the poles are made of, and every word at the last."""
    layers = result.tables.get("layers")
    drawing = new_figure(10.2 if layers else 5.4, 4.4)
    if layers:
        by_layer, words = drawing.subplots(1, 2, width_ratios=(1.25, 1))
        _by_layer(by_layer, layers)
    else:
        words = drawing.subplots()
    _words(words, result)
    metrics, factors = result.metrics, result.factors
    drawing.suptitle(
        f"ValNorm of {factors['model']}, lexicon {result.labels['lexicon']}: r = {metrics['r_projection']:.2f} by "
        f"projection, {metrics['r_cosine']:.2f} by cosine, {metrics['n_words']:.0f} words",
        x=0.01,
        ha="left",
        fontsize=10,
    )
    return drawing


def _by_layer(axes: Axes, layers: list[dict[str, Any]]) -> None:
    from matplotlib.ticker import MaxNLocator

    numbers = [row["layer"] for row in layers]
    for name, colour, marker in _LINES:
        values = [row[f"r_{name}"] for row in layers]
        axes.fill_between(
            numbers,
            [row[f"ci_low_{name}"] for row in layers],
            [row[f"ci_high_{name}"] for row in layers],
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
        axes.plot(numbers, values, color=colour, marker=marker, markersize=4, label=f"{name}, all words")
        if all(f"r_without_poles_{name}" in row for row in layers):
            without = [row[f"r_without_poles_{name}"] for row in layers]
            axes.plot(numbers, without, "--", color=colour, linewidth=1, label=f"{name}, without the pole words")
    axes.set_xlabel("layer (0: the embeddings)")
    axes.set_ylabel("r with human ratings")
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, fontsize=8, loc="best", title="bands: intervals over all words", title_fontsize=8)


def _words(axes: Axes, result: Result) -> None:
    rows = result.tables["valnorm"]
    for pole, colour, size, label in ((False, GREY, 9, "word of the lexicon"), (True, BLUE, 20, "also a pole word")):
        chosen = [row for row in rows if row["pole"] == pole]
        if chosen:
            x, y = [row["rating"] for row in chosen], [row["projection"] for row in chosen]
            axes.scatter(x, y, s=size, color=colour, alpha=0.75, linewidth=0, label=label)
    axes.set_xlabel("human rating of valence")
    axes.set_ylabel("projection, last layer measured")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
