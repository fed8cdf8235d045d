"""Exact p-values, or proven brackets of them, for one vector beyond what can be enumerated.

Sort the values and take the k largest: no arrangement has a larger sum. Every other arrangement takes j of them out
and puts j of the rest in, and what it loses against the largest sum is the sum of these 2j deficits. The upper tail is
the number of arrangements whose loss stays within the loss of the observed one. A small p leaves few of them, which
are listed; otherwise they are counted on a grid over that window, whose bounds are proven.
"""

import math
from typing import NamedTuple

import numpy as np

from ._checks import FloatArray
from ._grid import Bounds, Deficits, count_on_grid, grid_updates
from ._half_lists import Items, count_pairs, group_equal, subset_sums
from ._tails import Problem, Tail, Tails, exact_tail

# Relative width of the bracket that is aimed at.
TARGET_WIDTH = 0.005
# Lists of half the arrangements of 40 values still join in a fraction of a second; beyond, the grid is faster sooner.
MEET_SIZE = 40
MEET_LENGTH = 1.2 * 2 ** (MEET_SIZE // 2)
LIST_LENGTH = 2e5
# The cap: about one second and a quarter of a gigabyte. Up to CAPPED_SIZE values a bracket is returned as narrow as the
# cap allows, beyond that only one that reaches the target.
GRID_UPDATES = 6e9
GRID_ELEMENTS = 3.2e7
CAPPED_SIZE = 256
COARSE_CELLS = 1024
COARSE_UPDATES = 1e8
# A bracket this wide (on the log scale) says less about a p that sampling resolves than sampling does.
WIDEST = 0.1
SAMPLED_SHARE = 1e-3
# C(n, k) overflows a double near n = 1030.
LARGEST_SIZE = 1000


class UpperTail(NamedTuple):
    """Shares of the arrangements that reach the observed sum, and that exceed it."""

    reaching: Bounds
    exceeding: Bounds


def certified_tails(problem: Problem) -> Tails | None:
    """Tails of the only row of ``problem``, or None where no useful bracket is within the cap."""
    upward = bool(problem.observed[0] >= 0.0)
    towards = problem if upward else problem.mirrored()
    upper = upper_tail(towards)
    if upper is None:
        return None
    balanced = problem.n == 2 * problem.k
    opposite = upper if balanced else upper_tail(_opposite(towards))
    if opposite is None:
        return None
    side = "exceeding" if problem.strict else "reaching"
    other = "reaching" if problem.strict else "exceeding"
    near: Bounds = getattr(upper, side)
    far: Bounds = getattr(opposite, side)
    rest: Bounds = getattr(upper, other)
    both = Bounds(near.middle + far.middle, near.low + far.low, near.high + far.high)
    if not problem.strict and abs(problem.observed[0]) <= problem.tolerance[0]:
        both = Bounds(1.0, 1.0, 1.0)
    near_tail, far_tail = _tail(near), _tail(Bounds(1.0 - rest.middle, 1.0 - rest.high, 1.0 - rest.low))
    if upward:
        return Tails(near_tail, far_tail, _tail(both))
    return Tails(far_tail, near_tail, _tail(both))


def _opposite(problem: Problem) -> Problem:
    """Return the tail below minus the observed sum, as an upper tail."""
    return Problem(-problem.z, problem.k, problem.observed, problem.tolerance, problem.strict)


def _tail(bounds: Bounds) -> Tail:
    return exact_tail(np.array([bounds.middle]), np.array([bounds.low]), np.array([bounds.high]))


def upper_tail(problem: Problem) -> UpperTail | None:
    """Count the arrangements whose sum reaches, and exceeds, the observed one of the only row."""
    if problem.n > LARGEST_SIZE:
        return None
    ranked = np.sort(problem.z[0])[::-1]
    split = ranked[problem.k - 1]
    deficits = Deficits(removed=(ranked[: problem.k] - split)[::-1], added=split - ranked[problem.k :])
    window = float(ranked[: problem.k].sum() - problem.observed[0])
    tolerance = float(problem.tolerance[0])
    if window + tolerance < 0.0:
        return UpperTail(Bounds(0.0, 0.0, 0.0), Bounds(0.0, 0.0, 0.0))
    counts = _count(problem, deficits, budgets=[window + tolerance, window - tolerance], tolerance=tolerance)
    if counts is None:
        return None
    total = float(problem.arrangements)
    reaching, exceeding = (Bounds(*(count / total for count in bounds)) for bounds in counts)
    return UpperTail(reaching, exceeding)


def _count(problem: Problem, deficits: Deficits, *, budgets: list[float], tolerance: float) -> list[Bounds] | None:
    """Count by lists where they are short, by meeting in the middle up to MEET_SIZE values, else on a grid."""
    removed = group_equal(deficits.removed, tolerance=tolerance / problem.n)
    added = group_equal(deficits.added, tolerance=tolerance / problem.n)
    if max(removed.multisets, added.multisets) <= LIST_LENGTH:
        return _count_lists(removed, added, deficits, budgets=budgets)
    # Rounding of a sum is a few units in the last place; the tie tolerance is a hundred.
    rounding = tolerance / 10.0
    swaps = deficits.feasible_swaps(budgets[0] + rounding)
    step = lattice_step(np.concatenate([deficits.removed, deficits.added]), tolerance=tolerance / 4.0)
    if step is not None and _affordable(deficits, swaps=swaps) >= budgets[0] / step + 2:
        return count_on_grid(deficits, budgets=budgets, step=step, rounding=rounding).counts
    if grid_updates(deficits, swaps=swaps, cells=COARSE_CELLS) > COARSE_UPDATES:
        return None
    coarse = count_on_grid(deficits, budgets=budgets, step=budgets[0] / COARSE_CELLS, rounding=rounding)
    if max(coarse.lengths) <= (MEET_LENGTH if problem.n <= MEET_SIZE else LIST_LENGTH):
        return _count_lists(removed, added, deficits, budgets=budgets)
    if problem.n <= MEET_SIZE:
        return _meet_in_the_middle(problem, tolerance=tolerance)
    return _refine(problem, deficits, coarse.counts, budgets=budgets, rounding=rounding, swaps=swaps)


def _count_lists(removed: Items, added: Items, deficits: Deficits, *, budgets: list[float]) -> list[Bounds]:
    """Count exactly with one list for the values taken out and one for those put in."""
    swaps = deficits.feasible_swaps(budgets[0])
    # A subset of one side needs at least the cheapest subset of the other.
    left, right = (
        subset_sums(items, budgets=budgets[0] - np.concatenate([[0.0], np.cumsum(other[:swaps])]))
        for items, other in ((removed, deficits.added), (added, deficits.removed))
    )
    counts = (count_pairs(zip(left, right, strict=True), budget=budget) for budget in budgets)
    return [Bounds(count, count, count) for count in counts]


def _meet_in_the_middle(problem: Problem, *, tolerance: float) -> list[Bounds]:
    """Count exactly with lists of two halves of all values, for groups of very different sizes."""
    largest = min(problem.k, problem.n - problem.k)
    # Centred sums of a subset and of its complement are opposite: list whichever is smaller.
    ranked = np.sort(-problem.z[0] if largest == problem.k else problem.z[0])
    unlimited = np.full(largest + 1, np.inf)
    left, right = (
        subset_sums(group_equal(half, tolerance=tolerance / problem.n), budgets=unlimited)
        for half in (ranked[::2], ranked[1::2])
    )
    pairs = [(left[j], right[largest - j]) for j in range(largest + 1)]
    counts = (count_pairs(pairs, budget=slack - float(problem.observed[0])) for slack in (tolerance, -tolerance))
    return [Bounds(count, count, count) for count in counts]


def _affordable(deficits: Deficits, *, swaps: int) -> float:
    """Largest number of cells within the cap."""
    memory = GRID_ELEMENTS / (2 * (swaps + 1))
    return min(memory, GRID_UPDATES / max(grid_updates(deficits, swaps=swaps, cells=1), 1.0))


def _refine(
    problem: Problem, deficits: Deficits, counts: list[Bounds], *, budgets: list[float], rounding: float, swaps: int
) -> list[Bounds] | None:
    """Refine the grid until the bracket reaches the target, the cap is met, or ties keep it open."""
    cells, affordable = float(COARSE_CELLS), _affordable(deficits, swaps=swaps)
    width = _log_width(counts[0])
    while width > TARGET_WIDTH:
        wanted = cells * min(max(1.25 * width / TARGET_WIDTH, 2.0), 64.0)
        if wanted > affordable and (problem.n > CAPPED_SIZE or cells >= affordable / 1.5):
            break
        cells = min(wanted, affordable)
        finer = count_on_grid(deficits, budgets=budgets, step=budgets[0] / cells, rounding=rounding).counts
        counts = [_intersection(new, old) for new, old in zip(finer, counts, strict=True)]
        previous, width = width, _log_width(counts[0])
        if width > 0.75 * previous:
            break
    if width <= TARGET_WIDTH:
        return counts
    sampling_is_better = width > WIDEST and counts[0].middle > SAMPLED_SHARE * problem.arrangements
    return None if problem.n > CAPPED_SIZE or sampling_is_better else counts


def _log_width(bounds: Bounds) -> float:
    """Width of the bracket on the log scale, where it shrinks in proportion to the cells even when it is wide."""
    return math.log(bounds.high / bounds.low) if bounds.low > 0.0 else math.inf


def _intersection(new: Bounds, old: Bounds) -> Bounds:
    low, high = max(new.low, old.low), min(new.high, old.high)
    return Bounds(min(max(new.middle, low), high), low, high)


def lattice_step(values: FloatArray, *, tolerance: float) -> float | None:
    """Return the step of the lattice through zero that holds all ``values``, or None if there is none.

    Euclid's algorithm on floats, refined by least squares; the rounding errors of all values together must stay within
    ``tolerance``, so that ties stay ties on the grid.
    """
    distinct = np.unique(np.abs(values))
    largest = float(distinct[-1])
    negligible = 1e-9 * largest
    step = largest
    for value in distinct[distinct > negligible].tolist():
        rest = value
        while rest > negligible:
            step, rest = rest, math.fmod(step, rest)
            if step - rest < negligible:
                rest = 0.0
        if step < 1e-6 * largest:
            return None
    multiples = np.rint(values / step)
    step = float(values @ multiples / (multiples @ multiples))
    return step if np.abs(values - multiples * step).sum() <= tolerance else None
