"""LPBS in a corpus by the words that are let in between target and attribute, test by test (husse2022, Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.plots.names import in_corpus
from harness.plots.style import BLUE, GREEN, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(results: Sequence[Result], *, level: float) -> Figure:
    """Draw a line a model in a panel for each test; a filled mark is significant."""
    tests = list(dict.fromkeys(str(result.factors["test"]) for result in results))
    models = list(dict.fromkeys(str(result.factors["model"]) for result in results))
    colours = dict(zip(models, [BLUE, ORANGE, GREEN] * len(models), strict=False))
    drawing = new_figure(0.8 + 3.2 * len(tests), 3.2)
    grid = drawing.subplots(1, len(tests), squeeze=False, sharey=True)[0]
    for axes, test in zip(grid, tests, strict=True):
        drawn = [one for one in results if one.factors["test"] == test]
        for result in drawn:
            colour = colours[str(result.factors["model"])]
            rows = [row for row in result.tables["gaps"] if row["d_item"] is not None]
            gaps, d = [row["gap"] for row in rows], [row["d_item"] for row in rows]
            axes.plot(gaps, d, color=colour, linewidth=1, label=str(result.factors["model"]))
            faces = [colour if row["p_item"] < level else "white" for row in rows]
            axes.scatter(gaps, d, s=20, c=faces, edgecolors=colour, zorder=3)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("words between target and attribute, at most")
        axes.set_title(test + in_corpus(drawn[0]), loc="left", fontsize=10)
    grid[0].set_ylabel("d")
    grid[0].legend(frameon=False, fontsize=8, title=f"filled: p < {level:g}", title_fontsize=7.5)
    return drawing
