"""Permutation p-values of a difference of two groups, certified where that can be done."""

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._certified import CAPPED_SIZE, certified_tails
from ._checks import ROUNDING, FloatArray, finite_array, one_of
from ._enumerate import can_enumerate, enumerated_tails
from ._monte_carlo import monte_carlo_tails, normal_fit_tails
from ._normal import normal_tails
from ._saddlepoint import saddlepoint_tails
from ._tails import TIE_TOLERANCE, Problem, Tail, Tails, log10_smallest
from .errors import EmptySetError, OptionError, ShapeError, ZeroVarianceError

Alternative = Literal["greater", "less", "two-sided", "observed"]
Null = Literal["exact", "monte_carlo", "normal", "normal_fit", "saddlepoint"]
Ties = Literal["inclusive", "strict"]
Seed = int | np.random.Generator | None

# Share of the sum of squares above which one value makes the distribution lumpy. The saddle-point can then be off by a
# tenth (two outliers of 20 standard deviations among 128 values), which a seeded sample never is.
DOMINANT_SHARE = 0.25


@dataclass(frozen=True)
class PermutationP:
    """A permutation p-value: numbers for one vector, arrays with one entry a row for a matrix.

    Attributes
    ----------
    p : float or array
        Of the alternative that was asked for.
    p_low, p_high : float or array
        ``exact``: proven bounds, equal to p where every arrangement was counted. ``monte_carlo``: the 99 %
        Clopper–Pearson interval. Equal to p for the approximations, which have no bounds.
    log10_p : float or array
        Always finite, also where p underflows. Where a count is zero, that of ``smallest_p``.
    null : str
        The null distribution that was used, which may not be the one that was asked for.
    resamples : int
        Random arrangements drawn; 0 where none was.
    p_greater, p_less, p_two_sided : float or array
        By the same null, whatever the alternative.
    smallest_p : float or array
        The smallest p above zero that any arrangement of these values can have for the alternative, tied values
        included; for ``monte_carlo`` the resolution 1/(resamples + 1), or 1/resamples without ``plus_one``. 0.0 where
        it underflows.
    standard_error : float or array
        Sampling error of p; 0 where nothing was sampled.
    """

    p: float | FloatArray
    p_low: float | FloatArray
    p_high: float | FloatArray
    log10_p: float | FloatArray
    null: Null
    resamples: int
    p_greater: float | FloatArray
    p_less: float | FloatArray
    p_two_sided: float | FloatArray
    smallest_p: float | FloatArray
    standard_error: float | FloatArray


def permutation_pvalue(
    values: ArrayLike,
    mask: ArrayLike,
    *,
    alternative: Alternative = "greater",
    null: Null = "exact",
    ties: Ties = "inclusive",
    resamples: int = 100_000,
    plus_one: bool = True,
    exact_limit: int | None = None,
    rng: Seed = None,
) -> PermutationP:
    """Test whether the first group is larger than the rest by more than relabelling explains.

    Parameters
    ----------
    values : array_like, shape (n,) or (samples, n)
        What is permuted: s(w) over X ∪ Y at level 1, u(a) over A ∪ B at level 2. Every row of a matrix is a test.
    mask : array_like of bool, shape (n,)
        Members of the first group.
    alternative : {"greater", "less", "two-sided", "observed"}
        ``observed`` takes the tail towards the observed sign; its size is twice the nominal level.
    null : {"exact", "monte_carlo", "normal", "normal_fit", "saddlepoint"}
        ``exact`` counts or certifies one vector of up to 256 values and many of up to 8 v 8. Beyond, it certifies what
        its cap allows and otherwise takes the saddle-point, or ``monte_carlo`` for one vector that few values
        dominate; the result says which.
    ties : {"inclusive", "strict"}
        Whether arrangements that equal the observed one count.
    resamples : int
        Random arrangements of ``monte_carlo`` and ``normal_fit``.
    plus_one : bool
        Count the observed arrangement as one more draw of ``monte_carlo``.
    exact_limit : int, optional
        Use ``exact`` only up to this many arrangements, else ``monte_carlo`` (may2019: 100,000).
    rng : int or numpy.random.Generator, optional
        Seed or generator of the random arrangements; ``None`` draws fresh entropy.

    Returns
    -------
    PermutationP

    Notes
    -----
    The statistic is mean(first) − mean(rest), which for a fixed size of the groups orders arrangements as the sum
    over the first group does. Its permutation mean is 0, so the two-sided p is the share of arrangements whose
    absolute statistic reaches the absolute observed one, for unequal group sizes too. Sums closer than
    ``TIE_TOLERANCE`` · Σ|value| are ties.

    Raises
    ------
    EmptySetError, ZeroVarianceError, NotFiniteError, ShapeError, OptionError
    """
    one_of(alternative, get_args(Alternative), name="alternative")
    one_of(null, get_args(Null), name="null")
    one_of(ties, get_args(Ties), name="ties")
    if resamples < 1:
        raise OptionError(f"resamples={resamples} must be at least 1.")
    array = finite_array(values, name="values", ndims=(1, 2))
    members = _members(mask, n=array.shape[-1])
    problem = _problem(np.atleast_2d(array), members, strict=ties == "strict")
    if null == "exact" and exact_limit is not None and problem.arrangements > exact_limit:
        null = "monte_carlo"
    used, tails = _tails(problem, null=null, resamples=resamples, plus_one=plus_one, rng=np.random.default_rng(rng))
    drawn = resamples if used in ("monte_carlo", "normal_fit") else 0
    floor = 1.0 / (resamples + plus_one) if used == "monte_carlo" else 0.0
    return _result(
        problem, tails, alternative=alternative, null=used, resamples=drawn, floor=floor, flat=array.ndim == 1
    )


