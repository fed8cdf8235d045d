import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from harness.stats import (
    EmptySetError,
    NotFiniteError,
    OptionError,
    ShapeError,
    StatsError,
    ZeroVarianceError,
    ZeroVectorError,
    associations,
    bca_interval,
    cohens_d,
    cosine_matrix,
    level2_d,
    sc_weat_d,
    similarities,
    unit,
    weat_d,
)

DIM = 6


def four_sets(seed, sizes=(5, 7, 4, 6)):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(size, DIM)) for size in sizes]


def loop_association(w, A, B):
    return np.mean([1 - cosine(w, a) for a in A]) - np.mean([1 - cosine(w, b) for b in B])


def test_associations_equal_the_loop_over_pairs():
    W, _, A, B = four_sets(0)
    assert associations(W, A, B) == pytest.approx([loop_association(w, A, B) for w in W], abs=1e-14)


def test_similarities_equal_the_loop_over_pairs():
    T, _, A, _ = four_sets(1)
    assert similarities(T, A) == pytest.approx([np.mean([1 - cosine(t, a) for t in T]) for a in A], abs=1e-14)


def test_cosine_matrix_equals_the_loop_over_pairs():
    P, Q, _, _ = four_sets(2)
    assert cosine_matrix(P, Q) == pytest.approx(np.array([[1 - cosine(p, q) for q in Q] for p in P]), abs=1e-14)


@pytest.mark.parametrize("ddof", [0, 1])
def test_cohens_d_divides_by_the_std_of_the_union(ddof):
    x, y = [1.0, 2.0, 4.0], [0.0, -1.0]
    assert cohens_d(x, y, ddof=ddof) == pytest.approx((7 / 3 + 0.5) / np.std([1, 2, 4, 0, -1], ddof=ddof))


def test_epsilon_is_added_to_the_std():
    x, y = [1.0, 3.0], [0.0, 2.0]
    assert cohens_d(x, y, epsilon=0.5) == pytest.approx(1.0 / (np.std([1, 3, 0, 2], ddof=1) + 0.5))


@pytest.mark.parametrize("ddof", [0, 1])
def test_weat_d_is_cohens_d_of_the_associations(ddof):
    X, Y, A, B = four_sets(3)
    expected = cohens_d(associations(X, A, B), associations(Y, A, B), ddof=ddof)
    assert weat_d(X, Y, A, B, ddof=ddof) == pytest.approx(expected)


def test_level2_d_compares_similarities_of_both_attribute_sets():
    T, _, A, B = four_sets(4)
    assert level2_d(T, A, B) == pytest.approx(cohens_d(similarities(T, A), similarities(T, B)))


def test_sc_weat_d_of_all_words_equals_level2_of_each_word_alone():
    W, _, A, B = four_sets(5)
    assert sc_weat_d(W, A, B) == pytest.approx([level2_d(w, A, B) for w in W])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_swapping_targets_or_attributes_flips_the_sign(seed):
    X, Y, A, B = four_sets(seed)
    d = weat_d(X, Y, A, B)
    assert weat_d(Y, X, A, B) == pytest.approx(-d)
    assert weat_d(X, Y, B, A) == pytest.approx(-d)
    assert level2_d(X, B, A) == pytest.approx(-level2_d(X, A, B))
    assert sc_weat_d(X, B, A) == pytest.approx(-sc_weat_d(X, A, B))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
def test_order_within_a_set_and_length_of_a_vector_change_nothing(seed, factor):
    X, Y, A, B = four_sets(seed)
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.1, 10.0, size=(len(A), 1)) * factor
    assert weat_d(rng.permutation(X), Y * factor, rng.permutation(A * lengths), B) == pytest.approx(weat_d(X, Y, A, B))


def test_effect_size_lies_between_minus_two_and_two_for_equal_sizes():
    x, y = np.ones(8), -np.ones(8)
    assert cohens_d(x, y, ddof=0) == pytest.approx(2.0)
    assert cohens_d(x, y, ddof=1) == pytest.approx(2.0 * math.sqrt(15 / 16))


def test_unit_survives_tiny_and_huge_entries():
    rows = unit(np.array([[3e-200, 4e-200], [3e200, 4e200]]))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8]]))


def test_unit_is_double_precision_whatever_comes_in():
    assert unit(np.ones((2, 3), dtype=np.float16)).dtype == np.float64


