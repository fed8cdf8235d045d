"""WEAT: the Word Embedding Association Test of caliskan2017."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.methods.base import Inputs, Measurement, Row, VectorSet
from harness.methods.null import permutation_p
from harness.methods.projection import Subspace
from harness.options import StatsOptions
from harness.stats.effect import associations, bca_interval, cohens_d
from harness.stats.permutation import PermutationP

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Weat:
    """The effect size, its interval and p, and s(w, A, B) of every target."""

    d: float
    p: PermutationP
    ci_low: float | None
    ci_high: float | None
    ci_method: str
    s_x: NDArray[np.float64]
    s_y: NDArray[np.float64]


def weat(
    X: ArrayLike,
    Y: ArrayLike,
    A: ArrayLike,
    B: ArrayLike,
    *,
    stats: StatsOptions,
    seed: int = 0,
    subspace: Subspace | None = None,
) -> Weat:
    """Measure how much more X than Y is associated with A rather than with B.

    Parameters
    ----------
    X, Y, A, B
        Vectors, a row for each stimulus.
    stats
        The conventions to follow.
    seed
        Seed of whatever is drawn: shuffles of the null and the bootstrap.
    subspace
        What the targets are projected on in place of the cosines with A and B.

    Notes
    -----
    s(w, A, B) = mean cos(w, a) − mean cos(w, b); d = (mean s(x) − mean s(y)) / std over X ∪ Y; the null exchanges
    targets between X and Y (caliskan2017, Methods). With a subspace U, s(w) = S(w, U) (omrani2023, equation 1).
    """
    if subspace is None:
        s_x, s_y = associations(X, A, B), associations(Y, A, B)
    else:
        s_x, s_y = subspace.project(X), subspace.project(Y)
    d = cohens_d(s_x, s_y, ddof=stats.ddof, epsilon=stats.epsilon)
    p = permutation_p(s_x, s_y, alternative=stats.alternative, stats=stats, rng=np.random.default_rng([seed, 1]))
    low = high = None
    method = "none"
    if stats.ci_resamples:
        interval = bca_interval(
            s_x,
            s_y,
            confidence=stats.confidence,
            resamples=stats.ci_resamples,
            rng=np.random.default_rng([seed, 2]),
            ddof=stats.ddof,
        )
        low, high, method = interval.low, interval.high, interval.method
    return Weat(d, p, low, high, method, s_x, s_y)


def p_metrics(p: PermutationP, suffix: str = "") -> dict[str, float]:
    """Return the numbers of a p-value as metrics, with both tails and the smallest p that these sizes allow."""
    found = {
        "p": p.p,
        "p_low": p.p_low,
        "p_high": p.p_high,
        "log10_p": p.log10_p,
        "p_greater": p.p_greater,
        "p_two_sided": p.p_two_sided,
        "smallest_p": p.smallest_p,
        "p_se": p.standard_error,
    }
    return {f"{key}{suffix}": float(value) for key, value in found.items() if value is not None}


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by WEAT."""
    X, Y, A, B = (inputs.sets[slot] for slot in ("X", "Y", "A", "B"))
    vectors = (X.vectors, Y.vectors, A.vectors, B.vectors)
    found = weat(*vectors, stats=inputs.stats, seed=inputs.seed, subspace=inputs.subspace)
    return measurement(found, X, Y)


def measurement(found: Weat, X: VectorSet, Y: VectorSet) -> Measurement:
    """Return a WEAT's metrics, labels and the association of every target word."""
    metrics = {"d": found.d, **p_metrics(found.p)}
    if found.ci_low is not None and found.ci_high is not None:
        metrics |= {"ci_low": found.ci_low, "ci_high": found.ci_high}
    rows: list[Row] = [
        {"set": slot, "concept": vectors.name, "word": word, "s": float(s)}
        for slot, vectors, values in (("X", X, found.s_x), ("Y", Y, found.s_y))
        for word, s in zip(vectors.words, values, strict=True)
    ]
    labels = {
        "significance": "significant" if found.p.p < SIGNIFICANT else "not significant",
        "null_used": found.p.null,
        "ci_method": found.ci_method,
    }
    return Measurement(metrics=metrics, labels=labels, tables={"associations": rows})
