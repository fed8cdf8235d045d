"""Correlation and least squares: WEFAT, ValNorm and the agreement of two models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ._checks import ROUNDING, FloatArray, culprit, finite_array, one_of
from .errors import EmptySetError, OptionError, ShapeError, ZeroVarianceError

Alternative = Literal["two-sided", "greater", "less"]

# Natural logarithms of probabilities below this come from scipy's underflowing tail and are not to be trusted.
LOG_UNDERFLOW = -700.0


@dataclass(frozen=True)
class Correlation:
    """A correlation with its test and interval.

    ``p`` is that of the t statistic with n − 2 degrees of freedom. An exact linear relation has p = 0,
    log10_p = −inf and an interval of length zero. Three points say nothing about precision: the interval is (−1, 1).
    """

    r: float
    p: float
    log10_p: float
    ci_low: float
    ci_high: float
    confidence: float
    n: int
    method: Literal["pearson", "spearman"]


@dataclass(frozen=True)
class LeastSquares:
    """The line y = intercept + slope · x, with the t test of the slope (two-sided, n − 2 degrees of freedom)."""

    slope: float
    intercept: float
    r2: float
    slope_se: float
    intercept_se: float
    slope_low: float
    slope_high: float
    p: float
    log10_p: float
    residual_std: float
    n: int


@dataclass(frozen=True)
class Influence:
    """What the fit becomes without each point in turn; every array has one entry a point.

    ``slope``, ``intercept`` and ``r`` are those of the remaining points; ``leverage`` is the point's pull on its own
    fitted value, and ``cooks_distance`` the shift of all fitted values in units of the residual variance (Cook 1977).
    """

    slope: FloatArray
    intercept: FloatArray
    r: FloatArray
    leverage: FloatArray
    cooks_distance: FloatArray


def pearson(
    x: ArrayLike,
    y: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    confidence: float = 0.95,
    labels: Sequence[Any] | None = None,
) -> Correlation:
    """Pearson correlation with Fisher's interval.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Paired values.
    alternative : {"two-sided", "greater", "less"}
        Of the p-value; the interval is always two-sided.
    confidence : float
        Coverage of the interval.
    labels : sequence, optional
        One label a pair; an error names it.

    Notes
    -----
    The interval is tanh(artanh r ± z/√(n − 3)) (Fisher 1921).
    """
    first, second = paired_values(x, y, labels=labels)
    return _correlation(first, second, alternative=alternative, confidence=confidence, method="pearson")


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    confidence: float = 0.95,
    labels: Sequence[Any] | None = None,
) -> Correlation:
    """Spearman rank correlation, ties sharing their mean rank, with the interval of Bonett and Wright.

    Notes
    -----
    The interval is tanh(artanh r ± z √((1 + r²/2)/(n − 3))) (Bonett & Wright 2000), which keeps its coverage where
    Fisher's plain standard error is too short for ranks. Parameters as in :func:`pearson`.
    """
    from scipy.stats import rankdata

    first, second = paired_values(x, y, labels=labels)
    return _correlation(
        rankdata(first), rankdata(second), alternative=alternative, confidence=confidence, method="spearman"
    )


def least_squares(
    x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95, labels: Sequence[Any] | None = None
) -> LeastSquares:
    """Fit a line of ``y`` on ``x`` (caliskan2017, WEFAT: the property on the association).

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Predictor and response.
    confidence : float
        Coverage of the slope's interval.
    labels : sequence, optional
        One label a point; an error names it.
    """
    from scipy.stats import t as student

    check_confidence(confidence)
    first, second = paired_values(x, y, labels=labels)
    n = first.size
    dx, dy = first - first.mean(), second - second.mean()
    sxx = float(dx @ dx)
    slope = float(dx @ dy) / sxx
    residuals = dy - slope * dx
    variance = float(residuals @ residuals) / (n - 2)
    slope_se = math.sqrt(variance / sxx)
    half = float(student.isf((1.0 - confidence) / 2.0, n - 2)) * slope_se
    r = pearson(first, second, confidence=confidence)
    return LeastSquares(
        slope=slope,
        intercept=float(second.mean() - slope * first.mean()),
        r2=r.r**2,
        slope_se=slope_se,
        intercept_se=math.sqrt(variance * (1.0 / n + float(first.mean()) ** 2 / sxx)),
        slope_low=slope - half,
        slope_high=slope + half,
        p=r.p,
        log10_p=r.log10_p,
        residual_std=math.sqrt(variance),
        n=n,
    )


def leave_one_out(x: ArrayLike, y: ArrayLike, *, labels: Sequence[Any] | None = None) -> Influence:
    """Refit the line of ``y`` on ``x`` without each point in turn, in closed form.

    Notes
    -----
    Removing point i from centred sums takes n/(n − 1) times its product away:
    Sxy₍ᵢ₎ = Sxy − n/(n − 1) · (xᵢ − x̄)(yᵢ − ȳ), and likewise Sxx and Syy.

    Raises
    ------
    ZeroVarianceError
        Without one point the others all have the same x or the same y; the point is named.
    """
    first, second = paired_values(x, y, labels=labels)
    n = first.size
    if n < 4:
        raise EmptySetError(f"x holds {n} points; leaving one out of a line needs at least 4.")
    dx, dy = first - first.mean(), second - second.mean()
    sxx, sxy, syy = float(dx @ dx), float(dx @ dy), float(dy @ dy)
    shrink = n / (n - 1)
    sxx_without, sxy_without, syy_without = sxx - shrink * dx**2, sxy - shrink * dx * dy, syy - shrink * dy**2
    for name, values, total, without in (("x", first, sxx, sxx_without), ("y", second, syy, syy_without)):
        # The subtraction leaves rounding of the size of the whole sum where nothing should remain.
        if (without <= n * ROUNDING * total).any():
            index = int(np.argmin(without))
            raise ZeroVarianceError(
                f"Without {culprit(name, index, labels)} = {values[index]:.6g} all values of {name} are equal: "
                "the whole fit hangs on this point."
            )
    slope = sxy_without / sxx_without
    mean_x, mean_y = first.mean() - dx / (n - 1), second.mean() - dy / (n - 1)
    leverage = 1.0 / n + dx**2 / sxx
    residuals = dy - sxy / sxx * dx
    variance = float(residuals @ residuals) / (n - 2)
    exact = variance <= ROUNDING * syy
    cooks = residuals**2 / (2.0 * (1.0 if exact else variance)) * leverage / (1.0 - leverage) ** 2
    return Influence(
        slope=slope,
        intercept=mean_y - slope * mean_x,
        r=np.clip(sxy_without / np.sqrt(sxx_without * syy_without), -1.0, 1.0),
        leverage=leverage,
        cooks_distance=np.zeros(n) if exact else cooks,
    )


def _correlation(
    x: FloatArray,
    y: FloatArray,
    *,
    alternative: Alternative,
    confidence: float,
    method: Literal["pearson", "spearman"],
) -> Correlation:
    from scipy.stats import norm

    one_of(alternative, get_args(Alternative), name="alternative")
    check_confidence(confidence)
    n = x.size
    r = correlation_coefficient(x, y)
    log_p = _log_p(r, n, alternative)
    factor = 1.0 + r**2 / 2.0 if method == "spearman" else 1.0
    low, high = -1.0, 1.0
    if abs(r) == 1.0:
        low = high = r
    elif n > 3:
        half = float(norm.isf((1.0 - confidence) / 2.0)) * math.sqrt(factor / (n - 3))
        low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Correlation(
        r=r,
        p=math.exp(log_p),
        log10_p=log_p / math.log(10.0),
        ci_low=low,
        ci_high=high,
        confidence=confidence,
        n=n,
        method=method,
    )


def correlation_coefficient(x: FloatArray, y: FloatArray) -> float:
    """Pearson's r of two checked arrays; a relation that is linear up to rounding gives exactly ±1."""
    dx, dy = x - x.mean(), y - y.mean()
    dx, dy = dx / np.linalg.norm(dx), dy / np.linalg.norm(dy)
    r = float(dx @ dy)
    # 1 − r² from the residual, which does not cancel near ±1.
    residual = dy - r * dx
    return math.copysign(1.0, r) if float(residual @ residual) <= (x.size * ROUNDING) ** 2 else r


