"""Count pairs of subsets on a grid, with proven bounds.

Deficits are rounded to a grid and subsets are counted by dynamic programming. How far the rounding of a j-subset can
lead is known (the j largest rounding errors), and moving the threshold by that much gives bounds that hold.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._checks import FloatArray

EPS = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """A count: the best estimate, and what it is proven not to fall below or exceed."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Deficits:
    """What an arrangement loses against the largest sum, item by item, ascending.

    ``removed`` are the losses of taking one of the k largest values out, ``added`` those of putting one of the others
    in. An arrangement takes out as many as it puts in; its sum is the largest one minus all these losses.
    """

    removed: FloatArray
    added: FloatArray

    @property
    def swaps(self) -> int:
        """Largest number of values that can be exchanged."""
        return min(self.removed.size, self.added.size)

    def feasible_swaps(self, budget: float) -> int:
        """Largest number of exchanges whose cheapest choice stays within ``budget``."""
        cheapest = np.cumsum(self.removed[: self.swaps] + self.added[: self.swaps])
        return int(np.searchsorted(cheapest, budget, side="right"))


@dataclass(frozen=True)
class GridCount:
    """Bounds of the count for every budget, and how long exact lists of both halves would be."""

    counts: list[Bounds]
    lengths: tuple[float, float]


def grid_updates(deficits: Deficits, *, swaps: int, cells: int) -> float:
    """Estimate the work of :func:`count_on_grid`, in additions."""
    return float(cells) * swaps * (deficits.removed.size + deficits.added.size)


def count_on_grid(deficits: Deficits, *, budgets: list[float], step: float, rounding: float) -> GridCount:
    """Count the arrangements whose total deficit stays within each budget.

    ``rounding`` bounds the error of a sum of deficits in floating point; budgets are widened by it.
    """
    widest = max(budgets) + rounding
    swaps = deficits.feasible_swaps(widest)
    halves = [_Half.of(side, step=step, swaps=swaps) for side in (deficits.removed, deficits.added)]
    errors_up = halves[0].largest_error + halves[1].largest_error
    errors_down = halves[0].smallest_error + halves[1].smallest_error
    cells = int(np.floor((widest - errors_down.min()) / step)) + 1
    reserved = [halves[1].cheapest, halves[0].cheapest]
    removed, added = (
        half.count_subsets(cells=cells, reserved=other) for half, other in zip(halves, reserved, strict=True)
    )
    lengths = (float(removed.sum()), float(added.sum()))
    np.cumsum(added, axis=1, out=added)

    def total(limits: FloatArray) -> float:
        return sum(_pairs_within(removed[j], added[j], int(limit)) for j, limit in enumerate(np.floor(limits / step)))

    # Counts beyond 2^53 are no longer whole numbers in floats; all terms are positive, so the relative error is small.
    slack = (deficits.removed.size + deficits.added.size + cells) * EPS
    counts = []
    for budget in budgets:
        middle = total(np.full(swaps + 1, budget))
        low = total(budget - rounding - errors_up) * (1.0 - slack)
        high = total(budget + rounding - errors_down) * (1.0 + slack)
        counts.append(Bounds(min(max(middle, low), high), low, high))
    return GridCount(counts, lengths)


def _pairs_within(removed: FloatArray, added_up_to: FloatArray, limit: int) -> float:
    if limit < 0:
        return 0.0
    limit = min(limit, removed.size - 1)
    return float(removed[: limit + 1] @ added_up_to[limit::-1])


@dataclass(frozen=True)
class _Half:
    """One side of the exchange on the grid."""

    cells: list[int]
    cheapest: list[int]
    largest_error: FloatArray
    smallest_error: FloatArray

    @classmethod
    def of(cls, losses: FloatArray, *, step: float, swaps: int) -> "_Half":
        on_grid = np.rint(losses / step)
        errors = np.sort(losses - on_grid * step)

        def running(values: FloatArray) -> FloatArray:
            return np.concatenate([[0.0], np.cumsum(values[:swaps])])

        cheapest = running(np.sort(on_grid))
        return cls(
            cells=[int(cell) for cell in on_grid],
            cheapest=[int(cell) for cell in cheapest],
            largest_error=running(errors[::-1]),
            smallest_error=running(errors),
        )

    def count_subsets(self, *, cells: int, reserved: list[int]) -> FloatArray:
        """Count the subsets by cardinality and cell; ``reserved`` cells are needed by the other side at least."""
        swaps = len(self.cheapest) - 1
        counts = np.zeros((swaps + 1, cells))
        counts[0, 0] = 1.0
        for seen, cell in enumerate(self.cells):
            for size in range(min(seen, swaps - 1), -1, -1):
                end, start = cells - reserved[size + 1], self.cheapest[size]
                if start + cell < end:
                    counts[size + 1, start + cell : end] += counts[size, start : end - cell]
        return counts
