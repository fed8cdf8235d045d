"""What all figures share: colours that colour-blind readers can tell apart, sizes, and how a file is written."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("agg", force=False)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#8A8A8A", "#222222"
"""Of Okabe & Ito's palette."""

DPI = 150
"""Of a PNG."""

MARGIN = 4
"""Pixels between a title and the edge of its figure."""

RC = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "text.color": INK,
    "text.parse_math": False,  # a stimulus may hold a dollar sign
    "svg.hashsalt": "eat-harness",
    "svg.fonttype": "none",
    "figure.dpi": 100,
}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure in the house style; no global state of pyplot is touched."""
    from matplotlib.figure import Figure

    mpl.rcParams.update(RC)
    return Figure(figsize=(width, height), layout="constrained")


def fit_titles(figure: Figure) -> None:
    """Break every title at spaces that would reach beyond the figure's right edge; the layout makes room for it."""
    every: list[Any] = list(figure.axes)
    titles = [title for axes in every for title in (axes.title, axes._left_title, axes._right_title)]
    titles += filter(None, [getattr(figure, "_suptitle", None)])
    titles = [title for title in titles if " " in title.get_text()]
    edge = figure.bbox.x1 - MARGIN
    if all(title.get_window_extent().width < edge / 2 for title in titles):
        return
    figure.draw_without_rendering()
    for title in titles:
        box = title.get_window_extent()
        if box.x1 > edge:
            share = (edge - box.x0) / box.width
            lines = title.get_text().split("\n")
            width = max(int(0.95 * share * max(map(len, lines))), 8)
            title.set_text("\n".join(part for line in lines for part in wrap(line, width, break_long_words=False)))


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, the same bytes for the same data."""
    fit_titles(figure)
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=DPI, metadata={"Software": None})
    figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths
