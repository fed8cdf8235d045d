"""What a CEAT leaves behind of its samples: some of them, the histogram of all, and how the result settled with N."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import Row
from harness.options import StatsOptions
from harness.stats.meta import Alternative, random_effects

FloatArray = NDArray[np.float64]

KEPT_SAMPLES = 2_000
"""Samples that a result holds one by one; of more, a seeded draw of so many."""

FEWEST_BINS, MOST_BINS = 12, 60

FIRST_STEP = 50
"""The fewest samples that the convergence and the stop rule speak of."""


@dataclass(frozen=True)
class Enough:
    """How many samples bring the combined effect size within a tolerance of that of endless samples.

    ``error`` is the half-width that the samples at hand reach; ``samples`` the number that is enough, estimated from
    their spread where they are too few.
    """

    samples: int
    reached: bool
    error: float
    sentence: str


def sample_rows(d: FloatArray, v: FloatArray, p: FloatArray, *, seed: int) -> list[Row]:
    """Return d, V and p of the samples in their order: all of them, or a seeded draw where there are too many."""
    at = np.arange(d.size)
    if d.size > KEPT_SAMPLES:
        at = np.sort(np.random.default_rng([seed, 6]).choice(d.size, KEPT_SAMPLES, replace=False))
    return [{"sample": int(i), "d": float(d[i]), "v": float(v[i]), "p": float(p[i])} for i in at]


def histogram_rows(d: FloatArray, p: FloatArray) -> list[Row]:
    """Return the bins of Figure 1 of guo2021 over all samples: bounds, number of samples, and their mean p."""
    width = 2.0 * float(np.subtract(*np.quantile(d, [0.75, 0.25]))) / d.size ** (1 / 3)
    span = float(np.ptp(d))
    bins = FEWEST_BINS if width <= 0 else int(np.clip(math.ceil(span / width), FEWEST_BINS, MOST_BINS))
    counts, edges = np.histogram(d, bins=bins)
    sums, _ = np.histogram(d, bins=edges, weights=p)
    return [
        {
            "low": float(edges[i]),
            "high": float(edges[i + 1]),
            "count": int(counts[i]),
            "mean_p": float(sums[i] / counts[i]) if counts[i] else None,
        }
        for i in range(bins)
    ]


def steps(samples: int) -> list[int]:
    """Return the numbers of samples at which the result is looked at: 50, 100, 200, 500, 1,000 … up to all."""
    grid = [FIRST_STEP, *(m * 10**k for k in range(2, 12) for m in (1, 2, 5))]
    return [*(n for n in grid if n < samples), samples]


def convergence_rows(
    d: FloatArray, v: FloatArray, weights: FloatArray, ces: float, *, stats: StatsOptions
) -> list[Row]:
    """Return the combined effect size of the first n samples, with its interval and the error of sampling."""
    errors = sampling_errors(d, weights, ces, confidence=stats.confidence)
    rows: list[Row] = []
    for n in steps(d.size):
        found = random_effects(
            d[:n], v[:n], alternative=cast(Alternative, stats.ceat_alternative), confidence=stats.confidence
        )
        rows.append(
            {
                "n": n,
                "ces": found.ces,
                "se": found.se,
                "tau2": found.tau2,
                "ci_low": found.ci_low,
                "ci_high": found.ci_high,
                "error": float(errors[n - 1]),
            }
        )
    return rows


def sampling_errors(d: FloatArray, weights: FloatArray, ces: float, *, confidence: float) -> FloatArray:
    """Return, for the first 1, 2, … samples, the half-width of the interval in which endless samples would put CES.

    Notes
    -----
    z √Σ wᵢ² (ESᵢ − CES)² / Σ wᵢ: the robust (sandwich) error of a weighted mean. It depends on how far the samples
    scatter, and not on V, whose published definition has no relation to that.
    """
    from scipy.stats import norm

    scatter = np.cumsum((weights * (d - ces)) ** 2)
    return np.asarray(norm.isf((1.0 - confidence) / 2.0) * np.sqrt(scatter) / np.cumsum(weights))


def samples_enough(d: FloatArray, weights: FloatArray, ces: float, *, tolerance: float, confidence: float) -> Enough:
    """Say how many samples were enough: the number from which on the error of sampling stays within the tolerance."""
    errors = sampling_errors(d, weights, ces, confidence=confidence)
    error = float(errors[-1])
    if error > tolerance:
        needed = math.ceil(d.size * (error / tolerance) ** 2)
        sentence = (
            f"{d.size:,} samples put the combined effect size within ±{error:.3f} of endless samples; about "
            f"{needed:,} would be needed for ±{tolerance:g}."
        )
        return Enough(needed, reached=False, error=error, sentence=sentence)
    outside = np.flatnonzero(errors[FIRST_STEP - 1 :] > tolerance)
    first = min(d.size, FIRST_STEP + (int(outside[-1]) + 1 if outside.size else 0))
    sentence = (
        f"{first:,} of {d.size:,} samples were enough to put the combined effect size within ±{tolerance:g} of endless "
        f"samples; all of them put it within ±{error:.3f}."
    )
    return Enough(first, reached=True, error=error, sentence=sentence)
