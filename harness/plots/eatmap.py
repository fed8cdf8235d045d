"""EAT-Maps: the four-quadrant picture of ML-EAT's level 2 (wolfe2024, Figures 1 and 2), as a figure, a page, a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.plots.names import cell_label, concept_label
from harness.plots.p_text import format_p
from harness.plots.style import GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADED, BLANK = ORANGE, "#E9E9E9"
"""An association, and none: two tones that differ in lightness too."""

_COLUMNS = 4


@dataclass(frozen=True)
class Quadrant:
    """One cell of the map: a target (its column) and an attribute (its row).

    ``effect`` is the target's level 2 effect where it points at this attribute, and empty in the other row.
    """

    target: str
    attribute: str
    shaded: bool
    effect: str
    cosine: str


def quadrants(result: Result) -> Iterator[Quadrant]:
    """Yield the four cells, X before Y and A before B."""
    if "level2_x_d" not in result.metrics:
        raise HarnessError(f"Cell {result.fingerprint[:16]} was not measured by mleat: it has no EAT-Map.")
    metrics = result.metrics
    for target in ("X", "Y"):
        name = f"level2_{target.lower()}"
        d, p = metrics[f"{name}_d"], format_p(metrics[f"{name}_p"], metrics[f"{name}_log10_p"])
        for attribute in ("A", "B"):
            pair = f"level3_{target.lower()}{attribute.lower()}"
            points_here = (d >= 0) == (attribute == "A")
            yield Quadrant(
                target,
                attribute,
                shaded=result.labels[f"{target.lower()}_association"] == attribute,
                effect=f"d = {d:.2f}, p = {p}" if points_here else "",
                cosine=f"cos {metrics[pair + '_mean']:.2f} ({metrics[pair + '_std']:.2f})",
            )


def group_names(result: Result) -> dict[str, str]:
    """Return the concepts of X, Y, A and B."""
    rows = result.tables["level2"]
    targets = {row["target"]: row["target_concept"] for row in rows}
    return targets | {row["attribute"]: row["concept"] for row in rows}


def pattern_text(result: Result) -> str:
    """Return the pattern, and where it is that of most samples (multilevel CEAT) how many of them show it."""
    share = result.metrics.get("pattern_share")
    return result.labels["pattern"] + ("" if share is None else f" in {share:.0%} of samples")


def level1_text(result: Result) -> str:
    """Return the level 1 effect in words."""
    metrics = result.metrics
    return f"level 1: d = {metrics['d']:.2f}, p = {format_p(metrics['p'], metrics['log10_p'])}"


def figure(result: Result) -> Figure:
    """Draw one EAT-Map with group names, effects, p-values and the cosines of level 3."""
    drawing = new_figure(4.6, 4.1)
    axes = drawing.subplots()
    draw_map(axes, result, width=18, fontsize=9, cosines=True)
    axes.set_title(_title(result), loc="left", fontsize=10)
    return drawing


def _title(result: Result) -> str:
    return f"{cell_label(result)}\n{pattern_text(result)}\n{level1_text(result)}"


def eatmap_grid(results: Sequence[Result]) -> Figure:
    """Draw the EAT-Maps of many tests on a page (wolfe2024, Figure 2)."""
    if not results:
        raise HarnessError("No cell measured by mleat was given: there is no EAT-Map to draw.")
    columns = min(_COLUMNS, len(results))
    rows = math.ceil(len(results) / columns)
    drawing = new_figure(0.3 + 2.75 * columns, 0.2 + 2.7 * rows)
    drawing.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    grid = drawing.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(results) :]:
        axes.set_axis_off()
    for axes, result in zip(grid.flat, results, strict=False):
        draw_map(axes, result, width=13, fontsize=7, cosines=False)
        axes.set_title(_title(result), loc="left", fontsize=7.5)
    return drawing


def draw_map(axes: Axes, result: Result, *, width: int, fontsize: float, cosines: bool) -> None:
    """Draw the four quadrants: targets are columns, attributes rows, an association is shaded."""
    from matplotlib.patches import Rectangle

    names = group_names(result)
    for cell in quadrants(result):
        x, y = ("X", "Y").index(cell.target), 1 - ("A", "B").index(cell.attribute)
        colour = SHADED if cell.shaded else BLANK
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=3))
        ink = "white" if cell.shaded else INK
        text = cell.effect.replace(", ", "\n")
        weight = "bold" if cell.shaded else "normal"
        axes.text(x + 0.5, y + 0.56, text, ha="center", va="center", color=ink, fontsize=fontsize, fontweight=weight)
        if cosines:
            small = fontsize - 1.5
            axes.text(x + 0.5, y + 0.12, cell.cosine, ha="center", va="center", color=ink, fontsize=small)
    axes.set_xlim(0, 2)
    axes.set_ylim(0, 2)
    axes.set_xticks([0.5, 1.5], [concept_label(f"{names[t]} ({t})", width=width) for t in "XY"], fontsize=fontsize)
    axes.set_yticks([1.5, 0.5], [concept_label(f"{names[a]} ({a})", width=width) for a in "AB"], fontsize=fontsize)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def mini_map(axes: Axes, result: Result, *, x: float, y: float, size: float) -> None:
    """Draw the shading alone, as a glyph of the pattern, its lower left corner at (x, y)."""
    from matplotlib.patches import Rectangle

    half = size / 2
    for cell in quadrants(result):
        corner = (x + half * (cell.target == "Y"), y + half * (cell.attribute == "A"))
        colour = SHADED if cell.shaded else BLANK
        axes.add_patch(Rectangle(corner, half, half, facecolor=colour, edgecolor=GREY, linewidth=0.4))


def eatmap_text(result: Result) -> str:
    """Return an EAT-Map as text for a terminal."""
    names = {slot: f"{slot} {concept_label(name)}" for slot, name in group_names(result).items()}
    left = max(len(names["A"]), len(names["B"]))
    cells = {(cell.target, cell.attribute): cell for cell in quadrants(result)}
    inner = max(len(cell.effect) for cell in cells.values()) + 2
    inner = max(inner, len(names["X"]), len(names["Y"]))
    lines = [f"{cell_label(result)}: {pattern_text(result)}, {level1_text(result)}"]
    lines.append(" " * left + "".join(f"  {names[target]:^{inner + 4}}" for target in "XY"))
    for attribute in "AB":
        row = [cells[target, attribute] for target in "XY"]
        blank = " " * left + "".join("  " + _mark(cell) * (inner + 4) for cell in row)
        middle = f"{names[attribute]:>{left}}" + "".join("  " + _middle(cell, inner) for cell in row)
        lines += [blank, middle, blank]
    lines.append("█ associated   ░ not associated")
    return "\n".join(line.rstrip() for line in lines)


def _middle(cell: Quadrant, inner: int) -> str:
    mark = _mark(cell) * 2
    return f"{mark}{cell.effect:^{inner}}{mark}" if cell.effect else _mark(cell) * (inner + 4)


def _mark(cell: Quadrant) -> str:
    return "█" if cell.shaded else "░"
