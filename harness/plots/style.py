"""What all figures share: colours that colour-blind readers can tell apart, sizes, and how a file is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("agg", force=False)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#8A8A8A", "#222222"
"""Of Okabe & Ito's palette."""

DPI = 150
"""Of a PNG."""

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


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, the same bytes for the same data."""
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=DPI, metadata={"Software": None})
    figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths
