"""IBD and EIBD: the ROC curve of every group, the threshold chosen, and the published point where there is one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from harness.plots.names import cell_label, concept_label
from harness.plots.style import BLUE, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED = "guo2021.text"
_COLUMNS = 3


def figure(result: Result) -> Figure:
    """Draw a panel for each group (guo2021, Figure 2)."""
    groups = result.tables["groups"]
    printed = published_points(result)
    columns = min(_COLUMNS, len(groups))
    rows = math.ceil(len(groups) / columns)
    drawing = new_figure(0.4 + 2.7 * columns, 0.9 + 2.9 * rows)
    grid = drawing.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(groups) :]:
        axes.set_axis_off()
    for axes, group in zip(grid.flat, groups, strict=False):
        curve = [row for row in result.tables["roc"] if row["group"] == group["group"]]
        _panel(axes, group, curve, printed.get(str(group["group"])))
    handles = {handle.get_label(): handle for axes in grid.flat for handle in axes.get_legend_handles_labels()[0]}
    drawing.legend(handles=list(handles.values()), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("false positive rate", fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("true positive rate", fontsize=8)
    title = f"{cell_label(result)}: {result.factors['method'].upper()}, {groups[0]['task']} words"
    drawing.suptitle(title, x=0.01, ha="left", fontsize=10)
    return drawing


def _panel(axes: Axes, group: dict[str, Any], curve: list[dict[str, Any]], printed: tuple[float, float] | None) -> None:
    axes.plot([0, 1], [0, 1], ":", color=GREY, linewidth=1, label="chance")
    fpr, tpr = [row["fpr"] for row in curve], [row["tpr"] for row in curve]
    axes.plot(fpr, tpr, ".-", color=BLUE, linewidth=0.8, markersize=4, alpha=0.7, label="ours, at every threshold")
    axes.plot(group["fpr"], group["tpr"], "o", color=BLUE, markersize=8, label="threshold chosen")
    if printed is not None:
        (point,) = axes.plot(*printed, "D", color="white", markersize=7, label="published")
        point.set(markeredgecolor=ORANGE, markeredgewidth=2)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_aspect("equal")
    positives = int(group["tp"] + group["fn"])
    everything = positives + int(group["fp"] + group["tn"])
    text = (
        f"{positives} of {everything} words\nt = {group['threshold']:.2f}, AUC {group['auc']:.2f}\n"
        f"accuracy {group['accuracy']:.2f}\nbalanced {group['balanced_accuracy']:.2f}\n"
        f"baseline {group['baseline_accuracy']:.2f}"
    )
    axes.text(0.97, 0.03, text, ha="right", va="bottom", fontsize=7, linespacing=1.3)
    axes.set_title(f"{group['group']}: {concept_label(str(group['concept']))}", loc="left", fontsize=8.5)


def published_points(result: Result) -> dict[str, tuple[float, float]]:
    """Return the paper's (FPR, TPR) of each group that it reports for this test and method."""
    from harness.published import load_published

    rows = load_published(PUBLISHED)
    rows = rows[(rows["test"] == result.factors["test"]) & (rows["method"] == result.factors["method"])]
    counts = {(row["choice"], row["statistic"]): float(row["value"]) for row in rows.to_dict("records")}
    points = {}
    for group in result.tables["groups"]:
        choice = f"group={group['group']};task={group['task']}"
        if (choice, "tp") in counts:
            fpr = counts[choice, "fp"] / group["listed_negatives"]
            points[str(group["group"])] = (fpr, counts[choice, "tp"] / group["listed_positives"])
    return points
