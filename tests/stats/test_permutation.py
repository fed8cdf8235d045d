import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.stats import (
    EmptySetError,
    NotFiniteError,
    OptionError,
    PermutationP,
    ShapeError,
    ZeroVarianceError,
    permutation_pvalue,
)

NULLS = ["exact", "monte_carlo", "normal", "normal_fit", "saddlepoint"]


def first(k, n):
    return np.arange(n) < k


def enumerated(values, mask, *, strict=False):
    """Tails by a loop over all arrangements of the difference of means: the definition, word for word."""
    values = np.asarray(values, dtype=float)
    n, k = len(values), int(np.sum(mask))

    def difference(members):
        inside = np.isin(np.arange(n), members)
        return values[inside].mean() - values[~inside].mean()

    observed = difference(np.flatnonzero(mask))
    null = np.array([difference(members) for members in combinations(range(n), k)])
    slack = 1e-12 * np.abs(values).max()
    if strict:
        return (
            np.mean(null > observed + slack),
            np.mean(null < observed - slack),
            np.mean(np.abs(null) > abs(observed) + slack),
        )
    return (
        np.mean(null >= observed - slack),
        np.mean(null <= observed + slack),
        np.mean(np.abs(null) >= abs(observed) - slack),
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("k", "n"), [(1, 5), (4, 8), (3, 9), (6, 9), (5, 10)])
@pytest.mark.parametrize("tied", [False, True])
def test_exact_p_matches_enumeration(k, n, tied, strict):
    rng = np.random.default_rng(n * 10 + k)
    values = rng.integers(-2, 3, n) / 10 if tied else rng.normal(size=n)
    result = permutation_pvalue(values, first(k, n), ties="strict" if strict else "inclusive")
    assert (result.p_greater, result.p_less, result.p_two_sided) == pytest.approx(
        enumerated(values, first(k, n), strict=strict), abs=1e-12
    )
    assert result.null == "exact"
    assert result.p_low == result.p == result.p_high
    assert result.standard_error == 0.0


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("shift", [-1.5, 0.0, 1.5])
def test_exact_p_matches_scipy(alternative, shift):
    rng = np.random.default_rng(3)
    x, y = rng.normal(shift, 1.0, 6), rng.normal(0.0, 1.0, 6)
    theirs = stats.permutation_test(
        (x, y),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    )
    ours = permutation_pvalue(np.concatenate([x, y]), first(6, 12), alternative=alternative)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12)


@pytest.mark.parametrize("null", NULLS)
def test_a_strong_negative_effect_is_significant_two_sided_and_towards_its_sign(null):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(-2.0, 1.0, 12), rng.normal(2.0, 1.0, 13)])
    result = permutation_pvalue(values, first(12, 25), null=null, alternative="two-sided", rng=0, resamples=2_000)
    assert result.p < 0.01
    assert result.p_less < 0.01
    assert result.p_greater > 0.99
    observed = permutation_pvalue(values, first(12, 25), null=null, alternative="observed", rng=0, resamples=2_000)
    assert observed.p == observed.p_less


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided", "observed"])
def test_every_result_carries_both_tails_bounds_and_smallest_p(null, alternative):
    values = np.random.default_rng(1).normal(size=18)
    result = permutation_pvalue(values, first(7, 18), null=null, alternative=alternative, rng=0, resamples=500)
    assert result.null == null
    assert all(math.isfinite(x) for x in dataclasses.astuple(result) if not isinstance(x, str))
    assert 0.0 <= result.p_low <= result.p <= result.p_high <= 1.0
    assert result.log10_p == pytest.approx(math.log10(result.p))
    assert 0.0 < result.smallest_p <= 1.0
    assert {result.p_greater, result.p_less, result.p_two_sided} >= {result.p}


