from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.stats.errors import EmptySetError, NotFiniteError, OptionError, ShapeError, ZeroVarianceError
from harness.stats.paired import cluster_means, clustered_permutation_pvalue, sign_flip_pvalue
from harness.stats.permutation import permutation_pvalue

ALTERNATIVES = ("greater", "less", "two-sided")


def enumerated(differences):
    """P(T ≥ t), P(T ≤ t) and P(|T| ≥ |t|) over all sign patterns, one by one."""
    d = np.abs(np.asarray(differences, dtype=float))
    t = math.fsum(differences)
    sums = [math.fsum(np.array(signs) * d) for signs in itertools.product((1, -1), repeat=d.size)]
    tolerance = 1e-12 * d.sum()
    return (
        np.mean([s >= t - tolerance for s in sums]),
        np.mean([s <= t + tolerance for s in sums]),
        np.mean([abs(s) >= abs(t) - tolerance for s in sums]),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5)), min_size=1, max_size=9))
def test_exact_p_equals_enumeration_ties_included(differences):
    d = np.round(differences, 6)
    if not d.any():
        return
    result = sign_flip_pvalue(d)
    assert result.null == "exact"
    assert (result.p_greater, result.p_less, result.p_two_sided) == pytest.approx(enumerated(d), rel=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("shift", [0.5, -0.3])
def test_exact_p_equals_scipy(alternative, shift):
    d = np.random.default_rng(3).standard_normal(10) + shift

    def total(x, axis):
        return x.sum(axis=axis)

    expected = stats.permutation_test(
        (d,), total, permutation_type="samples", alternative=alternative, n_resamples=np.inf, vectorized=True
    )
    assert sign_flip_pvalue(d, alternative=alternative).p == pytest.approx(expected.pvalue)


def test_forty_pairs_are_counted_exactly():
    d = np.random.default_rng(0).standard_normal(40) + 0.4
    result = sign_flip_pvalue(d)
    sampled = sign_flip_pvalue(d, null="monte_carlo", resamples=200_000, rng=1)
    assert result.null == "exact"
    assert result.p * 2**40 == pytest.approx(round(result.p * 2**40), abs=1e-2), "a whole number of sign patterns"
    assert sampled.p_low < result.p < sampled.p_high


def test_all_differences_of_one_sign_give_the_smallest_p():
    for n in (5, 40, 300):
        d = np.random.default_rng(n).uniform(0.1, 1, n)
        result = sign_flip_pvalue(d, alternative="greater")
        assert result.log10_p == pytest.approx(-n * math.log10(2))
        assert result.p == pytest.approx(result.smallest_p)
        assert sign_flip_pvalue(-d, alternative="greater").p == 1.0


def test_equal_sizes_are_the_sign_test_at_any_number_of_pairs():
    d = np.r_[np.full(130, 0.7), np.full(70, -0.7)]
    result = sign_flip_pvalue(d, alternative="greater")
    assert result.null == "exact"
    assert result.p == pytest.approx(stats.binomtest(130, 200, alternative="greater").pvalue)


@pytest.mark.parametrize("shift", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("shape", ["normal", "heavy", "one dominates"])
def test_saddlepoint_is_within_two_per_cent_of_exact(shift, shape):
    rng = np.random.default_rng(8)
    d = rng.standard_normal(38) + shift
    if shape == "heavy":
        d = d**3
    elif shape == "one dominates":
        d[0] = 50.0
    exact, approximate = sign_flip_pvalue(d), sign_flip_pvalue(d, null="saddlepoint")
    assert approximate.null == "saddlepoint"
    assert approximate.p == pytest.approx(exact.p, rel=0.02)
    assert approximate.p_greater == pytest.approx(exact.p_greater, rel=0.02)
    assert approximate.p_less == pytest.approx(exact.p_less, rel=0.02)


def test_saddlepoint_of_few_values_is_enumeration():
    d = [3.0, -1.0, 0.5]
    assert sign_flip_pvalue(d, null="saddlepoint").p == pytest.approx(sign_flip_pvalue(d).p)


def test_two_thousand_pairs_get_a_finite_logarithm_by_a_stated_method():
    d = np.random.default_rng(2).standard_normal(2_048) + 1.5
    result = sign_flip_pvalue(d)
    assert result.null == "saddlepoint"
    assert result.p == 0.0
    assert -2_048 * math.log10(2) <= result.log10_p < -350


def test_saddlepoint_and_monte_carlo_agree_on_two_thousand_pairs():
    d = np.random.default_rng(2).standard_normal(2_048) + 0.04
    sampled = sign_flip_pvalue(d, null="monte_carlo", resamples=20_000, rng=0)
    assert sampled.null == "monte_carlo" and sampled.resamples == 20_000
    assert sampled.p_low < sign_flip_pvalue(d).p < sampled.p_high
    assert sampled.standard_error == pytest.approx(math.sqrt(sampled.p * (1 - sampled.p) / 20_000))


def test_normal_null_has_the_variance_of_the_sum():
    d = np.random.default_rng(2).standard_normal(30) + 0.2
    expected = stats.norm.sf(d.sum() / np.sqrt((d**2).sum()))
    assert sign_flip_pvalue(d, null="normal", alternative="greater").p == pytest.approx(expected)


def test_monte_carlo_is_seeded_and_never_zero():
    d = np.full(50, 1.0) + 0.01 * np.arange(50)
    one, two = (sign_flip_pvalue(d, null="monte_carlo", resamples=99, rng=5) for _ in range(2))
    assert one == two
    assert (one.p, one.smallest_p) == pytest.approx((0.01, 0.01))
    assert one.p_low == 0.0 and one.p_high > 0.01


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3))
def test_scale_changes_nothing_and_the_sign_swaps_the_tails(seed, scale):
    d = np.random.default_rng(seed).standard_normal(12) + 0.3
    result, scaled, mirrored = sign_flip_pvalue(d), sign_flip_pvalue(scale * d), sign_flip_pvalue(-d)
    assert scaled.p == pytest.approx(result.p)
    assert (mirrored.p_greater, mirrored.p_less) == pytest.approx((result.p_less, result.p_greater))
    assert mirrored.p_two_sided == pytest.approx(result.p_two_sided)


