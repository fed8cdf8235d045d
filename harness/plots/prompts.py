"""What a prompt does to ML-EAT: the shift of level 3's cosines, and levels 1 and 2 beside it (wolfe2024, Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.methods.weat import SIGNIFICANT
from harness.plots.names import cell_label, concept_label
from harness.plots.style import BLUE, GREEN, GREY, INK, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (BLUE, ORANGE, GREEN, INK, GREY)
_MARKS = ("o", "s", "D", "^", "v")
_EFFECTS = (
    ("level 1", "d", "p"),
    ("level 2, X", "level2_x_d", "level2_x_p"),
    ("level 2, Y", "level2_y_d", "level2_y_p"),
)

MOST = len(_COLOURS)
"""Prompts that a figure can tell apart."""


def prompts(results: Sequence[Result]) -> Figure:
    """Draw, for each test and model, the cosines under every prompt and the effects that rest on them."""
    groups = [group for group in _groups(results) if len(group) > 1]
    if not groups:
        raise HarnessError(
            "Prompts are compared for cells of one test and model that differ in the context alone, measured by mleat: "
            "sweep over them, as in context=bare,brings_to_mind."
        )
    labels = list(dict.fromkeys(_prompt(result) for group in groups for result in group))
    if len(labels) > MOST:
        raise HarnessError(f"{len(labels)} prompts are too many for one figure; sweep over at most {MOST}.")
    drawing = new_figure(10.2, 0.9 + (1.5 + 0.32 * len(labels)) * len(groups))
    grid: Any = drawing.subplots(len(groups), 2, squeeze=False, width_ratios=(3, 2))
    for (left, right), group in zip(grid, groups, strict=True):
        _draw_cosines(left, group, labels)
        _draw_effects(right, group, labels)
    _share_limits([left for left, _ in grid])
    _share_limits([right for _, right in grid])
    handles, names = grid[0][0].get_legend_handles_labels()
    shown = dict(zip(names, handles, strict=True))
    drawing.legend(
        [shown[name] for name in labels if name in shown],
        [name for name in labels if name in shown],
        loc="outside upper left",
        ncols=len(labels),
        frameon=False,
        fontsize=8,
    )
    return drawing


def _prompt(result: Result) -> str:
    return str(result.factors["context"])


def _groups(results: Sequence[Result]) -> list[list[Result]]:
    """Return the cells that differ in nothing but the context, in the order given."""
    found: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        key = tuple(f"{name}={value}" for name, value in result.factors.items() if name != "context")
        found.setdefault(key, []).append(result)
    return list(found.values())


def _draw_cosines(axes: Axes, group: Sequence[Result], labels: Sequence[str]) -> None:
    """Draw a row for each pair of target and attribute, a distribution in it for each prompt."""
    pairs = [(row["target"], row["attribute"]) for row in group[0].tables["cosines"]]
    step = 0.8 / len(labels)
    for place, pair in enumerate(pairs):
        base = len(pairs) - 1 - place
        first: float | None = None
        for result in group:
            number = labels.index(_prompt(result))
            row = next(row for row in result.tables["cosines"] if (row["target"], row["attribute"]) == pair)
            height = base + 0.4 - step * (number + 0.5)
            colour = _COLOURS[number]
            violin: Any = axes.violinplot(
                row["values"], positions=[height], orientation="horizontal", widths=0.95 * step, showextrema=False
            )
            violin["bodies"][0].set(facecolor=colour, edgecolor=colour, alpha=0.3, linewidth=0.8)
            axes.errorbar(
                row["mean"],
                height,
                xerr=row["std"],
                fmt=_MARKS[number],
                color=colour,
                markersize=4,
                capsize=2,
                linewidth=1,
                label=_prompt(result) if place == 0 else None,
            )
            shift = "" if first is None else f" ({row['mean'] - first:+.3f})"
            first = row["mean"] if first is None else first
            text = f"{row['mean']:.3f}{shift}"
            axes.annotate(text, (1.01, height), xycoords=("axes fraction", "data"), fontsize=7, va="center")
    rows = group[0].tables["cosines"]
    names = [
        f"{concept_label(row['target_concept'])} ({row['target']}) ×\n"
        f"{concept_label(row['attribute_concept'])} ({row['attribute']})"
        for row in rows
    ]
    axes.set_yticks(range(len(rows))[::-1], names, fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel("cosine; mean with one standard deviation, shift against the first prompt", fontsize=7.5)
    axes.set_title(cell_label(group[0]), loc="left", fontsize=9)


def _draw_effects(axes: Axes, group: Sequence[Result], labels: Sequence[str]) -> None:
    """Draw levels 1 and 2 under every prompt; a filled mark is significant, a hollow one is not."""
    for result in group:
        number = labels.index(_prompt(result))
        offset = 0.22 * (number - (len(labels) - 1) / 2)
        for place, (_, effect, p) in enumerate(_EFFECTS):
            height = len(_EFFECTS) - 1 - place - offset
            filled = result.metrics[p] < SIGNIFICANT
            axes.plot(
                result.metrics[effect],
                height,
                _MARKS[number],
                color=_COLOURS[number] if filled else "white",
                markeredgecolor=_COLOURS[number],
                markersize=6,
            )
    axes.set_yticks(range(len(_EFFECTS))[::-1], [name for name, _, _ in _EFFECTS], fontsize=7.5)
    axes.set_ylim(-0.6, len(_EFFECTS) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel(f"d: nearer to B ← 0 → nearer to A; filled: p < {SIGNIFICANT:g}", fontsize=7.5)
    patterns = [f"{_prompt(result)}: {result.labels['pattern']}" for result in group]
    axes.set_title("\n".join(patterns), loc="left", fontsize=7.5)


def _share_limits(all_axes: Sequence[Axes]) -> None:
    low = min(axes.get_xlim()[0] for axes in all_axes)
    high = max(axes.get_xlim()[1] for axes in all_axes)
    for axes in all_axes:
        axes.set_xlim(low, high)
