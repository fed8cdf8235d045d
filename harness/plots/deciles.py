"""The strongest contexts: share of each term, by its position, in both outer deciles (omrani2023, Figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

from harness.plots.person import per_cent, poles, stimulus
from harness.plots.style import GREY, new_figure
from harness.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDS = (("top", "Blues"), ("bottom", "Oranges"))


def figure(result: Result) -> Figure:
    """Draw a bar a term, cut by position from left to right; a term that does not matter stands at one half."""
    rows = result.tables["deciles"]
    count = len(rows) // 2
    positions = len(rows[0]["positions"])
    moving = any(sum(share > 0 for share in row["positions"]) > 1 for row in rows)
    drawing = new_figure(10.4, 1.6 + 0.25 * count)
    for axes, pole, (end, colours) in zip(drawing.subplots(1, 2), poles(result), _ENDS, strict=True):
        chosen = sorted((row for row in rows if row["end"] == end), key=lambda row: row["share"])
        shades = mpl.colormaps[colours]
        left = [0.0] * len(chosen)
        for place in range(positions) if moving else range(1):
            widths = [row["positions"][place] if moving else row["share"] for row in chosen]
            colour = shades(0.85 - 0.55 * place / max(1, positions - 1) if moving else 0.65)
            label = f"position {place + 1}" if moving else None
            axes.barh(range(len(chosen)), widths, left=left, color=colour, height=0.75, label=label)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        for y, row in enumerate(chosen):
            axes.text(
                row["share"] + 0.015, y, per_cent(row["share"]), va="center", fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        axes.axvline(0.5, color=GREY, linewidth=0.8, linestyle=":")
        axes.set_ylim(-0.6, len(chosen) - 0.4)
        axes.set_yticks(range(len(chosen)), [str(row["term"]) for row in chosen], fontsize=8)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 1.12)
        axes.set_xlabel("share of sentences with the term (dotted: no effect)")
        number = chosen[0]["n"]
        sentences = "1 sentence" if number == 1 else f"{number} sentences"
        axes.set_title(f"the tenth nearest to {pole} ({sentences})", loc="left", fontsize=9)
        if moving:
            axes.legend(frameon=False, fontsize=7.5, loc="lower right", title="from left to right", title_fontsize=7.5)
    drawing.suptitle(
        f"Strongest contexts of {stimulus(result)} on {result.factors['model']}, of "
        f"{result.metrics['n_sentences']:,.0f} sentences in " + ("all word orders" if moving else "one word order"),
        x=0.01,
        ha="left",
        fontsize=10,
    )
    return drawing