def test_pairs_without_a_difference_change_nothing_but_the_mean():
    d = np.random.default_rng(0).standard_normal(10) + 0.5
    with_zeros = sign_flip_pvalue(np.r_[d, np.zeros(30)])
    assert with_zeros.p == pytest.approx(sign_flip_pvalue(d).p)
    assert with_zeros.n == 40 and with_zeros.mean_difference == pytest.approx(d.sum() / 40)


def test_observed_takes_the_tail_of_the_sign():
    d = np.random.default_rng(0).standard_normal(10) - 0.5
    result = sign_flip_pvalue(d, alternative="observed")
    assert result.p == result.p_less < 0.5


def test_two_sided_p_is_calibrated():
    rng = np.random.default_rng(11)
    p = np.array([sign_flip_pvalue(rng.standard_normal(9)).p for _ in range(2_000)])
    assert (p <= 0.05).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)
    assert (p <= 0.05).mean() >= 0.05 - 2 / 2**9 - 3 * math.sqrt(0.05 * 0.95 / 2_000)


def test_zero_differences_nan_and_empty_input_are_named():
    with pytest.raises(ZeroVarianceError, match="All 3 differences are zero"):
        sign_flip_pvalue([0.0, 0.0, 0.0])
    with pytest.raises(NotFiniteError, match=r"differences\[1\] holds nan"):
        sign_flip_pvalue([0.1, np.nan])
    with pytest.raises(EmptySetError, match="differences is empty"):
        sign_flip_pvalue([])
    with pytest.raises(ShapeError, match="differences has 2 axes"):
        sign_flip_pvalue([[0.1, 0.2]])


