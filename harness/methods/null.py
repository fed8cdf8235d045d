"""The permutation p-value of two groups of values under a cell's conventions."""

from __future__ import annotations

import sys
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.options import StatsOptions
from harness.stats.permutation import Alternative, Null, PermutationP, Ties, permutation_pvalue


def above_zero(p: float | NDArray[np.float64]) -> float:
    """Return a p-value, the smallest number that a computer writes where it underflows; log10 p is exact."""
    return max(float(p), sys.float_info.min)


def permutation_p(
    first: ArrayLike, second: ArrayLike, *, alternative: str, stats: StatsOptions, rng: np.random.Generator
) -> PermutationP:
    """Return the p-value of ``first`` against ``second``."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return permuted(np.concatenate([first, second]), len(first), alternative=alternative, stats=stats, rng=rng)


def permuted(
    values: NDArray[np.float64], first: int, *, alternative: str, stats: StatsOptions, rng: np.random.Generator
) -> PermutationP:
    """Return the p-value of the first values of each row against its rest.

    ``StatsOptions.check`` has seen to the options' values.
    """
    return permutation_pvalue(
        values,
        np.arange(values.shape[-1]) < first,
        alternative=cast(Alternative, alternative),
        null=cast(Null, stats.null),
        ties=cast(Ties, stats.ties),
        resamples=stats.resamples,
        plus_one=stats.plus_one,
        exact_limit=stats.exact_limit,
        rng=rng,
    )
