"""Associations and effect sizes: WEAT level 1, ML-EAT level 2, SC-WEAT, with bootstrap intervals."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from ._checks import ROUNDING, FloatArray, culprit, finite_array
from .errors import EmptySetError, OptionError, ShapeError, ZeroVarianceError, ZeroVectorError

Seed = int | np.random.Generator | None


def unit(vectors: ArrayLike, *, name: str = "vectors", labels: Sequence[Any] | None = None) -> FloatArray:
    """Scale every row to length one, in double precision.

    Parameters
    ----------
    vectors : array_like, shape (n, dim) or (dim,)
    name : str
        What the set is called in an error.
    labels : sequence, optional
        One label a row, usually the word; an error names it.

    Raises
    ------
    ZeroVectorError, NotFiniteError, EmptySetError, ShapeError
        Naming the row that is at fault.
    """
    array = finite_array(vectors, name=name, ndims=(1, 2), labels=labels)
    # Dividing by the largest entry first keeps the squares of tiny and huge entries in range.
    largest = np.abs(array).max(axis=-1, keepdims=True)
    if not largest.all():
        index = int(np.argmin(largest))
        where = name if array.ndim == 1 else culprit(name, index, labels)
        raise ZeroVectorError(f"{where} is a zero vector, which has no direction; drop it or give its vector.")
    scaled = array / largest
    return cast(FloatArray, scaled / np.sqrt(np.einsum("...i,...i->...", scaled, scaled))[..., np.newaxis])


def _units(**sets: ArrayLike) -> list[FloatArray]:
    """Scale the rows of several sets that live in one space."""
    units = [np.atleast_2d(unit(vectors, name=name)) for name, vectors in sets.items()]
    dims = {name: rows.shape[1] for name, rows in zip(sets, units, strict=True)}
    if len(set(dims.values())) > 1:
        listed = ", ".join(f"{name} has {dim}" for name, dim in dims.items())
        raise ShapeError(f"The sets do not share one space: {listed} dimensions.")
    return units


def cosine_matrix(P: ArrayLike, Q: ArrayLike) -> FloatArray:
    """Cosine of every row of ``P`` with every row of ``Q``, shape (len(P), len(Q))."""
    p, q = _units(P=P, Q=Q)
    return p @ q.T


def associations(W: ArrayLike, A: ArrayLike, B: ArrayLike) -> FloatArray:
    """Association s(w, A, B) of every word of ``W`` with ``A`` rather than ``B``.

    Notes
    -----
    s(w, A, B) = mean cos(w, a) − mean cos(w, b)  (caliskan2017, methods). The mean of cosines with a set is the
    product with the mean unit vector of that set, so one matrix-vector product gives all words.
    """
    w, a, b = _units(W=W, A=A, B=B)
    return cast(FloatArray, w @ (a.mean(axis=0) - b.mean(axis=0)))


def similarities(T: ArrayLike, W: ArrayLike) -> FloatArray:
    """Mean cosine u(w) of every word of ``W`` with the target set ``T``.

    Notes
    -----
    u(a) = mean over t of cos(t, a): the quantity that ML-EAT compares at level 2 (wolfe2024).
    """
    t, w = _units(T=T, W=W)
    return cast(FloatArray, w @ t.mean(axis=0))


def _standardised(x: FloatArray, y: FloatArray, *, ddof: int, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Mean difference and standard deviation of the union (plus epsilon), along the last axis."""
    union = np.concatenate([x, y], axis=-1)
    return x.mean(axis=-1) - y.mean(axis=-1), union.std(axis=-1, ddof=ddof) + epsilon


def cohens_d(
    x: ArrayLike, y: ArrayLike, *, ddof: int = 1, epsilon: float = 0.0, names: tuple[str, str] = ("x", "y")
) -> float:
    """Effect size d: the mean difference over the standard deviation of the union.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        The values of both groups.
    ddof : int
        Of the standard deviation; 1 reproduces caliskan2017, 0 is wefe's.
    epsilon : float
        Added to the standard deviation (kurita2019 adds 1e-8).
    names : pair of str
        What the groups are called in an error.

    Notes
    -----
    d = (mean x − mean y) / std(x ∪ y)  (caliskan2017, methods).
    """
    first = finite_array(x, name=names[0], ndims=(1,))
    second = finite_array(y, name=names[1], ndims=(1,))
    _check_union(first.size + second.size, ddof=ddof, epsilon=epsilon, names=names)
    difference, std = _standardised(first, second, ddof=ddof, epsilon=epsilon)
    largest = max(np.abs(first).max(), np.abs(second).max())
    if epsilon == 0.0 and std <= ROUNDING * largest:
        raise ZeroVarianceError(
            f"All {first.size + second.size} values of {names[0]} and {names[1]} are equal ({first[0]:.6g}): "
            "the effect size divides by their standard deviation, which is zero."
        )
    return float(difference / std)


def _check_union(size: int, *, ddof: int, epsilon: float, names: tuple[str, str]) -> None:
    if ddof < 0 or epsilon < 0:
        raise OptionError(f"ddof={ddof} and epsilon={epsilon} must not be negative.")
    if size <= ddof:
        raise EmptySetError(
            f"{names[0]} and {names[1]} hold {size} values together; ddof={ddof} needs at least {ddof + 1}."
        )