def _members(mask: ArrayLike, *, n: int) -> NDArray[np.bool_]:
    members = np.asarray(mask)
    if members.dtype != np.bool_:
        raise ShapeError(f"mask must hold booleans, one a value; it holds {members.dtype}.")
    if members.shape != (n,):
        raise ShapeError(f"mask has shape {members.shape}, but values has {n} in a row; they must agree.")
    if not members.any() or members.all():
        group = "the first group" if not members.any() else "the rest"
        raise EmptySetError(f"{group} is empty: mask marks {int(members.sum())} of {n} values.")
    return members


def _problem(rows: FloatArray, members: NDArray[np.bool_], *, strict: bool) -> Problem:
    spread = np.ptp(rows, axis=1)
    largest = np.abs(rows).max(axis=1)
    flat = spread <= ROUNDING * largest
    if flat.any():
        index = int(np.argmax(flat))
        where = "values" if len(rows) == 1 else f"values[{index}]"
        raise ZeroVarianceError(f"{where} holds the same number throughout ({rows[index, 0]:.6g}): nothing to permute.")
    z = rows - rows.mean(axis=1, keepdims=True)
    return Problem(
        z=z,
        k=int(members.sum()),
        observed=z[:, members].sum(axis=1),
        tolerance=TIE_TOLERANCE * np.abs(rows).sum(axis=1),
        strict=strict,
    )


def _tails(
    problem: Problem, *, null: Null, resamples: int, plus_one: bool, rng: np.random.Generator
) -> tuple[Null, Tails]:
    """Tails by the null that was asked for, or by the one that replaces it, with its name."""
    if null == "exact":
        certified = _exact_tails(problem)
        if certified is not None:
            return "exact", certified
        null = _instead_of_exact(problem)
    if null == "saddlepoint":
        return "saddlepoint", saddlepoint_tails(problem)
    if null == "normal":
        return "normal", normal_tails(problem)
    if null == "normal_fit":
        return "normal_fit", normal_fit_tails(problem, resamples=resamples, rng=rng)
    return "monte_carlo", monte_carlo_tails(problem, resamples=resamples, plus_one=plus_one, rng=rng)


def _exact_tails(problem: Problem) -> Tails | None:
    """Enumerate small problems, certify one vector of any affordable size; None for what is left."""
    if can_enumerate(problem.n, problem.arrangements):
        return enumerated_tails(problem)
    return certified_tails(problem) if len(problem.z) == 1 else None


def _instead_of_exact(problem: Problem) -> Null:
    """Sample where single values dominate, because the sum is then far from smooth; else approximate its tail."""
    if len(problem.z) > 1:
        return "saddlepoint"
    squares = problem.z[0] ** 2
    dominated = problem.n <= CAPPED_SIZE or squares.max() > DOMINANT_SHARE * squares.sum()
    return "monte_carlo" if dominated else "saddlepoint"


def _result(
    problem: Problem, tails: Tails, *, alternative: Alternative, null: Null, resamples: int, floor: float, flat: bool
) -> PermutationP:
    upward = problem.observed >= -problem.tolerance
    smallest_greater, smallest_less, smallest_both = log10_smallest(problem)

    def chosen(greater: FloatArray, less: FloatArray, both: FloatArray) -> FloatArray:
        if alternative == "observed":
            return np.where(upward, greater, less)
        return {"greater": greater, "less": less, "two-sided": both}[alternative]

    def of(field: str) -> FloatArray:
        return chosen(*(cast(FloatArray, getattr(tail, field)) for tail in _each(tails)))

    smallest = chosen(smallest_greater, smallest_less, smallest_both)
    if floor:
        smallest = np.full_like(smallest, np.log10(floor))
    log10_p = of("log10")

    def shaped(array: FloatArray) -> float | FloatArray:
        return float(array[0]) if flat else array

    return PermutationP(
        p=shaped(of("p")),
        p_low=shaped(of("low")),
        p_high=shaped(of("high")),
        log10_p=shaped(np.where(np.isfinite(log10_p), log10_p, smallest)),
        null=null,
        resamples=resamples,
        p_greater=shaped(tails.greater.p),
        p_less=shaped(tails.less.p),
        p_two_sided=shaped(tails.two_sided.p),
        smallest_p=shaped(10.0**smallest),
        standard_error=shaped(of("standard_error")),
    )


def _each(tails: Tails) -> tuple[Tail, Tail, Tail]:
    return tails.greater, tails.less, tails.two_sided
