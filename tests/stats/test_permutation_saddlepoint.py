import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from harness.stats import permutation_pvalue
from harness.stats._tails import log_arrangements


def first(k, n):
    return np.arange(n) < k


@pytest.mark.parametrize(("n", "k", "error"), [(26, 13, 0.02), (50, 25, 0.01), (64, 20, 0.01), (128, 64, 0.005)])
@pytest.mark.parametrize("score", [-2.5, -1.0, 0.0, 0.5, 1.7, 3.0])
def test_saddlepoint_is_near_the_certified_p(n, k, error, score):
    rng = np.random.default_rng(n)
    mask = first(k, n)
    values = rng.normal(size=n)
    values += mask * (score * values.std() * math.sqrt(n / (k * (n - k))) - values[mask].mean() + values[~mask].mean())
    exact, approximate = (permutation_pvalue(values, mask, null=null) for null in ("exact", "saddlepoint"))
    assert (exact.null, approximate.null) == ("exact", "saddlepoint")
    for tail in ("p_greater", "p_less", "p_two_sided"):
        assert getattr(approximate, tail) == pytest.approx(getattr(exact, tail), rel=error)


def test_saddlepoint_is_right_far_out_where_the_normal_is_not():
    rng = np.random.default_rng(1)
    mask = first(64, 128)
    values = rng.normal(size=128) + 2.5 * mask
    exact = permutation_pvalue(values, mask)
    assert exact.p < 1e-20
    assert permutation_pvalue(values, mask, null="saddlepoint").p == pytest.approx(exact.p, rel=0.01)
    assert permutation_pvalue(values, mask, null="normal").p > 100 * exact.p


@pytest.mark.parametrize(
    ("n", "k", "ones", "inside"),
    [(4096, 2048, 1000, 500), (4096, 2048, 1000, 540), (4096, 2048, 1500, 1200), (3000, 1000, 60, 35)],
)
def test_zeros_and_ones_by_the_thousand_give_the_hypergeometric_tail(n, k, ones, inside):
    values = np.zeros(n)
    values[:inside] = 1.0
    values[k : k + ones - inside] = 1.0
    result = permutation_pvalue(values, first(k, n), null="saddlepoint")
    expected = stats.hypergeom.logsf(inside - 1, n, ones, k) / math.log(10)
    assert result.log10_p == pytest.approx(expected, abs=0.004)
    assert result.p_less == pytest.approx(stats.hypergeom.cdf(inside, n, ones, k), rel=0.01)
    strict = permutation_pvalue(values, first(k, n), null="saddlepoint", ties="strict")
    assert strict.log10_p == pytest.approx(stats.hypergeom.logsf(inside, n, ones, k) / math.log(10), abs=0.004)


@pytest.mark.parametrize("size", [2048, 25_000])
def test_exact_on_thousands_of_values_says_that_it_is_a_saddlepoint(size):
    rng = np.random.default_rng(size)
    mask = first(size, 2 * size)
    result = permutation_pvalue(rng.normal(size=2 * size) + 0.02 * mask, mask, alternative="two-sided")
    assert result.null == "saddlepoint"
    assert 0.0 < result.p < 1.0


def test_thousands_of_values_agree_with_the_normal_near_the_centre():
    rng = np.random.default_rng(2)
    mask = first(2048, 4096)
    values = rng.normal(size=4096) + 0.05 * mask
    near = permutation_pvalue(values, mask, alternative="two-sided")
    assert near.p == pytest.approx(permutation_pvalue(values, mask, alternative="two-sided", null="normal").p, rel=0.01)


def test_logarithm_is_finite_where_p_underflows():
    rng = np.random.default_rng(3)
    mask = first(2048, 4096)
    result = permutation_pvalue(rng.normal(size=4096) + 3.0 * mask, mask)
    assert result.p == 0.0
    assert -log_arrangements(4096, 2048) / math.log(10) < result.log10_p < -700
    strong = permutation_pvalue(rng.normal(size=4096) + 100.0 * mask, mask)
    assert strong.log10_p == pytest.approx(-log_arrangements(4096, 2048) / math.log(10))


def test_logarithm_falls_as_the_effect_grows_up_to_the_extreme_arrangement():
    values = np.sort(np.random.default_rng(4).normal(size=1200))[::-1]
    mask = first(600, 1200)
    logs = []
    for moved in (300, 200, 100, 30, 10, 3, 1, 0):
        shuffled = values.copy()
        shuffled[:moved], shuffled[600 : 600 + moved] = values[600 : 600 + moved], values[:moved]
        logs.append(permutation_pvalue(shuffled, mask).log10_p)
    assert all(later < earlier for earlier, later in pairwise(logs))
    assert logs[-1] == pytest.approx(-log_arrangements(1200, 600) / math.log(10))


def test_rows_of_a_matrix_are_approximated_as_if_alone():
    rows = np.random.default_rng(5).normal(size=(20, 60))
    mask = first(25, 60)
    together = permutation_pvalue(rows, mask, alternative="two-sided")
    assert together.null == "saddlepoint"
    alone = [permutation_pvalue(row, mask, alternative="two-sided", null="saddlepoint").p for row in rows]
    assert together.p == pytest.approx(alone, rel=1e-9)


def test_p_crosses_the_centre_without_a_jump():
    base = np.random.default_rng(6).exponential(size=400)
    mask = first(150, 400)
    base = base - mask * (base[mask].mean() - base[~mask].mean())
    rows = base + mask * np.linspace(-0.01, 0.01, 81)[:, np.newaxis]
    result = permutation_pvalue(rows, mask, null="saddlepoint")
    steps = np.diff(result.p_greater)
    assert (steps < 0).all()
    assert steps.min() > 1.05 * steps.max()
    assert result.p_greater + result.p_less == pytest.approx(1.0)