def weat_d(X: ArrayLike, Y: ArrayLike, A: ArrayLike, B: ArrayLike, *, ddof: int = 1, epsilon: float = 0.0) -> float:
    """WEAT effect size: d of s(x, A, B) against s(y, A, B) (caliskan2017; level 1 of wolfe2024)."""
    x, y, a, b = _units(X=X, Y=Y, A=A, B=B)
    direction = a.mean(axis=0) - b.mean(axis=0)
    return cohens_d(x @ direction, y @ direction, ddof=ddof, epsilon=epsilon, names=("X", "Y"))


def level2_d(T: ArrayLike, A: ArrayLike, B: ArrayLike, *, ddof: int = 1, epsilon: float = 0.0) -> float:
    """ML-EAT level 2 effect size of one target set: d of u(a) against u(b) (wolfe2024)."""
    t, a, b = _units(T=T, A=A, B=B)
    centre = t.mean(axis=0)
    return cohens_d(a @ centre, b @ centre, ddof=ddof, epsilon=epsilon, names=("A", "B"))


def sc_weat_d(
    W: ArrayLike,
    A: ArrayLike,
    B: ArrayLike,
    *,
    ddof: int = 1,
    epsilon: float = 0.0,
    labels: Sequence[Any] | None = None,
) -> FloatArray:
    """Single-category WEAT (WEFAT) effect size of every word of ``W``, shape (len(W),).

    Notes
    -----
    d(w) = (mean cos(w, a) − mean cos(w, b)) / std over A ∪ B of cos(w, ·)  (caliskan2017, WEFAT). ``labels`` are the
    words of ``W``, for errors.
    """
    w, a, b = _units(W=W, A=A, B=B)
    _check_union(len(a) + len(b), ddof=ddof, epsilon=epsilon, names=("A", "B"))
    difference, std = _standardised(w @ a.T, w @ b.T, ddof=ddof, epsilon=epsilon)
    if epsilon == 0.0 and (std <= ROUNDING).any():
        where = culprit("W", int(np.argmin(std)), labels)
        raise ZeroVarianceError(f"{where} has the same cosine with every word of A and B: its d is undefined.")
    return difference / std


@dataclass(frozen=True)
class Interval:
    """A bootstrap confidence interval.

    ``method`` is ``"BCa"``, or ``"percentile"`` where BCa is not defined. ``resamples`` counts the resamples that
    have an effect size: one that draws the same value throughout has none and is left out.
    """

    low: float
    high: float
    confidence: float
    method: Literal["BCa", "percentile"]
    resamples: int


def bca_interval(
    x: ArrayLike,
    y: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 9_999,
    rng: Seed = None,
    ddof: int = 1,
    epsilon: float = 0.0,
) -> Interval:
    """Bootstrap interval of :func:`cohens_d`, resampling the stimuli of each group.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        One value a stimulus: s(x) and s(y) at level 1, u(a) and u(b) at level 2.
    confidence : float
        Coverage aimed at.
    resamples : int
        Number of bootstrap resamples.
    rng : int or numpy.random.Generator, optional
        Seed or generator; ``None`` draws fresh entropy.
    ddof, epsilon
        As in :func:`cohens_d`.

    Notes
    -----
    The bias-corrected and accelerated interval of Efron (1987) by ``scipy.stats.bootstrap``. It is not defined when
    every resample lies on one side of the estimate, when the jackknife has no spread, or when a resample or a
    jackknife sample has no effect size; then the percentile interval of the same resamples is returned and
    ``method`` says so.
    """
    from scipy import stats

    if not 0.0 < confidence < 1.0:
        raise OptionError(f"confidence={confidence} must lie between 0 and 1.")
    if resamples < 2:
        raise OptionError(f"resamples={resamples} is too few for an interval; give at least 2.")
    estimate = cohens_d(x, y, ddof=ddof, epsilon=epsilon)
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if min(first.size, second.size) < 2:
        raise EmptySetError(f"A bootstrap needs at least two values a group; x holds {first.size} and y {second.size}.")
    largest = max(np.abs(first).max(), np.abs(second).max())

    def statistic(a: FloatArray, b: FloatArray, axis: int = -1) -> FloatArray:
        difference, std = _standardised(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1), ddof=ddof, epsilon=epsilon)
        defined = (std > ROUNDING * largest) | (epsilon > 0.0)
        return np.where(defined, difference / np.where(defined, std, 1.0), np.nan)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        # scipy warns where BCa is not defined; the fallback below is the answer to that.
        warnings.simplefilter("ignore")
        result = stats.bootstrap(
            (first, second),
            statistic,
            n_resamples=resamples,
            confidence_level=confidence,
            method="BCa",
            vectorized=True,
            axis=-1,
            rng=np.random.default_rng(rng),
        )
    low, high = (float(end) for end in result.confidence_interval)
    distribution = result.bootstrap_distribution
    distribution = distribution[np.isfinite(distribution)]
    varies = distribution.size > 0 and np.ptp(distribution) > ROUNDING * abs(estimate)
    if varies and math.isfinite(low) and math.isfinite(high):
        return Interval(low, high, confidence, "BCa", distribution.size)
    tail = (1.0 - confidence) / 2.0
    ends = np.quantile(distribution if varies else np.array([estimate]), [tail, 1.0 - tail])
    return Interval(float(ends[0]), float(ends[1]), confidence, "percentile", distribution.size)
