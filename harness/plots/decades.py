"""ML-EAT over time: level 1 and both level 2 series by decade, with each decade's pattern (wolfe2024, Figure 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.methods.weat import SIGNIFICANT
from harness.plots.eatmap import group_names, mini_map
from harness.plots.names import concept_label
from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def decade(result: Result) -> int:
    """Return the year in which a model's decade begins, from its name: ``histwords-eng-1810``."""
    name = str(result.factors["model"])
    match = re.search(r"(1[5-9]|20)\d0(?=s?$)", name)
    if match is None:
        raise HarnessError(f"Model {name} does not end with a decade, such as histwords-eng-1810.")
    return int(match.group())


def _stem(result: Result) -> str:
    return str(result.factors["model"]).rstrip("s0123456789").rstrip("-_")


def decades(results: Sequence[Result]) -> Figure:
    """Draw levels 1 and 2 over the decades; a filled mark is significant, a hollow one is not."""
    cells = sorted((result for result in results if "level2_x_d" in result.metrics), key=decade)
    if len({str(result.factors["test"]) for result in cells}) != 1:
        raise HarnessError("Decades are drawn for cells of one test, measured by mleat on models of several decades.")
    years = [decade(result) for result in cells]
    if len(set(years)) != len(years):
        raise HarnessError("Two cells are of the same decade: choose a sweep in which only the decade varies.")
    drawing = new_figure(1.8 + 0.42 * max(len(cells), 8), 4.8)
    axes, strip = drawing.subplots(2, 1, height_ratios=(4, 1), sharex=True)
    names = {slot: concept_label(name) for slot, name in group_names(cells[0]).items()}
    series = (
        ("d", "p", f"level 1: {names['X']} v {names['Y']}", INK, "D", "-"),
        ("level2_x_d", "level2_x_p", f"level 2: {names['X']} (X)", BLUE, "o", "--"),
        ("level2_y_d", "level2_y_p", f"level 2: {names['Y']} (Y)", ORANGE, "s", ":"),
    )
    places = range(len(cells))
    for effect, p, label, colour, marker, line in series:
        values = [result.metrics[effect] for result in cells]
        filled = [result.metrics[p] < SIGNIFICANT for result in cells]
        axes.plot(places, values, line, color=colour, linewidth=1.3, marker=marker, markersize=6, label=label)
        for hollow in (place for place, full in zip(places, filled, strict=True) if not full):
            axes.plot(hollow, values[hollow], marker, color="white", markeredgecolor=colour, markersize=6, zorder=3)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_ylabel("d: nearer to B ← 0 → nearer to A", fontsize=8)
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    axes.set_title(
        f"{cells[0].factors['test']} on {_stem(cells[0])} by decade, {names['A']} (A) v {names['B']} (B); "
        f"filled: p < {SIGNIFICANT:g}, hollow: not",
        loc="left",
        fontsize=10,
        pad=24,
    )
    for place, result in zip(places, cells, strict=True):
        mini_map(strip, result, x=place - 0.3, y=0.2, size=0.6)
    strip.set_xlim(-0.7, len(cells) - 0.3)
    strip.set_ylim(0, 1)
    strip.set_aspect("equal")
    strip.set_yticks([])
    labels = [f"{year}  {result.labels['pattern']}" for year, result in zip(years, cells, strict=True)]
    strip.set_xticks(list(places), labels, rotation=60, ha="right", rotation_mode="anchor", fontsize=7.5)
    strip.tick_params(axis="x", length=0)
    for spine in strip.spines.values():
        spine.set_visible(False)
    return drawing