def test_unknown_options_are_refused():
    with pytest.raises(OptionError, match="null='normal_fit'"):
        sign_flip_pvalue([0.1], null="normal_fit")
    with pytest.raises(OptionError, match="alternative"):
        sign_flip_pvalue([0.1], alternative="both")
    with pytest.raises(OptionError, match="resamples=0"):
        sign_flip_pvalue([0.1], null="monte_carlo", resamples=0)


def test_cluster_means_keep_the_order_of_first_appearance():
    result = cluster_means([1.0, 10.0, 3.0, 20.0, 5.0], ["rose", "ant", "rose", "ant", "wasp"])
    assert result.labels == ["rose", "ant", "wasp"]
    assert result.means.tolist() == [2.0, 15.0, 5.0]
    assert result.sizes.tolist() == [2, 2, 1]


def test_cluster_means_of_a_matrix_are_those_of_its_rows():
    rng = np.random.default_rng(0)
    values, clusters = rng.standard_normal((4, 50)), rng.integers(0, 7, 50)
    rows = [cluster_means(row, clusters).means for row in values]
    np.testing.assert_allclose(cluster_means(values, clusters).means, rows)


def sentences(seed, words=8, items=30, word_spread=1.0):
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(2 * words), items)
    values = np.repeat(word_spread * rng.standard_normal(2 * words), items) + 0.1 * rng.standard_normal(clusters.size)
    return values, clusters, clusters < words


def test_permuting_stimuli_equals_permuting_their_means():
    values, clusters, mask = sentences(0)
    means = values.reshape(16, 30).mean(axis=1)
    expected = permutation_pvalue(means, np.arange(16) < 8, alternative="two-sided")
    assert clustered_permutation_pvalue(values, clusters, mask, alternative="two-sided").p == expected.p


def test_the_number_of_sentences_of_a_word_does_not_decide():
    values, clusters, mask = sentences(1)
    twice = np.concatenate([values, values[clusters == 3]])
    result = clustered_permutation_pvalue(
        twice, np.concatenate([clusters, np.full(30, 3)]), np.concatenate([mask, np.full(30, True)])
    )
    assert result.p == clustered_permutation_pvalue(values, clusters, mask).p


def test_stimuli_are_calibrated_where_items_are_not():
    clustered, items = [], []
    for seed in range(150):
        values, clusters, mask = sentences(seed, words=5, items=10)
        clustered.append(clustered_permutation_pvalue(values, clusters, mask).p)
        items.append(permutation_pvalue(values, mask, null="normal").p)
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)
    assert np.mean(np.array(clustered) <= 0.05) <= limit
    assert np.mean(np.array(items) <= 0.05) > 2 * limit


def test_a_stimulus_in_both_groups_is_named():
    with pytest.raises(ShapeError, match="'ant' are in both groups"):
        clustered_permutation_pvalue([1.0, 2.0, 3.0], ["rose", "ant", "ant"], [True, True, False])


def test_bad_clusters_are_refused():
    with pytest.raises(ShapeError, match="give one each"):
        cluster_means([1.0, 2.0], ["rose"])
    with pytest.raises(ShapeError, match="one boolean an item"):
        clustered_permutation_pvalue([1.0, 2.0], ["rose", "ant"], [1, 0])
    with pytest.raises(EmptySetError, match="All items belong to 'rose'"):
        clustered_permutation_pvalue([1.0, 2.0], ["rose", "rose"], [True, True])
    with pytest.raises(NotFiniteError, match=r"values\[0\]"):
        cluster_means([np.nan, 2.0], ["rose", "ant"])
    with pytest.raises(EmptySetError, match="values is empty"):
        cluster_means([], [])
    with pytest.raises(ZeroVarianceError, match="same number throughout"):
        clustered_permutation_pvalue([1.0, 1.0], ["rose", "ant"], [True, False])