def test_smallest_p_is_the_share_of_the_extreme_arrangement():
    values = np.arange(16.0)
    top = np.arange(16) >= 8
    result = permutation_pvalue(values, top)
    assert (result.p, result.smallest_p) == pytest.approx((1 / math.comb(16, 8),) * 2)
    assert permutation_pvalue(values, top, alternative="two-sided").smallest_p == pytest.approx(2 / math.comb(16, 8))


def test_smallest_p_counts_ties_of_the_extreme_arrangement():
    values = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, -5.0])
    mask = np.array([True, True, True, True, False, False, False, False])
    result = permutation_pvalue(values, mask)
    assert result.p == pytest.approx(4 / math.comb(8, 4))
    assert result.smallest_p == pytest.approx(result.p)
    assert permutation_pvalue(values, mask, alternative="less").smallest_p == pytest.approx(4 / math.comb(8, 4))


def test_smallest_two_sided_p_takes_the_longer_side_of_unequal_groups():
    values = np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    result = permutation_pvalue(values, first(1, 6), alternative="two-sided")
    assert (result.p, result.smallest_p) == pytest.approx((1 / 6, 1 / 6))


def test_sampled_p_is_never_below_its_resolution():
    values, mask = np.arange(60.0), np.arange(60) >= 30
    result = permutation_pvalue(values, mask, null="monte_carlo", resamples=999, rng=0)
    assert (result.p, result.smallest_p) == pytest.approx((1 / 1000, 1 / 1000))
    without = permutation_pvalue(values, mask, null="monte_carlo", resamples=999, rng=0, plus_one=False)
    assert without.p == 0.0
    assert without.log10_p == pytest.approx(math.log10(1 / 999))
    assert without.p_high > 1 / 999


def test_strict_count_of_the_extreme_arrangement_is_zero_with_a_finite_logarithm():
    result = permutation_pvalue(np.arange(8.0), np.arange(8) >= 4, ties="strict")
    assert result.p == 0.0
    assert result.log10_p == pytest.approx(math.log10(1 / 70))


def test_monte_carlo_agrees_with_exact_within_its_standard_error():
    values = np.random.default_rng(5).normal(size=16)
    exact = permutation_pvalue(values, first(8, 16))
    sampled = permutation_pvalue(values, first(8, 16), null="monte_carlo", rng=1)
    assert abs(sampled.p - exact.p) < 4 * sampled.standard_error
    assert sampled.p_low <= exact.p <= sampled.p_high
    assert sampled.resamples == 100_000


def test_random_arrangements_are_drawn_without_replacement():
    # One value differs: a bootstrap would draw it twice and give sums that no arrangement has.
    values = np.array([1.0, 0.0, 0.0, 0.0])
    result = permutation_pvalue(values, first(2, 4), null="monte_carlo", resamples=4_000, rng=0)
    assert result.p == pytest.approx(0.5, abs=0.04)
    assert result.p_less == 1.0


def test_a_seed_fixes_the_sample_and_global_state_stays_alone():
    values, mask = np.random.default_rng(2).normal(size=30), first(15, 30)
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    one = permutation_pvalue(values, mask, null="monte_carlo", resamples=1_000, rng=4)
    assert one == permutation_pvalue(values, mask, null="monte_carlo", resamples=1_000, rng=4)
    assert one == permutation_pvalue(values, mask, null="monte_carlo", resamples=1_000, rng=np.random.default_rng(4))
    assert one != permutation_pvalue(values, mask, null="monte_carlo", resamples=1_000, rng=5)
    assert (np.random.get_state()[1] == before).all()


def test_normal_p_uses_the_permutation_variance():
    values, k, n = np.random.default_rng(8).normal(size=14), 5, 14
    null = [sum(values[list(members)]) for members in combinations(range(n), k)]
    score = (values[:k].sum() - np.mean(null)) / np.std(null)
    assert permutation_pvalue(values, first(k, n), null="normal").p == pytest.approx(stats.norm.sf(score))


