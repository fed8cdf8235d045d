"""Random-effects meta-analysis: the combined effect size of CEAT."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ._checks import ROUNDING, FloatArray, finite_array, one_of
from .errors import EmptySetError, OptionError, ShapeError, StatsError, ZeroVarianceError

Alternative = Literal["two-sided", "greater", "less"]
Standardiser = Literal["union", "within"]


@dataclass(frozen=True)
class RandomEffects:
    """A random-effects summary of many effect sizes.

    Attributes
    ----------
    ces, se : float
        Combined effect size and its standard error.
    tau2 : float
        Between-sample variance, never below 0.
    q, i2 : float
        Cochran's Q, and I² = max(0, (Q − (n − 1)) / Q) (Higgins & Thompson 2002).
    z, p, log10_p : float
        Wald statistic and its p-value. p underflows to 0 beyond |z| ≈ 38; log10_p does not.
    ci_low, ci_high : float
        Confidence interval of the combined effect size.
    prediction_low, prediction_high : float or None
        Where the effect of one more sample is expected (Higgins, Thompson & Spiegelhalter 2009); None for two
        samples, where its t distribution has no degrees of freedom.
    n : int
        Number of samples.
    """

    ces: float
    se: float
    tau2: float
    q: float
    i2: float
    z: float
    p: float
    log10_p: float
    ci_low: float
    ci_high: float
    prediction_low: float | None
    prediction_high: float | None
    n: int


def random_effects(
    d: ArrayLike, v: ArrayLike, *, alternative: Alternative = "two-sided", confidence: float = 0.95
) -> RandomEffects:
    """Combine effect sizes with the DerSimonian–Laird estimate of guo2021's appendix.

    Parameters
    ----------
    d : array_like, shape (n,)
        Effect size of every sample.
    v : array_like, shape (n,)
        In-sample variance of every sample: :func:`association_variance` as published, or :func:`effect_variance`.
    alternative : {"two-sided", "greater", "less"}
        guo2021 is two-sided; its public code computes the upper tail.
    confidence : float
        Coverage of both intervals.

    Notes
    -----
    With Wᵢ = 1/Vᵢ (guo2021, "Random-Effects Model Details")::

        Q   = Σ Wᵢ ESᵢ² − (Σ Wᵢ ESᵢ)² / Σ Wᵢ        c = Σ Wᵢ − Σ Wᵢ² / Σ Wᵢ
        τ²  = max(0, (Q − (n − 1)) / c)              vᵢ = 1 / (Vᵢ + τ²)
        CES = Σ vᵢ ESᵢ / Σ vᵢ                        SE = 1 / √Σ vᵢ

    Q is summed as Σ Wᵢ (ESᵢ − mean)² and c as Σ Wᵢ (Σ W − Wᵢ) / Σ W: equal on paper, without the cancellation.

    Raises
    ------
    ZeroVarianceError
        A sample has V = 0, so its weight would be infinite.
    EmptySetError, NotFiniteError, ShapeError, OptionError
    """
    from scipy.stats import norm
    from scipy.stats import t as student

    one_of(alternative, get_args(Alternative), name="alternative")
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"confidence={confidence} must lie between 0 and 1.")
    effects, variances = _samples(d, v)
    n = effects.size
    tau2, q = _between_variance(effects, variances)
    weights = 1.0 / (variances + tau2)
    total = weights.sum()
    ces = float((weights * effects).sum() / total)
    se = float(1.0 / np.sqrt(total))
    z = ces / se
    log_p = float(_log_tail(z, alternative))
    half = float(norm.isf((1.0 - confidence) / 2.0)) * se
    spread = math.sqrt(tau2 + se**2)
    reach = float(student.isf((1.0 - confidence) / 2.0, n - 2)) * spread if n > 2 else None
    return RandomEffects(
        ces=ces,
        se=se,
        tau2=tau2,
        q=q,
        i2=max(0.0, (q - (n - 1)) / q) if q > 0.0 else 0.0,
        z=z,
        p=math.exp(log_p),
        log10_p=log_p / math.log(10.0),
        ci_low=ces - half,
        ci_high=ces + half,
        prediction_low=None if reach is None else ces - reach,
        prediction_high=None if reach is None else ces + reach,
        n=n,
    )


def association_variance(s: ArrayLike, *, ddof: int = 1) -> FloatArray:
    """Return the in-sample variance as published: V = std² of s(w, A, B) over X ∪ Y, one entry a sample.

    Parameters
    ----------
    s : array_like, shape (samples, n_x + n_y) or (n_x + n_y,)
        Associations of the target words; one row counts as one sample.
    ddof : int
        Of the standard deviation.

    Notes
    -----
    guo2021, "Random-Effects Model Details". This is the variance of the associations, not the sampling variance of d:
    it has the square of the unit of s, while d has no unit. Doubling every s doubles no effect size but divides every
    weight by four, so published standard errors depend on the scale of the cosines. :func:`effect_variance` does not.
    """
    rows = np.atleast_2d(finite_array(s, name="s", ndims=(1, 2)))
    if rows.shape[1] <= ddof or ddof < 0:
        raise EmptySetError(f"s holds {rows.shape[1]} words a sample; ddof={ddof} needs at least {max(ddof, 0) + 1}.")
    variances: FloatArray = rows.var(axis=1, ddof=ddof)
    flat = np.sqrt(variances) <= ROUNDING * np.abs(rows).max(axis=1)
    if flat.any():
        index = int(np.argmax(flat))
        raise ZeroVarianceError(
            f"s[{index}]: all {rows.shape[1]} words have the same association ({rows[index, 0]:.6g}), so V is zero."
        )
    return variances


def effect_variance(
    d: ArrayLike, n_x: int, n_y: int, *, ddof: int = 1, standardiser: Standardiser = "union"
) -> FloatArray:
    """Return the sampling variance of the effect size d itself, one entry a sample.

    Parameters
    ----------
    d : array_like, shape (samples,) or a single number
        Effect sizes.
    n_x, n_y : int
        Words of X and of Y.
    ddof : int
        Of the standard deviation that d was divided by; ``union`` alone uses it.
    standardiser : {"union", "within"}
        What the difference of means was divided by: the standard deviation over X ∪ Y (WEAT and all that follow it),
        or the pooled standard deviation within the groups (the textbook's Cohen's d).

    Notes
    -----
    ``within``: Var(g) = n/(n_x n_y) + g²/(2n), n = n_x + n_y (Hedges & Olkin 1985, ch. 5; Borenstein et al.
    2009, eq. 4.20), the large-sample variance for normal groups of equal spread.

    ``union``: WEAT's d is a rescaled point-biserial correlation, r = d √κ with κ = n_x n_y / (n (n − ddof)), and is
    bounded by 1/√κ (2 for equal groups). With h = κ d², g = d / √(1 − h) is the textbook's effect size, and the delta
    method gives Var(d) = (1 − h)³ Var(g). For 25 and 25 words the textbook's formula applied to WEAT's d is twice too
    large at d = .9 and seven times at d = 1.4. The variance falls as |d| grows, so larger effects weigh more where τ²
    is small.

    Raises
    ------
    ZeroVarianceError
        |d| reaches its bound: the groups have no spread within, and d no sampling variance.
    """
    one_of(standardiser, get_args(Standardiser), name="standardiser")
    if n_x < 1 or n_y < 1 or n_x + n_y <= ddof + 1:
        raise EmptySetError(f"n_x={n_x} and n_y={n_y} are too few words for a sampling variance.")
    effects = finite_array(np.atleast_1d(np.asarray(d)), name="d", ndims=(1,))
    n = n_x + n_y
    if standardiser == "within":
        return n / (n_x * n_y) + effects**2 / (2 * n)
    h = effects**2 * n_x * n_y / (n * (n - ddof))
    if (h >= 1.0 - ROUNDING).any():
        index = int(np.argmax(h))
        bound = math.sqrt(n * (n - ddof) / (n_x * n_y))
        raise ZeroVarianceError(
            f"d[{index}] = {effects[index]:.6g} reaches its bound ±{bound:.6g} for {n_x} and {n_y} words: "
            "the groups have no spread within, so d has no sampling variance."
        )
    within = effects**2 / (1.0 - h)
    return (1.0 - h) ** 3 * (n / (n_x * n_y) + within / (2 * n))


def _samples(d: ArrayLike, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
    effects = finite_array(d, name="d", ndims=(1,))
    variances = finite_array(v, name="v", ndims=(1,))
    if effects.shape != variances.shape:
        raise ShapeError(f"d has {effects.size} samples, but v has {variances.size}; they must agree.")
    if effects.size < 2:
        raise EmptySetError("d holds one sample; a random-effects model needs at least two.")
    lowest = int(np.argmin(variances))
    if variances[lowest] < 0.0:
        raise StatsError(f"v[{lowest}] is {variances[lowest]:.6g}; a variance is never negative.")
    if variances[lowest] < np.finfo(np.float64).tiny:
        raise ZeroVarianceError(f"v[{lowest}] is zero: the weight 1/V of this sample would be infinite; leave it out.")
    return effects, variances


def _between_variance(effects: FloatArray, variances: FloatArray) -> tuple[float, float]:
    """τ² and Q."""
    # In units of the smallest variance no weight exceeds 1, so that no sum of them overflows.
    unit = float(variances.min())
    weights = unit / variances
    total = weights.sum()
    mean = (weights * effects).sum() / total
    q = float((weights * (effects - mean) ** 2).sum()) / unit
    c = float((weights * (total - weights)).sum() / total) / unit
    if c <= 0.0:
        raise StatsError(
            f"v[{int(np.argmin(variances))}] = {unit:.6g} is so small that this sample outweighs all others together; "
            "the between-sample variance cannot be estimated."
        )
    return max(0.0, (q - (effects.size - 1)) / c), q


def _log_tail(z: float, alternative: Alternative) -> float:
    from scipy.stats import norm

    if alternative == "two-sided":
        return math.log(2.0) + float(norm.logsf(abs(z)))
    return float(norm.logsf(z if alternative == "greater" else -z))
