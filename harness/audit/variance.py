"""Shares of the variance of d: an analysis of variance on the balanced part of a sweep."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.audit.recorded import QUESTION, Factors
from harness.result import Result

REST = "all interactions of three or more"


@dataclass(frozen=True)
class Share:
    """One term of the analysis: a factor, or two that interact.

    ``of_all`` is its share of the variance of d over all balanced cells; ``within_tests`` its share of the variance
    around each test's own mean, where an interaction with the test is part of the factor's say on single tests.
    """

    term: str
    of_all: float
    within_tests: float | None


@dataclass(frozen=True)
class VarianceShares:
    """The shares, the largest first; ``cells`` of all ``of`` cells are balanced; ``dropped`` are levels left out."""

    shares: list[Share]
    cells: int
    of: int
    dropped: list[str]


def variance_shares(results: Sequence[Result], factors: Factors) -> VarianceShares | None:
    """Split the sum of squares of d over factors and pairs of factors.

    Notes
    -----
    On a balanced design the sums of squares of main effects and interactions are orthogonal and add up. The balanced
    part is found by leaving out, one at a time, the level that the fewest cells have, for its size; a factor that is
    left with one level is no term. None where no two cells are left, or d does not vary.
    """
    names = factors.varying
    if not names:
        return None
    values = [[str(result.factors.get(name)) for name in names] for result in results]
    levels = [sorted(set(column)) for column in zip(*values, strict=True)]
    d = np.array([result.metrics["d"] for result in results])
    codes = np.array([[levels[i].index(value) for i, value in enumerate(row)] for row in values])
    kept = _balanced(codes)
    dropped = [
        f"{names[i]}={level}"
        for i in range(len(names))
        for at, level in enumerate(levels[i])
        if at not in set(codes[kept, i])
    ]
    inside = [i for i in range(len(names)) if len(np.unique(codes[kept, i])) > 1]
    if not inside:
        return None
    cube = np.empty([len(np.unique(codes[kept, i])) for i in inside])
    cube[tuple(np.unique(codes[kept, i], return_inverse=True)[1] for i in inside)] = d[kept]
    shares = _shares(cube, [names[i] for i in inside])
    return None if shares is None else VarianceShares(shares, int(kept.sum()), len(d), dropped)


def _balanced(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which cells remain when levels are left out until every combination of the rest is there once."""
    kept = np.ones(len(codes), dtype=bool)
    _, first = np.unique(codes, axis=0, return_index=True)
    kept[:] = False
    kept[first] = True
    while True:
        columns = [np.unique(column, return_counts=True) for column in codes[kept].T]
        expected = math.prod(len(levels) for levels, _ in columns)
        if int(kept.sum()) == expected:
            return kept
        fills = [
            (count / (expected / len(levels)), -len(levels), i, level)
            for i, (levels, counts) in enumerate(columns)
            if len(levels) > 1
            for level, count in zip(levels, counts, strict=True)
        ]
        _, _, factor, level = min(fills)
        kept &= codes[:, factor] != level


def _shares(cube: NDArray[np.float64], names: list[str]) -> list[Share] | None:
    centred = cube - cube.mean()
    total = float((centred**2).sum())
    if total <= 1e-18 * max(float((cube**2).sum()), 1e-300):
        return None
    axes = range(cube.ndim)
    squares: dict[tuple[int, ...], float] = {}
    for size in (1, 2):
        for term in itertools.combinations(axes, size):
            means = centred.mean(axis=tuple(axis for axis in axes if axis not in term))
            own = float((means**2).sum()) * cube.size / means.size
            squares[term] = own - sum(squares[(axis,)] for axis in term if size == 2)
    question = names.index(QUESTION) if QUESTION in names else None
    within = total - (squares[(question,)] if question is not None else 0.0)
    found = [
        Share(
            " × ".join(names[axis] for axis in term),
            max(square, 0.0) / total,
            None if term == (question,) or within <= 1e-18 * total else max(square, 0.0) / within,
        )
        for term, square in squares.items()
    ]
    rest = max(total - sum(squares.values()), 0.0)
    if cube.ndim > 2:
        found.append(Share(REST, rest / total, rest / within if within > 1e-18 * total else None))
    return sorted(found, key=lambda share: -share.of_all)