def test_normal_fit_approaches_the_closed_form():
    values = np.random.default_rng(9).normal(size=20) + first(10, 20)
    fitted = permutation_pvalue(values, first(10, 20), null="normal_fit", rng=0)
    closed = permutation_pvalue(values, first(10, 20), null="normal")
    assert abs(fitted.p - closed.p) < 4 * fitted.standard_error
    assert fitted.resamples == 100_000


def test_exact_limit_switches_to_monte_carlo_as_may2019_does():
    values = np.random.default_rng(4).normal(size=20)
    small = permutation_pvalue(values[:16], first(8, 16), exact_limit=100_000)
    large = permutation_pvalue(values, first(10, 20), exact_limit=100_000, rng=0)
    assert (small.null, small.resamples) == ("exact", 0)
    assert (large.null, large.resamples) == ("monte_carlo", 100_000)


def test_rows_of_a_matrix_are_tested_as_if_alone():
    rng = np.random.default_rng(6)
    rows, mask = rng.normal(size=(40, 12)), first(5, 12)
    together = permutation_pvalue(rows, mask, alternative="two-sided")
    alone = [permutation_pvalue(row, mask, alternative="two-sided") for row in rows]
    for field in ("p", "p_low", "p_high", "log10_p", "p_greater", "p_less", "p_two_sided", "smallest_p"):
        assert getattr(together, field) == pytest.approx([getattr(one, field) for one in alone])
        assert getattr(together, field).shape == (40,)


def test_observed_takes_each_rows_own_tail():
    rows = np.array([[3.0, 2.0, 0.0, 1.0], [0.0, 1.0, 3.0, 2.0]])
    result = permutation_pvalue(rows, first(2, 4), alternative="observed")
    assert result.p == pytest.approx([1 / 6, 1 / 6])


def test_shared_masks_serve_many_rows_of_a_sampled_null():
    rows, mask = np.random.default_rng(7).normal(size=(30, 26)), first(13, 26)
    sampled = permutation_pvalue(rows, mask, null="monte_carlo", resamples=20_000, rng=0)
    exact = np.array([permutation_pvalue(row, mask).p for row in rows])
    assert (np.abs(sampled.p - exact) < 4.5 * sampled.standard_error).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=4, max_size=11), st.data())
def test_swapping_groups_swaps_the_tails(values, data):
    k = data.draw(st.integers(1, len(values) - 1))
    if len(set(values)) == 1:
        return
    mask = first(k, len(values))
    one, other = permutation_pvalue(values, mask), permutation_pvalue(values, ~mask)
    assert one.p_greater == pytest.approx(other.p_less)
    assert one.p_less == pytest.approx(other.p_greater)
    assert one.p_two_sided == pytest.approx(other.p_two_sided)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=4, max_size=11), st.integers(0, 999), st.floats(0.01, 100.0))
def test_order_within_groups_scale_and_location_change_nothing(values, seed, scale):
    if len(set(values)) == 1:
        return
    k = len(values) // 2
    mask = first(k, len(values))
    rng = np.random.default_rng(seed)
    shuffled = np.concatenate([rng.permutation(values[:k]), rng.permutation(values[k:])])
    one, other = permutation_pvalue(values, mask), permutation_pvalue(shuffled * scale + 3.0, mask)
    assert (one.p_greater, one.p_less, one.p_two_sided) == (other.p_greater, other.p_less, other.p_two_sided)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=11))
