import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.stats import _certified, _enumerate, permutation_pvalue
from harness.stats._certified import certified_tails, lattice_step
from harness.stats._grid import Deficits, count_on_grid
from harness.stats._half_lists import count_pairs, group_equal, subset_sums
from harness.stats._tails import TIE_TOLERANCE, Problem

METHODS = {
    "lists": {},
    "meet": {"LIST_LENGTH": 0, "MEET_LENGTH": 0},
    "grid": {"LIST_LENGTH": 0, "MEET_LENGTH": 0, "MEET_SIZE": 0, "WIDEST": math.inf},
}
CASES = {"lists": 300, "meet": 300, "grid": 1_000}


def first(k, n):
    return np.arange(n) < k


def problem_of(values, k, *, strict=False):
    z = values - values.mean()
    tolerance = TIE_TOLERANCE * np.abs(values).sum()
    return Problem(z[np.newaxis], k, np.array([z[:k].sum()]), np.array([tolerance]), strict)


def random_values(rng, n):
    """Normal, skewed, tied, on a lattice of tenths, or with two values that stand apart."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return rng.exponential(size=n) ** 2
    if kind == 2:
        return rng.choice(rng.normal(size=4), size=n)
    if kind == 3:
        return rng.integers(-9, 10, size=n) / 10
    return np.concatenate([rng.normal(size=n - 2), [50.0, -30.0]])


def sorted_towards(rng, values, strength):
    """Order values so that the first ones tend to be large: from no effect to the largest one."""
    return values[np.argsort(-(strength * values + rng.gumbel(size=values.size)))]


@pytest.mark.parametrize("method", METHODS)
def test_the_bracket_contains_the_enumerated_p_in_random_cases(method, monkeypatch):
    for name, value in METHODS[method].items():
        monkeypatch.setattr(_certified, name, value)
    rng = np.random.default_rng(list(METHODS).index(method))
    checked = 0
    while checked < CASES[method]:
        n = int(rng.integers(4, 15))
        k = int(rng.integers(1, n))
        values = sorted_towards(rng, random_values(rng, n), rng.uniform(-2, 2))
        if np.ptp(values) == 0:
            continue
        problem = problem_of(values, k, strict=bool(rng.integers(2)))
        truth, ours = _enumerate.enumerated_tails(problem), certified_tails(problem)
        for tail in ("greater", "less", "two_sided"):
            exact, bracket = getattr(truth, tail).p[0], getattr(ours, tail)
            assert bracket.low[0] <= exact * (1 + 1e-12) + 1e-15
            assert bracket.high[0] >= exact * (1 - 1e-12) - 1e-15
            assert bracket.low[0] <= bracket.p[0] <= bracket.high[0]
            if method != "grid":
                assert bracket.p[0] == pytest.approx(exact, rel=1e-12)
        checked += 1


@pytest.mark.parametrize("step", [0.5, 0.1, 0.01, 0.003])
def test_a_grid_of_any_step_bounds_the_count(step):
    rng = np.random.default_rng(5)
    for _ in range(50):
        values = np.sort(random_values(rng, 12))[::-1]
        if np.ptp(values) == 0:
            continue
        values = values / np.ptp(values)
        deficits = Deficits(removed=(values[:6] - values[5])[::-1], added=values[5] - values[6:])
        sums = np.array([values[list(members)].sum() for members in _subsets(12, 6)])
        loss = sums.max() - sums
        budget = float(rng.choice(loss))
        bounds = count_on_grid(deficits, budgets=[budget], step=step, rounding=1e-12).counts[0]
        assert bounds.low <= np.count_nonzero(loss < budget - 2e-12) + np.count_nonzero(np.abs(loss - budget) <= 2e-12)
        assert bounds.high * (1 + 1e-12) >= np.count_nonzero(loss <= budget - 2e-12)
        assert bounds.low <= bounds.middle <= bounds.high


def _subsets(n, k):
    return [np.flatnonzero(column) for column in _enumerate.subset_masks(n, k).T]


@pytest.mark.parametrize(("n", "k"), [(17, 8), (18, 9), (20, 10), (20, 6), (20, 14)])
def test_public_p_beyond_enumeration_equals_a_count_of_all_sums(n, k):
    values = np.random.default_rng(n + k).normal(size=n) + 0.5 * first(k, n)
    z = values - values.mean()
    bits = np.arange(2**n)
    members = np.array([(bits >> i) & 1 for i in range(n)], dtype=bool)
    sums = (z @ members)[members.sum(axis=0) == k]
    observed = z[:k].sum()
    result = permutation_pvalue(values, first(k, n))
    assert result.null == "exact"
    assert result.p_greater == pytest.approx(np.mean(sums >= observed - 1e-12), rel=1e-12)
    assert result.p_less == pytest.approx(np.mean(sums <= observed + 1e-12), rel=1e-12)
    assert result.p_two_sided == pytest.approx(np.mean(np.abs(sums) >= abs(observed) - 1e-12), rel=1e-12)


@pytest.mark.parametrize(("n", "k"), [(30, 15), (40, 20), (40, 12)])
def test_lists_meet_and_grid_agree_on_forty_values(n, k, monkeypatch):
    values = np.random.default_rng(n).normal(size=n) + 0.6 * first(k, n)
    answers = {}
    for method, settings_of_method in METHODS.items():
        with monkeypatch.context() as patch:
            for name, value in settings_of_method.items():
                patch.setattr(_certified, name, value)
            answers[method] = permutation_pvalue(values, first(k, n), alternative="two-sided")
    assert answers["lists"].p == pytest.approx(answers["meet"].p, rel=1e-12)
    assert answers["grid"].p_low <= answers["lists"].p <= answers["grid"].p_high
    assert answers["grid"].p_high / answers["grid"].p_low < 1.01


@pytest.mark.parametrize("size", [25, 32, 64])
@pytest.mark.parametrize("effect", [0.0, 0.4, 0.8, 1.2, 2.0])
def test_the_bracket_is_within_one_per_cent(size, effect):
    rng = np.random.default_rng(size)
    mask = first(size, 2 * size)
    result = permutation_pvalue(rng.normal(size=2 * size) + effect * mask, mask)
    assert result.null == "exact"
    assert result.p_high - result.p_low <= 0.01 * result.p
    assert result.p_low <= result.p <= result.p_high


def test_the_bracket_of_tiny_p_contains_an_independent_count_of_the_best_arrangements():
    # All but a few arrangements lose more than the observed one; they are found by brute force over few exchanges.
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(6.0, 1.0, 32), rng.normal(0.0, 1.0, 32)])
    values[[0, 40]] = values[[40, 0]]
    ranked = np.sort(values)[::-1]
    loss = ranked[:32].sum() - values[:32].sum()
    single = np.subtract.outer(ranked[:32], ranked[32:])
    pairs = list(combinations(range(32), 2))
    double = sum(np.count_nonzero([single[i, a] + single[j, b] <= loss + 1e-9 for a, b in pairs]) for i, j in pairs)
    expected = (1 + np.count_nonzero(single <= loss + 1e-9) + double) / math.comb(64, 32)
    triple = ranked[29:32].sum() - ranked[32:35].sum()
    assert triple > loss
    assert permutation_pvalue(values, first(32, 64)).p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "k", "ones", "inside"), [(60, 30, 20, 14), (128, 64, 50, 35), (200, 50, 90, 40)])
def test_zeros_and_ones_give_the_hypergeometric_tail(n, k, ones, inside):
    values = np.zeros(n)
    values[:inside] = 1.0
    values[k : k + ones - inside] = 1.0
    result = permutation_pvalue(values, first(k, n))
    assert result.null == "exact"
    assert result.p == pytest.approx(stats.hypergeom.sf(inside - 1, n, ones, k), rel=1e-9)
    assert result.p_less == pytest.approx(stats.hypergeom.cdf(inside, n, ones, k), rel=1e-9)
    assert result.p_high == pytest.approx(result.p_low, rel=1e-9)


def test_ranks_give_the_distribution_of_wilcoxon():
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.4, 1.0, 30), rng.normal(size=34)
    ranks = stats.rankdata(np.concatenate([x, y]))
    theirs = stats.mannwhitneyu(x, y, alternative="greater", method="exact").pvalue
    ours = permutation_pvalue(ranks, first(30, 64))
    assert ours.p == pytest.approx(theirs, rel=1e-9)
    assert ours.p_high == pytest.approx(ours.p_low, rel=1e-9)


def test_values_on_a_shifted_and_scaled_lattice_stay_exact():
    rng = np.random.default_rng(4)
    whole = rng.integers(0, 30, size=100).astype(float)
    tenths = whole * 0.1 + 7.3
    one, other = (permutation_pvalue(values, first(50, 100)) for values in (whole, tenths))
    assert one.p == pytest.approx(other.p, rel=1e-9)
    assert other.p_high == pytest.approx(other.p_low, rel=1e-9)


def test_lattice_step_is_found_and_not_imagined():
    assert lattice_step(np.array([0.0, 0.3, 0.9, 1.5]), tolerance=1e-12) == pytest.approx(0.3)
    assert lattice_step(np.array([6.0, 10.0, 15.0]), tolerance=1e-12) == pytest.approx(1.0)
    assert lattice_step(np.random.default_rng(0).normal(size=30), tolerance=1e-12) is None
    assert lattice_step(np.array([1.0, math.sqrt(2.0)]), tolerance=1e-12) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_count_pairs_counts_what_two_loops_count(left, right):
    sizes = min(len(left), len(right))
    budget = 12.0
    lists = [
        subset_sums(group_equal(np.array(side, dtype=float), tolerance=1e-9), budgets=np.full(sizes + 1, np.inf))
        for side in (left, right)
    ]
    expected = sum(
        sum(a) + sum(b) <= budget
        for size in range(sizes + 1)
        for a in combinations(left, size)
        for b in combinations(right, size)
    )
    assert count_pairs(zip(*lists, strict=True), budget=budget) == expected


def test_unequal_groups_far_beyond_enumeration_are_certified():
    rng = np.random.default_rng(6)
    mask = first(20, 300)
    result = permutation_pvalue(rng.normal(size=300) - 0.9 * mask, mask, alternative="two-sided")
    assert result.null == "exact"
    assert result.p_high / result.p_low < 1.01


def test_an_unreachable_opposite_tail_counts_nothing():
    values = np.concatenate([np.full(3, 9.0) + np.arange(3), np.random.default_rng(0).normal(size=47)])
    result = permutation_pvalue(values, first(3, 50), alternative="two-sided")
    assert result.p == result.p_greater == pytest.approx(1 / math.comb(50, 3))


def test_values_of_incommensurable_size_are_sampled_and_the_result_says_so():
    values = np.random.default_rng(7).normal(size=50)
    values[[0, -1]] = 1e6, 1.1e6
    result = permutation_pvalue(values, first(25, 50), rng=0)
    assert (result.null, result.resamples) == ("monte_carlo", 100_000)
    assert result.p_low < result.p < result.p_high


def test_thousands_of_values_that_one_dominates_are_sampled():
    values = np.random.default_rng(8).normal(size=2_000)
    assert permutation_pvalue(values, first(900, 2_000)).null == "saddlepoint"
    values[0] = 60.0
    result = permutation_pvalue(values, first(900, 2_000), rng=0, resamples=2_000)
    assert result.null == "monte_carlo"
    assert permutation_pvalue(values, first(900, 2_000), null="saddlepoint").null == "saddlepoint"


@pytest.mark.parametrize("outlier", [20.0, 1_000.0])
def test_outliers_are_certified(outlier):
    values = np.random.default_rng(9).normal(size=64)
    values[[0, -1]] = outlier, 1.1 * outlier
    mask = first(32, 64)
    certified = permutation_pvalue(values, mask)
    sampled = permutation_pvalue(values, mask, null="monte_carlo", rng=0)
    assert certified.null == "exact"
    assert sampled.p_low <= certified.p <= sampled.p_high
    assert certified.p_high / certified.p_low < 1.01
