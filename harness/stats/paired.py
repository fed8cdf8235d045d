"""Matched pairs and clustered items: tests that respect which values belong together."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import ROUNDING, FloatArray, finite_array, one_of
from ._tails import TIE_TOLERANCE
from .errors import EmptySetError, OptionError, ShapeError, ZeroVarianceError
from .permutation import Alternative, Null, PermutationP, Seed, Ties, permutation_pvalue

PairedNull = Literal["exact", "saddlepoint", "normal", "monte_carlo"]

# Two sorted lists of 2²⁰ half-sums: 0.2 s and 17 MB.
EXACT_PAIRS = 40

# A value with more than this share of the variance that is left makes T lumpy, which no smooth tail follows: the
# signs of such values, up to so many, are enumerated.
LEADING_SHARE = 0.05
MAX_LEADING = 10

CHUNK_ELEMENTS = 4_000_000

# Coverage of the Clopper–Pearson interval that p_low and p_high hold for a sampled null.
CONFIDENCE = 0.99


@dataclass(frozen=True)
class SignFlipP:
    """A sign-flip p-value of matched pairs.

    Attributes
    ----------
    p, p_low, p_high : float
        Of the alternative that was asked for. The bounds equal p for ``exact`` and for the approximations, which have
        none; for ``monte_carlo`` they are the 99 % Clopper–Pearson interval.
    log10_p : float
        Always finite, also where p underflows.
    null : str
        The null distribution that was used, which may not be the one that was asked for.
    resamples : int
        Random sign patterns drawn; 0 where none was.
    p_greater, p_less, p_two_sided : float
        By the same null, whatever the alternative.
    smallest_p : float
        The smallest p that this many pairs and resamples can give for the alternative; 0.0 where it underflows.
    standard_error : float
        Sampling error of p; 0 where nothing was sampled.
    mean_difference : float
    n : int
        Number of pairs, those without a difference included.
    """

    p: float
    p_low: float
    p_high: float
    log10_p: float
    null: PairedNull
    resamples: int
    p_greater: float
    p_less: float
    p_two_sided: float
    smallest_p: float
    standard_error: float
    mean_difference: float
    n: int


@dataclass(frozen=True)
class ClusterMeans:
    """Mean of the items of each cluster, in order of first appearance; ``means`` has one column a cluster."""

    means: FloatArray
    labels: list[Any]
    sizes: NDArray[np.int64]


def sign_flip_pvalue(
    differences: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    null: PairedNull = "exact",
    resamples: int = 100_000,
    rng: Seed = None,
) -> SignFlipP:
    """Test whether matched pairs differ by more than exchanging the members of a pair explains.

    Parameters
    ----------
    differences : array_like, shape (n,)
        First minus second member of every pair (omrani2023: sentences that differ in one word).
    alternative : {"greater", "less", "two-sided", "observed"}
        ``observed`` takes the tail towards the observed sign; its size is twice the nominal level.
    null : {"exact", "saddlepoint", "normal", "monte_carlo"}
        ``exact`` falls back to the saddle-point beyond ``EXACT_PAIRS`` pairs that differ, unless all differ by the same
        amount: the result says so.
    resamples : int
        Random sign patterns of ``monte_carlo``; the observed one is counted once more.
    rng : int or numpy.random.Generator, optional
        Seed or generator of ``monte_carlo``; ``None`` draws fresh entropy.

    Notes
    -----
    Under the null every difference is as likely as its opposite, so the statistic T = Σ ±|dᵢ| is symmetric about 0.
    ``exact`` counts all 2ⁿ sign patterns with T ≥ t by two sorted lists of half-sums (Horowitz & Sahni 1974), or by the
    binomial distribution where all |dᵢ| are equal (the sign test). The saddle-point uses K(θ) = Σ log cosh(θ dᵢ) and
    Barndorff-Nielsen's r* (Lugannani & Rice 1980; Barndorff-Nielsen 1986), with the signs of dominating values
    enumerated; ``normal`` has mean 0 and variance Σ dᵢ². Sums closer than ``TIE_TOLERANCE`` · Σ|dᵢ| are ties, and
    count.

    Raises
    ------
    ZeroVarianceError
        No pair differs.
    EmptySetError, NotFiniteError, ShapeError, OptionError
    """
    one_of(alternative, get_args(Alternative), name="alternative")
    one_of(null, get_args(PairedNull), name="null")
    if resamples < 1:
        raise OptionError(f"resamples={resamples} must be at least 1.")
    values = finite_array(differences, name="differences", ndims=(1,))
    sizes = np.abs(values[values != 0.0])
    if sizes.size == 0:
        raise ZeroVarianceError(f"All {values.size} differences are zero: no pair differs, so nothing can be flipped.")
    scale = float(sizes.max())
    sizes, observed = sizes / scale, float((values / scale).sum())
    if null == "exact" and sizes.size > EXACT_PAIRS and not _all_equal(sizes):
        null = "saddlepoint"
    if null == "monte_carlo":
        counts = _sampled_counts(sizes, observed, resamples=resamples, rng=np.random.default_rng(rng))
        log_greater, log_less, log_both = (math.log((count + 1) / (resamples + 1)) for count in counts)
    else:
        counts = (0, 0, 0)
        log_tail = {"exact": _log_exact, "saddlepoint": _log_saddlepoint, "normal": _log_normal}[null]
        log_greater, log_less = log_tail(sizes, observed), log_tail(sizes, -observed)
        log_both = min(0.0, math.log(2.0) + min(log_greater, log_less))
    tail = alternative if alternative != "observed" else ("greater" if observed >= 0.0 else "less")
    which = ("greater", "less", "two-sided").index(tail)
    log_p = (log_greater, log_less, log_both)[which]
    p = math.exp(log_p)
    low, high, error, floor = p, p, 0.0, -sizes.size * math.log(2.0) + (math.log(2.0) if tail == "two-sided" else 0.0)
    if null == "monte_carlo":
        low, high = _clopper_pearson(counts[which], resamples, p)
        error, floor = math.sqrt(p * (1.0 - p) / resamples), max(floor, -math.log(resamples + 1))
    return SignFlipP(
        p=p,
        p_low=low,
        p_high=high,
        log10_p=log_p / math.log(10.0),
        null=null,
        resamples=resamples if null == "monte_carlo" else 0,
        p_greater=math.exp(log_greater),
        p_less=math.exp(log_less),
        p_two_sided=math.exp(log_both),
        smallest_p=math.exp(floor),
        standard_error=error,
        mean_difference=float(values.mean()),
        n=values.size,
    )


def cluster_means(values: ArrayLike, clusters: ArrayLike) -> ClusterMeans:
    """Average the items of each cluster, such as all sentences of one word.

    Parameters
    ----------
    values : array_like, shape (items,) or (samples, items)
    clusters : array_like, shape (items,)
        The stimulus of every item.
    """
    items = finite_array(values, name="values", ndims=(1, 2))
    names = np.asarray(clusters)
    if names.shape != (items.shape[-1],):
        raise ShapeError(f"clusters has shape {names.shape}, but values has {items.shape[-1]} items; give one each.")
    _, first, inverse, sizes = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    by_cluster = np.argsort(inverse, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(items[..., by_cluster], starts, axis=-1)
    return ClusterMeans((sums / sizes)[..., order], names[first[order]].tolist(), sizes[order])


def clustered_permutation_pvalue(
    values: ArrayLike,
    clusters: ArrayLike,
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
    """Permute whole stimuli instead of their items (``unit=stimulus``).

    Parameters
    ----------
    values : array_like, shape (items,) or (samples, items)
        One value a sentence or context.
    clusters : array_like, shape (items,)
        The stimulus of every item.
    mask : array_like of bool, shape (items,)
        Items of the first group; all items of a stimulus are on the same side.
    alternative, null, ties, resamples, plus_one, exact_limit, rng
        As in :func:`harness.stats.permutation.permutation_pvalue`.

    Notes
    -----
    Items of one word are not independent: permuting them as if they were makes p far too small. What is permuted are
    the cluster *means*, so that every word counts once however many sentences it has; with sums, a frequent word would
    decide the test. For clusters of equal size both give the same p.
    """
    members = np.asarray(mask)
    grouped = cluster_means(values, clusters)
    if members.dtype != np.bool_ or members.shape != np.shape(clusters):
        raise ShapeError(
            f"mask must hold one boolean an item, shape {np.shape(clusters)}; it is {members.dtype} of shape "
            f"{members.shape}."
        )
    share = cluster_means(members.astype(np.float64), clusters).means
    mixed = (share > 0.0) & (share < 1.0)
    if mixed.any():
        label = grouped.labels[int(np.argmax(mixed))]
        raise ShapeError(f"The items of {label!r} are in both groups; a stimulus can only be moved as a whole.")
    if len(grouped.labels) < 2:
        raise EmptySetError(f"All items belong to {grouped.labels[0]!r}; permuting needs at least two stimuli.")
    return permutation_pvalue(
        grouped.means,
        share == 1.0,
        alternative=alternative,
        null=null,
        ties=ties,
        resamples=resamples,
        plus_one=plus_one,
        exact_limit=exact_limit,
        rng=rng,
    )


def _log_exact(sizes: FloatArray, t: float) -> float:
    """Log of the share of all sign patterns with T ≥ t."""
    if _all_equal(sizes):
        from scipy.stats import binom

        positive = round((t / float(sizes[0]) + sizes.size) / 2.0)
        return float(binom.logsf(positive - 1, sizes.size, 0.5))
    half = sizes.size // 2
    left, right = _signed_sums(sizes[:half]), np.sort(_signed_sums(sizes[half:]))
    # Sorted queries walk through the other list in order, which the cache likes.
    wanted = np.sort(t - TIE_TOLERANCE * float(sizes.sum()) - left)
    count = int((right.size - np.searchsorted(right, wanted, side="left")).sum())
    return math.log(count) - sizes.size * math.log(2.0)


def _all_equal(sizes: FloatArray) -> bool:
    return bool(np.ptp(sizes) <= ROUNDING * sizes.max())


def _signed_sums(sizes: FloatArray) -> FloatArray:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _log_normal(sizes: FloatArray, t: float) -> float:
    from scipy.special import log_ndtr

    return float(log_ndtr(-t / math.sqrt(float(sizes @ sizes))))


def _log_saddlepoint(sizes: FloatArray, t: float) -> float:
    """Log of P(T ≥ t) by the saddle-point approximation, averaged over the signs of values that dominate."""
    from scipy.special import logsumexp

    falling = np.sort(sizes)[::-1]
    # Σ of the squares from each value on: its share tells how much one sign decides.
    remaining = np.cumsum(falling[::-1] ** 2)[::-1]
    lead = int(np.argmax(np.append(falling[:MAX_LEADING] ** 2 < LEADING_SHARE * remaining[:MAX_LEADING], True)))
    tolerance = TIE_TOLERANCE * float(sizes.sum())
    logs = [_log_smooth_tail(falling[lead:], t - part, tolerance) for part in _signed_sums(falling[:lead])]
    return float(logsumexp(logs)) - lead * math.log(2.0)


def _log_smooth_tail(sizes: FloatArray, t: float, tolerance: float) -> float:
    """Log of P(T ≥ t) by the saddle-point; the extreme pattern, and what lies beyond it, exactly."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    largest = float(sizes.sum())
    if t > largest + tolerance:
        return -math.inf
    if t >= largest - tolerance:
        return -sizes.size * math.log(2.0)
    if t < 0.0:
        return math.log1p(-math.exp(_log_smooth_tail(sizes, -t, tolerance)))

    def excess(theta: float) -> float:
        return float(sizes @ np.tanh(theta * sizes)) - t

    upper = 1.0
    while excess(upper) < 0.0:
        upper *= 2.0
    theta = float(brentq(excess, 0.0, upper, xtol=1e-14, rtol=1e-14))
    # log cosh x = |x| + log(1 + e^(−2|x|)) − log 2, which does not overflow.
    decay = np.exp(-2.0 * theta * sizes)
    cumulant = float((theta * sizes + np.log1p(decay)).sum()) - sizes.size * math.log(2.0)
    w = math.sqrt(max(0.0, 2.0 * (theta * t - cumulant)))
    u = theta * math.sqrt(float((sizes**2 * 4.0 * decay / (1.0 + decay) ** 2).sum()))
    # T is symmetric, so log(u/w)/w vanishes with w; below this it is rounding alone.
    return float(log_ndtr(-w if w < 1e-4 else -(w + math.log(u / w) / w)))


def _sampled_counts(
    sizes: FloatArray, observed: float, *, resamples: int, rng: np.random.Generator
) -> tuple[int, int, int]:
    """Count random sign patterns with T ≥ t, T ≤ t and |T| ≥ |t|."""
    tolerance = TIE_TOLERANCE * float(sizes.sum())
    chunk = max(1, CHUNK_ELEMENTS // sizes.size)
    greater = less = both = 0
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        positive = np.unpackbits(rng.integers(0, 256, (rows, -(-sizes.size // 8)), dtype=np.uint8), axis=1)
        sums = 2.0 * (positive[:, : sizes.size] @ sizes) - sizes.sum()
        greater += int((sums >= observed - tolerance).sum())
        less += int((sums <= observed + tolerance).sum())
        both += int((np.abs(sums) >= abs(observed) - tolerance).sum())
    return greater, less, both


def _clopper_pearson(count: int, resamples: int, p: float) -> tuple[float, float]:
    from scipy.stats import binomtest

    interval = binomtest(count, resamples).proportion_ci(confidence_level=CONFIDENCE, method="exact")
    # The estimate that counts the observed pattern once more may lie just outside an interval around the plain share.
    return min(float(interval.low), p), max(float(interval.high), p)