def _log_p(r: float, n: int, alternative: Alternative) -> float:
    """Natural logarithm of the p-value of r, from the t distribution with n − 2 degrees of freedom."""
    from scipy.stats import t as student

    if abs(r) == 1.0:
        upper, lower = (-math.inf, 0.0) if r > 0 else (0.0, -math.inf)
    else:
        t = r * math.sqrt((n - 2) / ((1.0 - r) * (1.0 + r)))
        beyond = float(student.logsf(abs(t), n - 2))
        if beyond < LOG_UNDERFLOW:
            beyond = _log_far_tail(r, n)
        upper, lower = (beyond, math.log1p(-math.exp(beyond)))[:: 1 if r > 0 else -1]
    if alternative == "two-sided":
        return min(0.0, math.log(2.0) + min(upper, lower))
    return upper if alternative == "greater" else lower


def _log_far_tail(r: float, n: int) -> float:
    """Log of one tail beyond |r| where scipy's underflows: I_{1−r²}((n−2)/2, ½)/2 by its hypergeometric form."""
    from scipy.special import betaln, hyp2f1

    a, x = (n - 2) / 2.0, (1.0 - r) * (1.0 + r)
    series = math.log(float(hyp2f1(a + 0.5, 1.0, a + 1.0, x)))
    return a * math.log(x) + math.log(abs(r)) - math.log(a) - float(betaln(a, 0.5)) + series - math.log(2.0)


def check_confidence(confidence: float) -> None:
    """Raise unless ``confidence`` lies strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"confidence={confidence} must lie between 0 and 1.")


def paired_values(
    x: ArrayLike, y: ArrayLike, *, labels: Sequence[Any] | None, names: tuple[str, str] = ("x", "y")
) -> tuple[FloatArray, FloatArray]:
    """Return two arrays of paired values after checking that a correlation is defined."""
    first = finite_array(x, name=names[0], ndims=(1,), labels=labels)
    second = finite_array(y, name=names[1], ndims=(1,), labels=labels)
    if first.shape != second.shape:
        raise ShapeError(f"{names[0]} has {first.size} values, but {names[1]} has {second.size}; they must be paired.")
    if first.size < 3:
        raise EmptySetError(f"{names[0]} and {names[1]} hold {first.size} pairs; a correlation needs at least 3.")
    for name, values in zip(names, (first, second), strict=True):
        if np.ptp(values) <= ROUNDING * np.abs(values).max():
            raise ZeroVarianceError(
                f"{name} holds the same number throughout ({values[0]:.6g}): it correlates with nothing."
            )
    return first, second
