"""LPBS by the largest number of words that are let in between target and attribute (husse2022, Figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.methods.weat import SIGNIFICANT
from harness.plots.names import cell_label
from harness.plots.style import BLUE, GREY, ORANGE, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(result: Result) -> Figure:
    """Draw d over the largest gap, by sentence and by attribute word, above the number of sentences."""
    rows = result.tables["gaps"]
    drawing = new_figure(6.4, 4.2)
    above, below = drawing.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    for by, colour, marker, label in (
        ("item", BLUE, "o", "sentences exchanged"),
        ("stimulus", ORANGE, "s", "attribute words exchanged"),
    ):
        known = [row for row in rows if row[f"d_{by}"] is not None]
        gaps, d = [row["gap"] for row in known], [row[f"d_{by}"] for row in known]
        faces = [colour if row[f"p_{by}"] < SIGNIFICANT else "white" for row in known]
        above.plot(gaps, d, color=colour, linewidth=1, marker=marker, markersize=4, label=label)
        above.scatter(gaps, d, marker=marker, s=22, c=faces, edgecolors=colour, zorder=3)
    above.axhline(0, color=GREY, linewidth=0.8)
    above.set_ylabel("effect size d")
    above.legend(frameon=False, fontsize=8, title=f"filled: p < {SIGNIFICANT:g}", title_fontsize=7.5)
    below.bar([row["gap"] for row in rows], [row["n_a"] for row in rows], color=BLUE, alpha=0.35, label="with A")
    below.bar(
        [row["gap"] for row in rows],
        [row["n_b"] for row in rows],
        bottom=[row["n_a"] for row in rows],
        color=ORANGE,
        alpha=0.35,
        label="with B",
    )
    below.set_ylabel("sentences")
    below.set_xlabel("words between target and attribute, at most")
    below.set_xticks([row["gap"] for row in rows if row["gap"] % 2 == 0])
    below.legend(frameon=False, fontsize=7.5, loc="upper left")
    above.set_title(f"{cell_label(result)}\n{result.labels['name']}", loc="left", fontsize=10)
    return drawing
