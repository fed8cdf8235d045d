"""What every null distribution is asked for, and what it answers."""

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ._checks import FloatArray

# Two sums that are equal on paper differ by rounding when their terms are added in another order, and a strict
# comparison of floats would then drop the observed arrangement itself. Like scipy.stats.permutation_test, sums closer
# than 100 units in the last place count as equal; unlike it, relative to Σ|value| and not to the observed statistic,
# because that bounds the rounding of any sum even where the statistic is near zero.
TIE_TOLERANCE = 100.0 * float(np.finfo(np.float64).eps)

LN10 = math.log(10.0)


@dataclass(frozen=True)
class Problem:
    """Sums of random k-subsets of every row of ``z``, to be compared with ``observed``.

    Rows are centred, so the sum over the first group is the mean difference of the groups times k(n−k)/n, and its
    permutation mean is zero.
    """

    z: FloatArray
    k: int
    observed: FloatArray
    tolerance: FloatArray
    strict: bool

    @property
    def n(self) -> int:
        """Number of values that are permuted."""
        return int(self.z.shape[1])

    @property
    def arrangements(self) -> int:
        """Number of ways to choose the first group."""
        return math.comb(self.n, self.k)

    def rows(self, part: slice) -> "Problem":
        """Return the same question about some of the rows."""
        return Problem(self.z[part], self.k, self.observed[part], self.tolerance[part], self.strict)

    def mirrored(self) -> "Problem":
        """Return the same question about the other tail."""
        return Problem(-self.z, self.k, -self.observed, self.tolerance, self.strict)


@dataclass(frozen=True)
class Tail:
    """Probability of one tail, one entry a row, with its bounds, logarithm and sampling error."""

    p: FloatArray
    low: FloatArray
    high: FloatArray
    log10: FloatArray
    standard_error: FloatArray


@dataclass(frozen=True)
class Tails:
    """The three tails of one null distribution."""

    greater: Tail
    less: Tail
    two_sided: Tail


def exact_tail(p: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None) -> Tail:
    """Tail from a probability without sampling error; zero keeps the logarithm −inf."""
    clipped = np.clip(p, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        log10 = np.log10(clipped)
    lower = clipped if low is None else np.clip(low, 0.0, 1.0)
    upper = clipped if high is None else np.clip(high, 0.0, 1.0)
    return Tail(clipped, lower, upper, log10, np.zeros_like(clipped))


def log_tail(log_p: FloatArray, standard_error: FloatArray | None = None) -> Tail:
    """Tail from a natural logarithm, without bounds."""
    log_p = np.minimum(log_p, 0.0)
    p = np.exp(log_p)
    return Tail(p, p, p, log_p / LN10, np.zeros_like(p) if standard_error is None else standard_error)


def log10_smallest(problem: Problem) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Base-10 logarithms of the smallest exact p (greater, less, two-sided) that any arrangement attains.

    The extreme arrangement takes the k largest (or smallest) values; where the k-th value is tied, several
    arrangements attain the same sum and the smallest p is their share.
    """
    greater, top = log_extreme(problem)
    less, bottom = log_extreme(problem.mirrored())
    both = np.logaddexp(greater, less)
    tied = np.abs(top - bottom) <= problem.tolerance
    two_sided = np.where(tied, both, np.where(top > bottom, greater, less))
    return greater / LN10, less / LN10, np.minimum(two_sided, 0.0) / LN10


def log_extreme(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the log share of the arrangements that attain the largest sum, and that sum."""
    from scipy.special import gammaln

    n, k = problem.n, problem.k
    ranked = -np.partition(-problem.z, k - 1, axis=1)
    last = ranked[:, k - 1 : k]
    tied = np.abs(ranked - last) <= problem.tolerance[:, np.newaxis]
    m, j = tied.sum(axis=1), tied[:, :k].sum(axis=1)
    log_ways = gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)
    return log_ways - log_arrangements(n, k), ranked[:, :k].sum(axis=1)


def log_arrangements(n: int, k: int) -> float:
    """Natural logarithm of C(n, k)."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


class Counter:
    """Counts sums beyond the observed one in chunks, reusing its buffers: fresh memory costs more than the counting.

    Rows are turned so that every observed sum is positive; ``symmetric`` says that each sum comes with its negative.
    """

    def __init__(self, problem: Problem, *, symmetric: bool) -> None:
        self.upward = problem.observed >= 0.0
        sign = np.where(self.upward, 1.0, -1.0)
        self.z = problem.z * sign[:, np.newaxis]
        self._observed = np.abs(problem.observed)[:, np.newaxis]
        self._slack = problem.tolerance[:, np.newaxis]
        self._strict, self._symmetric = problem.strict, symmetric
        self._near, self._rest, self._far = (np.zeros(len(self.z)) for _ in range(3))
        self._sums, self._beyond = np.empty(0), np.empty(0, dtype=np.bool_)

    def add(self, masks: FloatArray, rows: slice) -> None:
        """Count the sums of some rows over the arrangements in the columns of ``masks``."""
        z, observed, slack = self.z[rows], self._observed[rows], self._slack[rows]
        shape = (len(z), masks.shape[1])
        if self._sums.size < math.prod(shape):
            self._sums, self._beyond = np.empty(shape).ravel(), np.empty(shape, dtype=np.bool_).ravel()
        sums = self._sums[: math.prod(shape)].reshape(shape)
        beyond = self._beyond[: sums.size].reshape(shape)
        np.matmul(z, masks, out=sums)

        def count(compare: np.ufunc, threshold: FloatArray) -> NDArray[np.int64]:
            return cast(NDArray[np.int64], np.count_nonzero(compare(sums, threshold, out=beyond), axis=1))

        reaching = count(np.greater_equal, observed - slack)
        exceeding = count(np.greater, observed + slack)
        near, rest = (exceeding, reaching) if self._strict else (reaching, exceeding)
        self._near[rows] += near
        self._rest[rows] += rest
        if self._symmetric:
            self._far[rows] += near
        elif self._strict:
            self._far[rows] += count(np.less, -observed - slack)
        else:
            self._far[rows] += count(np.less_equal, slack - observed)

    def tails(self, total: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return how many of ``total`` arrangements lie in the greater, the less and the two-sided tail."""
        other = total - self._rest
        everything = (self._observed <= self._slack)[:, 0] & (not self._strict)
        both = np.where(everything, total, self._near + self._far)
        return np.where(self.upward, self._near, other), np.where(self.upward, other, self._near), both