def test_inclusive_and_strict_tails_are_complements(values):
    if len(set(values)) == 1:
        return
    mask = first(len(values) // 2, len(values))
    inclusive, strict = (permutation_pvalue(values, mask, ties=ties) for ties in ("inclusive", "strict"))
    assert inclusive.p_greater + strict.p_less == pytest.approx(1.0)
    assert inclusive.p_less + strict.p_greater == pytest.approx(1.0)


def test_ties_between_floats_count_although_their_sums_round_differently():
    # 0.1 + 0.2 exceeds 0.3 by one unit in the last place.
    values = np.array([0.3, 0.0, 0.1, 0.2, 0.0, 0.0])
    mask = np.array([True, True, False, False, False, False])
    equal_sums = {members for members in combinations(range(6), 2) if abs(values[list(members)].sum() - 0.3) < 1e-9}
    larger = {members for members in combinations(range(6), 2) if values[list(members)].sum() > 0.3 + 1e-9}
    result = permutation_pvalue(values, mask)
    assert result.p == pytest.approx((len(equal_sums) + len(larger)) / 15)


def split_p(n, k, *, splits, seed, **options):
    """P-values of random splits of one set of values: the null hypothesis, exactly."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n)
    rows = rng.permuted(np.tile(values, (splits, 1)), axis=1)
    return permutation_pvalue(rows, first(k, n), **options).p


def binomial_limit(alpha, splits):
    return stats.binom.ppf(0.9999, splits, alpha) / splits


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
@pytest.mark.parametrize(("n", "k"), [(14, 7), (15, 5)])
def test_exact_p_keeps_its_level_over_random_splits(n, k, alternative):
    p = split_p(n, k, splits=10_000, seed=n, alternative=alternative)
    for alpha in (0.05, 0.01, 0.001):
        assert np.mean(p <= alpha) <= binomial_limit(alpha, 10_000)


def test_observed_alternative_shows_twice_its_level():
    p = split_p(14, 7, splits=10_000, seed=1, alternative="observed")
    for alpha in (0.05, 0.01):
        error = math.sqrt(2 * alpha / 10_000)
        assert np.mean(p <= alpha) == pytest.approx(2 * alpha, abs=4 * error)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_saddlepoint_p_keeps_its_level_over_random_splits(alternative):
    p = split_p(50, 25, splits=10_000, seed=2, alternative=alternative, null="saddlepoint")
    for alpha in (0.05, 0.01, 0.001):
        assert np.mean(p <= alpha) <= binomial_limit(alpha, 10_000)


@pytest.mark.parametrize(
    ("values", "mask", "error", "message"),
    [
        ([1.0, 2.0, np.nan], [True, False, False], NotFiniteError, r"values\[2\] holds nan"),
        ([[1.0, 2.0], [np.inf, 2.0]], [True, False], NotFiniteError, r"values\[1\] holds inf at \[0\]"),
        ([1.0, 2.0], [False, False], EmptySetError, "the first group is empty: mask marks 0 of 2"),
        ([1.0, 2.0], [True, True], EmptySetError, "the rest is empty: mask marks 2 of 2"),
        ([], [], EmptySetError, "values is empty"),
        ([2.0, 2.0, 2.0], [True, False, False], ZeroVarianceError, r"same number throughout \(2\)"),
        ([[1.0, 2.0], [3.0, 3.0]], [True, False], ZeroVarianceError, r"values\[1\] holds the same number"),
        ([1.0, 2.0, 3.0], [True, False], ShapeError, r"shape \(2,\), but values has 3"),
        ([1.0, 2.0], [1, 0], ShapeError, "booleans"),
        ([[[1.0, 2.0]]], [True, False], ShapeError, "3 axes"),
    ],
)
def test_bad_input_raises_a_sentence_with_the_culprit(values, mask, error, message):
    with pytest.raises(error, match=message):
        permutation_pvalue(values, np.array(mask, dtype=None if mask else bool))


@pytest.mark.parametrize(
    ("option", "value"),
    [("alternative", "bigger"), ("null", "gaussian"), ("ties", "random"), ("resamples", 0)],
)
def test_unknown_option_is_named_with_the_choices(option, value):
    with pytest.raises(OptionError, match=option):
        permutation_pvalue([1.0, 2.0], np.array([True, False]), **{option: value})


def test_result_is_frozen():
    result = permutation_pvalue([1.0, 2.0], np.array([True, False]))
    assert isinstance(result, PermutationP)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.p = 0.0
