"""The scores of each two methods on the same tests, by model (husse2022, Figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plots.style import BLUE, GREEN, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.audit.husse2022 import Score

_MARKERS = "osD^vPX"


def figure(scores: Sequence[Score], methods: Sequence[str]) -> Figure:
    """Draw a matrix: two methods against each other, and each method's own scores on the diagonal."""
    methods = [name for name in methods if any(score.method == name for score in scores)]
    models = list(dict.fromkeys(score.model for score in scores))
    colours = dict(zip(models, [BLUE, ORANGE, GREEN, GREY] * len(models), strict=False))
    drawing = new_figure(0.8 + 2.0 * len(methods), 0.9 + 1.9 * len(methods))
    grid = drawing.subplots(len(methods), len(methods), squeeze=False, sharex="col")
    # One scale for all: a panel of few tests would else stretch them over its whole height.
    low, high = min(0.0, *(s.d for s in scores)), max(0.0, *(s.d for s in scores))
    room = 0.08 * (high - low) or 1.0
    for line, vertical in zip(grid, methods, strict=True):
        for axes, horizontal in zip(line, methods, strict=True):
            if vertical == horizontal:
                values = [[s.d for s in scores if s.method == vertical and s.model == model] for model in models]
                axes.hist(values, bins=8, stacked=True, color=[colours[model] for model in models], alpha=0.7)
                axes.set_yticks([])
            else:
                _points(axes, scores, horizontal, vertical, colours)
                axes.set_ylim(low - room, high + room)
            axes.set_xlim(low - room, high + room)
    for axes, name in zip(grid[-1], methods, strict=True):
        axes.set_xlabel(name)
    for axes, name in zip(grid[:, 0], methods, strict=True):
        axes.set_ylabel(name)
    handles = {h.get_label(): h for axes in grid.flat for h in axes.get_legend_handles_labels()[0]}
    drawing.legend(handles=list(handles.values()), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return drawing


def _points(axes: Axes, scores: Sequence[Score], horizontal: str, vertical: str, colours: dict[str, str]) -> None:
    for (model, colour), marker in zip(colours.items(), _MARKERS * len(colours), strict=False):
        x, y = ({s.test: s.d for s in scores if (s.method, s.model) == (m, model)} for m in (horizontal, vertical))
        tests = [test for test in x if test in y]
        axes.scatter(
            [x[t] for t in tests], [y[t] for t in tests], color=colour, s=20, marker=marker, alpha=0.8, label=model
        )
    axes.axhline(0, color=GREY, linewidth=0.6, linestyle=":")
    axes.axvline(0, color=GREY, linewidth=0.6, linestyle=":")
