"""The specification curve of a test: every specification by its effect, and below it the choices behind each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.methods.weat import SIGNIFICANT
from harness.natural import natural_key
from harness.plots.style import BLUE, GREY, INK, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.audit.specification import Curve

_ROW = 0.145
_MOST_LEVELS = 16
_RASTER = 300
"""Specifications beyond which marks are drawn as pixels: a file of vectors would be too large for a page."""


def figure(curve: Curve, choices: list[str]) -> Figure:
    """Draw a curve with the dashboard of its choices."""
    rows = dashboard_rows(curve, choices)
    drawing = new_figure(7.2, 2.65 + _ROW * (len(rows) + 1))
    if rows:
        top, below = drawing.subplots(2, 1, sharex=True, height_ratios=[2.3, _ROW * (len(rows) + 1)])
        _dashboard(below, curve, rows)
    else:
        top = drawing.subplots()
        top.set_xticks([])
    _effects(top, curve)
    return drawing


def dashboard_rows(curve: Curve, choices: list[str]) -> list[tuple[str, str]]:
    """Return the rows of the dashboard: a factor and one of its values; a factor of very many values has none."""
    rows = []
    for name in choices:
        known = [value for value in curve.cells[name] if value is not None and value == value]
        levels = sorted(set(map(str, known)), key=natural_key)
        if 1 < len(levels) <= _MOST_LEVELS:
            rows += [(name, level) for level in levels]
    return rows


def _effects(axes: Axes, curve: Curve) -> None:
    d = curve.cells["d"].to_numpy(dtype=float)
    x = np.arange(len(d))
    significant = curve.cells["p"].to_numpy(dtype=float) < SIGNIFICANT
    raster = len(d) > _RASTER
    low, high = (curve.cells[name].to_numpy(dtype=float) for name in ("ci_low", "ci_high"))
    known = np.isfinite(low) & np.isfinite(high)
    axes.vlines(x[known], low[known], high[known], color="#C9C9C9", linewidth=1, rasterized=raster)
    if curve.inference is not None:
        band = (curve.inference.null_low, curve.inference.null_high)
        label = "95 % of medians when targets are relabelled"
        axes.axhspan(*band, color=GREY, alpha=0.22, linewidth=0, label=label)
    axes.axhline(0, color=INK, linewidth=0.8)
    size = 3.2 if len(d) <= _RASTER else 1.6
    for chosen, colour, marker, label in (
        (significant, BLUE, "o", f"p < {SIGNIFICANT:g}".replace("0.", ".")),
        (~significant, ORANGE, "x", f"p ≥ {SIGNIFICANT:g}".replace("0.", ".")),
    ):
        if chosen.any():
            axes.plot(
                x[chosen],
                d[chosen],
                marker,
                color=colour,
                markersize=size,
                label=label,
                linestyle="",
                rasterized=raster,
            )
    axes.axhline(curve.median, color=BLUE, linewidth=0.8, linestyle="--", label=f"median {curve.median:.2f}")
    axes.set_ylabel("d")
    axes.tick_params(axis="x", length=0)
    axes.set_title(_title(curve), loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=7.5, loc="lower right", bbox_to_anchor=(1, -0.2), ncols=4, borderaxespad=0)


def _title(curve: Curve) -> str:
    without = f" ({curve.lacking:,} without d)" if curve.lacking else ""
    text = f"{curve.test}: {len(curve.cells):,} specifications{without}, {curve.significant:.0%} significant"
    if curve.inference is not None:
        text += f"\nmedian v relabelling p = {curve.inference.p_median:.3g}"
    return text


def _dashboard(axes: Axes, curve: Curve, rows: list[tuple[str, str]]) -> None:
    previous = None
    y = 0.0
    ticks: list[tuple[float, str]] = []
    for name, level in rows:
        y += 0.5 if previous not in (None, name) else 0.0
        chosen = np.flatnonzero([str(value) == level for value in curve.cells[name]])
        axes.plot(chosen, np.full(len(chosen), y), "|", color=INK, markersize=4, rasterized=len(curve.cells) > _RASTER)
        ticks.append((y, f"{name}: {level}" if previous != name else level))
        previous, y = name, y + 1
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=7)
    axes.set_ylim(y - 0.3, -0.7)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xticks([])
    axes.set_xlabel("specifications, by d", fontsize=8)
