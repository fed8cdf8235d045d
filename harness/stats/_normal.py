"""The normal approximation with the moments that permutation has in closed form."""

from typing import cast

import numpy as np

from ._checks import FloatArray
from ._tails import Problem, Tails, log_tail


def permutation_std(z: FloatArray, k: int) -> FloatArray:
    """Return the standard deviation of the sum over a random k-subset of each centred row: √(k(n−k)/(n−1)·var₀)."""
    n = z.shape[1]
    variance = k * (n - k) / (n - 1) * np.einsum("ij,ij->i", z, z) / n
    return cast(FloatArray, np.sqrt(variance))


def normal_tails(problem: Problem) -> Tails:
    """Tails of the normal distribution with mean 0 and the permutation variance."""
    from scipy.special import log_ndtr

    score = problem.observed / permutation_std(problem.z, problem.k)
    return Tails(
        log_tail(log_ndtr(-score)), log_tail(log_ndtr(score)), log_tail(np.log(2.0) + log_ndtr(-np.abs(score)))
    )
