"""Compare two correlations that share a variable, as of two methods with the same human ratings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ._checks import ROUNDING, FloatArray, one_of
from .errors import EmptySetError, OptionError, ZeroVarianceError
from .regression import Alternative, check_confidence, correlation_coefficient, paired_values

Method = Literal["steiger", "bootstrap"]
Seed = int | np.random.Generator | None

CHUNK_ELEMENTS = 1_000_000


@dataclass(frozen=True)
class CorrelationDifference:
    """r(shared, first) − r(shared, second), with its test and interval.

    ``statistic`` is Steiger's Z, None for the bootstrap. ``resamples`` counts the bootstrap resamples that have both
    correlations: one in which a variable is constant has none and is left out.
    """

    difference: float
    r_first: float
    r_second: float
    r_between: float
    statistic: float | None
    p: float
    log10_p: float
    ci_low: float
    ci_high: float
    confidence: float
    n: int
    method: Method
    resamples: int


def correlation_difference(
    shared: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: Method = "steiger",
    alternative: Alternative = "two-sided",
    confidence: float = 0.95,
    resamples: int = 9_999,
    rng: Seed = None,
    labels: Sequence[Any] | None = None,
) -> CorrelationDifference:
    """Test whether ``shared`` correlates more with ``first`` than with ``second``.

    Parameters
    ----------
    shared, first, second : array_like, shape (n,)
        Three measurements of the same n items, for example human ratings and the scores of two methods.
    method : {"steiger", "bootstrap"}
        A normal-theory test, or resampling of the items.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the first correlation is the larger one.
    confidence : float
        Coverage of the interval.
    resamples : int
        Of the bootstrap.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the bootstrap; ``None`` draws fresh entropy.
    labels : sequence, optional
        One label an item; an error names it.

    Notes
    -----
    ``steiger``: Z = (artanh r₁ − artanh r₂) √(n − 3) / √(2 − 2s̄), with the covariance s̄ of the two transformed
    correlations at their mean r̄ (Steiger 1980, eqs. 3 and 14)::

        s̄ = [r₁₂ (1 − 2r̄²) − r̄² (1 − 2r̄² − r₁₂²) / 2] / (1 − r̄²)²

    and the interval of Zou (2007), which joins the two Fisher intervals.

    ``bootstrap``: percentile interval of the difference over resampled items. p is the share of resamples on the far
    side of zero, the observed sample counted once, doubled for two sides: never below 1/(resamples + 1).
    """
    one_of(method, get_args(Method), name="method")
    one_of(alternative, get_args(Alternative), name="alternative")
    check_confidence(confidence)
    if resamples < 2:
        raise OptionError(f"resamples={resamples} is too few for an interval; give at least 2.")
    base, one = paired_values(shared, first, labels=labels, names=("shared", "first"))
    _, two = paired_values(shared, second, labels=labels, names=("shared", "second"))
    if base.size < 4:
        raise EmptySetError(f"shared holds {base.size} values; comparing two correlations needs at least 4.")
    rs = (correlation_coefficient(base, one), correlation_coefficient(base, two), correlation_coefficient(one, two))
    if abs(rs[2]) == 1.0 and math.isclose(rs[0], rs[1], rel_tol=1e-9):
        raise ZeroVarianceError(
            "first and second are the same measurement on another scale (their correlation is 1): nothing to compare."
        )
    drawn, statistic = 0, None
    if method == "steiger":
        statistic, log_p, low, high = _steiger(*rs, base.size, alternative=alternative, confidence=confidence)
    else:
        generator = np.random.default_rng(rng)
        drawn, log_p, low, high = _bootstrap(
            np.stack([base, one, two]), alternative, confidence=confidence, resamples=resamples, rng=generator
        )
    return CorrelationDifference(
        difference=rs[0] - rs[1],
        r_first=rs[0],
        r_second=rs[1],
        r_between=rs[2],
        statistic=statistic,
        p=math.exp(log_p),
        log10_p=log_p / math.log(10.0),
        ci_low=low,
        ci_high=high,
        confidence=confidence,
        n=base.size,
        method=method,
        resamples=drawn,
    )


def _steiger(
    r1: float, r2: float, r12: float, n: int, *, alternative: Alternative, confidence: float
) -> tuple[float, float, float, float]:
    from scipy.stats import norm

    for name, r in (("first", r1), ("second", r2)):
        if abs(r) == 1.0:
            raise ZeroVarianceError(
                f"shared and {name} lie exactly on a line (r = {r:g}), where Fisher's transform is infinite; "
                "use method='bootstrap'."
            )
    mean = (r1 + r2) / 2.0
    covariance = (r12 * (1 - 2 * mean**2) - mean**2 * (1 - 2 * mean**2 - r12**2) / 2) / (1 - mean**2) ** 2
    variance = 2.0 - 2.0 * covariance
    if variance <= ROUNDING:
        raise ZeroVarianceError(f"first and second agree up to rounding (r = {r12:.17g}): nothing to compare.")
    z = (math.atanh(r1) - math.atanh(r2)) * math.sqrt((n - 3) / variance)
    if alternative == "two-sided":
        log_p = math.log(2.0) + float(norm.logsf(abs(z)))
    else:
        log_p = float(norm.logsf(z if alternative == "greater" else -z))
    half = float(norm.isf((1.0 - confidence) / 2.0)) / math.sqrt(n - 3)
    down1, up1 = r1 - math.tanh(math.atanh(r1) - half), math.tanh(math.atanh(r1) + half) - r1
    down2, up2 = r2 - math.tanh(math.atanh(r2) - half), math.tanh(math.atanh(r2) + half) - r2
    spread = 1 - r1**2 - r2**2 - r12**2
    linked = ((r12 - r1 * r2 / 2) * spread + r12**3) / ((1 - r1**2) * (1 - r2**2))
    low = r1 - r2 - math.sqrt(max(0.0, down1**2 + up2**2 - 2 * linked * down1 * up2))
    high = r1 - r2 + math.sqrt(max(0.0, up1**2 + down2**2 - 2 * linked * up1 * down2))
    return z, log_p, low, high


def _bootstrap(
    data: FloatArray, alternative: Alternative, *, confidence: float, resamples: int, rng: np.random.Generator
) -> tuple[int, float, float, float]:
    n = data.shape[1]
    size = max(1, CHUNK_ELEMENTS // n)
    parts = [
        _differences(data[:, rng.integers(0, n, (min(size, resamples - start), n))])
        for start in range(0, resamples, size)
    ]
    differences = np.concatenate(parts)
    drawn = differences.size
    if drawn < 2:
        raise ZeroVarianceError(f"Only {drawn} of {resamples} resamples of {n} items have both correlations.")
    not_above, not_below = (differences <= 0.0).sum(), (differences >= 0.0).sum()
    greater, less = (not_above + 1) / (drawn + 1), (not_below + 1) / (drawn + 1)
    p = {"greater": greater, "less": less, "two-sided": min(1.0, 2.0 * min(greater, less))}[alternative]
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(differences, [tail, 1.0 - tail])
    return drawn, math.log(p), float(low), float(high)


def _differences(samples: FloatArray) -> FloatArray:
    """Difference of both correlations in every resample (3, resamples, n), where both are defined."""
    centred = samples - samples.mean(axis=2, keepdims=True)
    norms = np.sqrt(np.einsum("kij,kij->ki", centred, centred))
    # A constant variable keeps only the rounding of its mean.
    defined = (norms > samples.shape[2] * ROUNDING * np.abs(samples).max(axis=2)).all(axis=0)
    base, one, two = centred[:, defined] / norms[:, defined, np.newaxis]
    return np.asarray(np.einsum("ij,ij->i", base, one) - np.einsum("ij,ij->i", base, two))
