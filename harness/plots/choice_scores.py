"""Scores by a choice and model, and how the significant ones are distributed (husse2022, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.plots.style import BLUE, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.audit.husse2022 import Score

MARKERS = {"s-seat": "o", "w-seat": "s", "ceat": "D", "lpbs": "^"}
_FAINT = 0.3


def figure(panels: Mapping[str, Sequence[Score]], *, level: float) -> Figure:
    """Draw for each factor the scores of every model by its two choices, and beside them the significant ones."""
    drawn = {factor: scores for factor, scores in panels.items() if scores}
    drawing = new_figure(8.4, 0.6 + 2.7 * len(drawn))
    grid = drawing.subplots(len(drawn), 2, width_ratios=(2.6, 1), sharey=True, squeeze=False)
    for row, (factor, scores) in zip(grid, drawn.items(), strict=True):
        choices = list(dict.fromkeys(str(getattr(score, factor)) for score in scores))
        colours = dict(zip(choices, (BLUE, ORANGE, GREY), strict=False))
        _scores(row[0], scores, factor, colours)
        _distribution(row[1], scores, factor, colours, level)
    handles = {handle.get_label(): handle for axes in grid.flat for handle in axes.get_legend_handles_labels()[0]}
    drawing.legend(handles=list(handles.values()), loc="outside lower center", ncols=8, frameon=False, fontsize=8)
    return drawing


def _scores(axes: Axes, scores: Sequence[Score], factor: str, colours: Mapping[str, str]) -> None:
    models = list(dict.fromkeys(score.model for score in scores))
    spread = {name: shift for name, shift in zip(MARKERS, np.linspace(-0.12, 0.12, len(MARKERS)), strict=True)}
    for place, choice in enumerate(colours):
        centre = (place - (len(colours) - 1) / 2) * 0.4
        for method, marker in MARKERS.items():
            for faint in (True, False):
                chosen = [
                    s
                    for s in scores
                    if str(getattr(s, factor)) == choice and s.method == method and s.significant != faint
                ]
                x = [models.index(s.model) + centre + spread[method] for s in chosen]
                axes.scatter(
                    x,
                    [s.d for s in chosen],
                    marker=marker,
                    s=20,
                    color=colours[choice],
                    alpha=_FAINT if faint else 0.9,
                    linewidth=0,
                )
        axes.scatter([], [], marker="s", color=colours[choice], label=choice)
    for method, marker in MARKERS.items():
        if any(score.method == method for score in scores):
            axes.scatter([], [], marker=marker, color=GREY, label=method)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_xticks(range(len(models)), models)
    axes.set_xlim(-0.6, len(models) - 0.4)
    axes.set_ylabel("d")
    axes.set_title(f"by {factor}; faint: not significant", loc="left", fontsize=10)


def _distribution(axes: Axes, scores: Sequence[Score], factor: str, colours: Mapping[str, str], level: float) -> None:
    kept = [s for s in scores if s.significant]
    edges = np.linspace(min([s.d for s in scores] + [0]), max([s.d for s in scores] + [0.01]), 13)
    for choice, colour in colours.items():
        values = [s.d for s in kept if str(getattr(s, factor)) == choice]
        axes.hist(values, bins=list(edges), orientation="horizontal", color=colour, alpha=0.55)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel("scores")
    axes.set_title(f"p < {level:g}: {len(kept)} of {len(scores)}", loc="left", fontsize=10)
