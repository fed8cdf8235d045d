"""Figures, each drawn from a result's tables alone; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import importlib
from pathlib import Path

from harness.result import Result

FIGURES = {
    "associations": "associations",
    "eatmap": "level2",
    "cosines": "cosines",
    "wefat": "scores",
    "roc": "roc",
    "lpbs": "attribute_scores",
    "lpbs_gaps": "gaps",
    "valnorm": "valnorm",
    "valence": "categories",
    "deciles": "deciles",
    "interactions": "effects",
    "ceat_distribution": "histogram",
    "convergence": "convergence",
}
"""A figure, which is a module here with a function ``figure``, and the table of a result that it needs."""


def draw(result: Result, folder: Path) -> list[Path]:
    """Draw every figure of a result as PNG and SVG; return the files."""
    from harness.plots.style import save

    paths: list[Path] = []
    for name, table in FIGURES.items():
        if result.tables.get(table):
            paths += save(importlib.import_module(f"harness.plots.{name}").figure(result), folder / name)
    return paths