def test_zero_vector_is_named_by_its_word():
    with pytest.raises(ZeroVectorError, match=r"X\[1\] \('lily'\)"):
        unit([[1.0, 2.0], [0.0, 0.0]], name="X", labels=["rose", "lily"])


def test_nan_is_named_by_its_set_and_index():
    with pytest.raises(NotFiniteError, match=r"A\[2\] holds nan"):
        weat_d(np.eye(3), np.eye(3)[::-1], [[1, 0, 0], [0, 1, 0], [0, np.nan, 1]], np.eye(3))


def test_empty_set_is_named():
    with pytest.raises(EmptySetError, match="B is empty"):
        associations(np.eye(2), np.eye(2), np.zeros((0, 2)))


def test_sets_of_different_spaces_are_refused():
    with pytest.raises(ShapeError, match="A has 3"):
        associations(np.eye(2), np.eye(3), np.eye(2))


def test_labels_of_another_length_are_refused():
    with pytest.raises(ShapeError, match="2 rows but 1 labels"):
        unit(np.eye(2), labels=["one"])


def test_ragged_rows_are_refused():
    with pytest.raises(ShapeError, match="rectangular"):
        unit([[1.0, 2.0], [1.0]])


def test_equal_values_have_no_effect_size():
    with pytest.raises(ZeroVarianceError, match=r"All 5 values of x and y are equal \(0\.3\)"):
        cohens_d([0.3, 0.3, 0.1 + 0.2], [0.3, 0.3])
    assert cohens_d([0.3, 0.3], [0.3], epsilon=1e-8) == pytest.approx(0.0, abs=1e-6)


def test_word_with_constant_cosines_is_named():
    A, B = [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]
    with pytest.raises(ZeroVarianceError, match=r"W\[1\] \('same'\)"):
        sc_weat_d([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], A, B, labels=["fine", "same"])


def test_too_few_values_for_the_ddof():
    with pytest.raises(EmptySetError, match="ddof=2"):
        cohens_d([1.0], [2.0], ddof=2)
    with pytest.raises(OptionError, match="must not be negative"):
        cohens_d([1.0], [2.0], ddof=-1)


def test_every_error_is_a_stats_error_and_a_value_error():
    for error in (EmptySetError, NotFiniteError, OptionError, ShapeError, ZeroVarianceError, ZeroVectorError):
        assert issubclass(error, StatsError)
        assert issubclass(error, ValueError)


def test_bca_interval_is_seeded_and_brackets_the_estimate():
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.5, 1.0, 25), rng.normal(0.0, 1.0, 25)
    interval = bca_interval(x, y, rng=7)
    assert interval == bca_interval(x, y, rng=7)
    assert interval != bca_interval(x, y, rng=8)
    assert interval.method == "BCa"
    assert interval.low < cohens_d(x, y) < interval.high


def test_bca_interval_covers_the_true_effect_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    # The std of the union of two normals one apart is √(1 + 1/4).
    truth = 1.0 / math.sqrt(1.25)
    covered = 0
    for _ in range(200):
        interval = bca_interval(rng.normal(1, 1, 25), rng.normal(0, 1, 25), resamples=500, rng=rng, confidence=0.9)
        covered += interval.low <= truth <= interval.high
    assert 0.82 <= covered / 200 <= 0.96


def test_interval_without_bca_falls_back_to_percentiles_and_says_so():
    interval = bca_interval([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], rng=0, resamples=200)
    assert interval.method == "percentile"
    assert math.isfinite(interval.low)
    assert math.isfinite(interval.high)


def test_interval_of_tiny_sets_leaves_out_resamples_without_an_effect():
    interval = bca_interval([0.1, 0.2], [0.2, 0.3], rng=0, resamples=999)
    assert math.isfinite(interval.low)
    assert math.isfinite(interval.high)
    assert interval.resamples < 999


def test_interval_refuses_a_single_value_and_a_senseless_confidence():
    with pytest.raises(EmptySetError, match="at least two"):
        bca_interval([1.0], [2.0, 3.0])
    with pytest.raises(OptionError, match="confidence"):
        bca_interval([1.0, 2.0], [2.0, 3.0], confidence=95)
    with pytest.raises(OptionError, match="resamples"):
        bca_interval([1.0, 2.0], [2.0, 3.0], resamples=1)
