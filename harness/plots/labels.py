"""Names beside points, placed so that no two of their boxes overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_PAD = 1.5
"""Pixels kept free around a box: text is a little wider or narrower at another resolution."""
_ANGLES = [math.radians(degrees) for degrees in (0, 180, 90, 270, 35, 145, 325, 215, 60, 120, 300, 240)]
_NEAR, _STEP, _RINGS = 5.0, 6.0, 60


class Box(NamedTuple):
    """A rectangle in pixels."""

    x0: float
    y0: float
    x1: float
    y1: float

    def overlaps(self, other: Box) -> bool:
        """Return whether two rectangles share some area."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1

    def within(self, other: Box) -> bool:
        """Return whether this rectangle lies inside the other."""
        return self.x0 >= other.x0 and self.y0 >= other.y0 and self.x1 <= other.x1 and self.y1 <= other.y1


def label_points(
    axes: Axes, x: Sequence[float], y: Sequence[float], texts: Sequence[str], *, fontsize: float, colour: str
) -> list[Annotation]:
    """Write a name beside every point, each box clear of the other boxes and of all points.

    Points that stand closest together choose first. A name tries the places around its point, then wider rings; one
    that had to move away is tied to its point by a thin line. The layout of the figure is settled before and kept.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes belong to no figure")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    renderer = FigureCanvasAgg(figure).get_renderer()
    frame = Box(*axes.get_window_extent(renderer).extents)
    points = [(float(px), float(py)) for px, py in axes.transData.transform(list(zip(x, y, strict=True)))]
    taken = [Box(px - 3, py - 3, px + 3, py + 3) for px, py in points]
    placed: dict[int, Annotation] = {}
    for i in sorted(range(len(points)), key=lambda i: _crowding(points, i), reverse=True):
        probe = axes.text(0, 0, texts[i], fontsize=fontsize)
        size = probe.get_window_extent(renderer)
        probe.remove()
        centre, ring = _free_place(points[i], (size.width, size.height), taken, frame)
        half = (size.width / 2 + _PAD, size.height / 2 + _PAD)
        taken.append(Box(centre[0] - half[0], centre[1] - half[1], centre[0] + half[0], centre[1] + half[1]))
        scale = 72 / figure.dpi
        offset = ((centre[0] - points[i][0]) * scale, (centre[1] - points[i][1]) * scale)
        placed[i] = axes.annotate(
            texts[i],
            (x[i], y[i]),
            offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=fontsize,
            color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4, "alpha": 0.6} if ring > 1 else None,
        )
    return [placed[i] for i in range(len(points))]


def _crowding(points: Sequence[tuple[float, float]], i: int) -> float:
    return sum(1 / (25 + math.dist(points[i], other)) for j, other in enumerate(points) if j != i)


def _free_place(
    point: tuple[float, float], size: tuple[float, float], taken: Sequence[Box], frame: Box
) -> tuple[tuple[float, float], int]:
    """Return the centre of the nearest free box around a point, and the ring on which it was found."""
    half_width, half_height = size[0] / 2 + _PAD, size[1] / 2 + _PAD
    for ring in range(_RINGS):
        distance = _NEAR + _STEP * ring
        for angle in _ANGLES:
            x = point[0] + math.cos(angle) * (distance + half_width)
            y = point[1] + math.sin(angle) * (distance + half_height)
            box = Box(x - half_width, y - half_height, x + half_width, y + half_height)
            if box.within(frame) and not any(box.overlaps(other) for other in taken):
                return (x, y), ring
    raise ValueError("the figure is too small for its labels: give it more room or fewer points")
