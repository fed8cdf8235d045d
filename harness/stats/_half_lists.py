"""Count pairs of subsets, one from each half, whose total stays within a budget.

Each half is written out as sorted lists of subset sums, one list a cardinality; equal values are drawn together with a
binomial weight, so tied values shorten the lists. Two lists are joined by binary search (meet in the middle).
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ._checks import FloatArray


class SubsetSums(NamedTuple):
    """Sums of the subsets of one cardinality, ascending, each with the number of subsets that it stands for."""

    sums: FloatArray
    weights: FloatArray


class Items(NamedTuple):
    """Distinct values and how often each occurs."""

    values: FloatArray
    counts: list[int]

    @property
    def multisets(self) -> int:
        """Number of different subsets, equal values being interchangeable."""
        return math.prod(count + 1 for count in self.counts)


def group_equal(values: FloatArray, *, tolerance: float) -> Items:
    """Merge values that are equal up to rounding."""
    ordered = np.sort(values)
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > tolerance)
    counts = np.diff(np.append(starts, ordered.size))
    return Items(ordered[starts], [int(count) for count in counts])


def subset_sums(items: Items, *, budgets: FloatArray) -> list[SubsetSums]:
    """List the sums of all subsets of 0, 1, … items that stay within the budget of their cardinality.

    ``budgets`` has one entry a cardinality. It must not increase where values are not negative: then a subset beyond
    its budget never grows into one within it, and dropping it early is safe.
    """
    largest = len(budgets) - 1
    empty = np.zeros(0)
    lists = [SubsetSums(np.zeros(1), np.ones(1))] + [SubsetSums(empty, empty)] * largest
    for value, count in zip(items.values, items.counts, strict=True):
        grown: list[list[SubsetSums]] = [[subsets] for subsets in lists]
        for size, subsets in enumerate(lists):
            for copies in range(1, min(count, largest - size) + 1):
                sums = subsets.sums + copies * value
                kept = sums <= budgets[size + copies]
                weights = subsets.weights[kept] * math.comb(count, copies)
                grown[size + copies].append(SubsetSums(sums[kept], weights))
        lists = [_concatenated(parts) for parts in grown]
    return [_ascending(subsets) for subsets in lists]


def _concatenated(parts: list[SubsetSums]) -> SubsetSums:
    if len(parts) == 1:
        return parts[0]
    return SubsetSums(np.concatenate([part.sums for part in parts]), np.concatenate([part.weights for part in parts]))


def _ascending(subsets: SubsetSums) -> SubsetSums:
    if (subsets.weights == 1.0).all():
        return SubsetSums(np.sort(subsets.sums), subsets.weights)
    order = np.argsort(subsets.sums)
    return SubsetSums(subsets.sums[order], subsets.weights[order])


def count_pairs(pairs: Iterable[tuple[SubsetSums, SubsetSums]], *, budget: float) -> float:
    """Count the pairs of subsets whose sums add up to at most ``budget``."""
    total = 0.0
    for left, right in pairs:
        if left.sums.size and right.sums.size:
            within = np.searchsorted(right.sums, budget - left.sums, side="right")
            cumulative = np.concatenate([[0.0], np.cumsum(right.weights)])
            total += float(left.weights @ cumulative[within])
    return total
