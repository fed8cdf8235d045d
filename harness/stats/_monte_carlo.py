"""Seeded random arrangements, shared by all vectors of one call."""

from collections.abc import Iterator
from typing import cast

import numpy as np

from ._checks import FloatArray
from ._tails import Counter, Problem, Tail, Tails, log_tail

CHUNK_ELEMENTS = 1_000_000

# Coverage of the Clopper–Pearson interval that p_low and p_high hold for a sampled null.
CONFIDENCE = 0.99


def random_masks(problem: Problem, *, resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield random k-subsets in chunks, as 0/1 columns that all rows share."""
    size = max(1, min(resamples, CHUNK_ELEMENTS // max(problem.n, len(problem.z))))
    first_group = np.arange(problem.n) < problem.k
    for start in range(0, resamples, size):
        masks = np.tile(first_group, (min(size, resamples - start), 1))
        rng.permuted(masks, axis=1, out=masks)
        yield masks.T.astype(np.float64)


def monte_carlo_tails(problem: Problem, *, resamples: int, plus_one: bool, rng: np.random.Generator) -> Tails:
    """Tails counted over random arrangements drawn without replacement within each arrangement.

    With ``plus_one`` the observed arrangement is counted as one more draw, which makes the test valid at any number
    of resamples (Phipson & Smyth 2010).
    """
    counter = Counter(problem, symmetric=False)
    for masks in random_masks(problem, resamples=resamples, rng=rng):
        counter.add(masks, slice(None))
    counts = counter.tails(resamples)
    return Tails(*(_sampled_tail(count, resamples=resamples, plus_one=plus_one) for count in counts))


def _sampled_tail(count: FloatArray, *, resamples: int, plus_one: bool) -> Tail:
    from scipy.special import betaincinv

    p = (count + plus_one) / (resamples + plus_one)
    beyond = (1.0 - CONFIDENCE) / 2.0
    low = np.where(count > 0, betaincinv(np.maximum(count, 1), resamples - count + 1, beyond), 0.0)
    missed = resamples - count
    high = np.where(missed > 0, betaincinv(count + 1, np.maximum(missed, 1), 1.0 - beyond), 1.0)
    # The +1 estimate may lie just outside an interval around the plain share.
    low, high = np.minimum(low, p), np.maximum(high, p)
    with np.errstate(divide="ignore"):
        return Tail(p, low, high, np.log10(p), np.sqrt(p * (1.0 - p) / resamples))


def normal_fit_moments(problem: Problem, *, resamples: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (ddof 0, the maximum-likelihood fit) of the sums over random arrangements."""
    total, squares = np.zeros(len(problem.z)), np.zeros(len(problem.z))
    for masks in random_masks(problem, resamples=resamples, rng=rng):
        sums = problem.z @ masks
        total += sums.sum(axis=1)
        squares += np.einsum("ij,ij->i", sums, sums)
    mean = total / resamples
    return mean, np.sqrt(np.maximum(squares / resamples - mean**2, 0.0))


def normal_fit_tails(problem: Problem, *, resamples: int, rng: np.random.Generator) -> Tails:
    """Tails of a normal distribution fitted to random arrangements (caliskan2017, wolfe2024, omrani2023).

    The standard error carries the sampling error of both fitted moments to p by the delta method.
    """
    from scipy.special import log_ndtr

    mean, std = normal_fit_moments(problem, resamples=resamples, rng=rng)
    size = np.abs(problem.observed)
    above, below = (problem.observed - mean) / std, (size - mean) / std
    mirrored = (-size - mean) / std

    def error(z: FloatArray) -> FloatArray:
        density = np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi)
        return cast(FloatArray, density * np.sqrt((1.0 + z**2 / 2.0) / resamples))

    return Tails(
        log_tail(log_ndtr(-above), error(above)),
        log_tail(log_ndtr(above), error(above)),
        log_tail(np.logaddexp(log_ndtr(-below), log_ndtr(mirrored)), error(below) + error(mirrored)),
    )
