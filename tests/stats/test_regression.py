from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.stats.correlation_difference import correlation_difference
from harness.stats.errors import EmptySetError, NotFiniteError, OptionError, ShapeError, ZeroVarianceError
from harness.stats.regression import least_squares, leave_one_out, pearson, spearman


def cloud(seed: int, n: int = 30, rho: float = 0.6):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.standard_normal(n)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_pearson_equals_scipy(alternative):
    for seed in range(10):
        x, y = cloud(seed, rho=0.6 - 0.2 * seed / 3)
        expected = stats.pearsonr(x, y, alternative=alternative)
        result = pearson(x, y, alternative=alternative)
        assert (result.r, result.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
        low, high = stats.pearsonr(x, y).confidence_interval(0.95)
        assert (result.ci_low, result.ci_high) == pytest.approx((low, high), rel=1e-9)
        assert result.log10_p == pytest.approx(math.log10(expected.pvalue))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_spearman_equals_scipy_with_ties(alternative):
    for seed in range(10):
        x, y = cloud(seed)
        x = np.round(x, 1)
        expected = stats.spearmanr(x, y, alternative=alternative)
        result = spearman(x, y, alternative=alternative)
        assert (result.r, result.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)


@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_intervals_cover_the_true_correlation_as_often_as_they_say(correlate):
    rng = np.random.default_rng(0)
    rho = 0.7
    truth = rho if correlate is pearson else 6 / math.pi * math.asin(rho / 2)
    hits = 0
    for _ in range(1_000):
        x = rng.standard_normal(40)
        y = rho * x + math.sqrt(1 - rho**2) * rng.standard_normal(40)
        result = correlate(x, y)
        hits += result.ci_low <= truth <= result.ci_high
    assert 0.93 <= hits / 1_000 <= 0.97


def test_spearman_interval_is_bonett_and_wrights():
    x, y = cloud(1)
    result = spearman(x, y)
    half = stats.norm.isf(0.025) * math.sqrt((1 + result.r**2 / 2) / (30 - 3))
    assert result.ci_high == pytest.approx(math.tanh(math.atanh(result.r) + half))


def test_log10_p_stays_finite_where_p_underflows():
    x, y = cloud(0, n=5_000, rho=0.9)
    result = pearson(x, y)
    assert result.p == 0.0
    r = result.r
    # I_x(a, 1/2) for small x is x^a / (a B(a, 1/2)) times a series between 1 and 1/(1 − x).
    a = (5_000 - 2) / 2
    leading = (
        a * math.log(1 - r**2)
        + math.log(abs(r))
        - math.log(a)
        - (math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5))
    )
    assert leading <= result.log10_p * math.log(10) <= leading - math.log(r**2)


def test_the_two_forms_of_the_tail_agree_where_both_are_defined():
    from harness.stats.regression import _log_far_tail

    for r, n in ((0.3, 50), (0.9, 100), (0.99, 60), (0.5, 1_500)):
        t = r * math.sqrt((n - 2) / (1 - r**2))
        assert _log_far_tail(r, n) == pytest.approx(stats.t.logsf(t, n - 2), rel=1e-9)


def test_an_exact_line_has_correlation_one_and_no_residual():
    x = np.arange(10.0)
    result, fit = pearson(x, 3 - 2 * x), least_squares(x, 3 - 2 * x)
    assert (result.r, result.p, result.ci_low, result.ci_high) == (-1.0, 0.0, -1.0, -1.0)
    assert pearson(x, 3 - 2 * x, alternative="greater").p == 1.0
    assert (fit.slope, fit.intercept, fit.r2) == pytest.approx((-2, 3, 1))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-50, 50))
def test_pearson_ignores_shift_and_scale_and_spearman_any_rising_map(seed, scale, shift):
    x, y = cloud(seed, n=12)
    assert pearson(x, scale * y + shift).r == pytest.approx(pearson(x, y).r, abs=1e-9)
    assert pearson(-x, y).r == pytest.approx(-pearson(x, y).r, abs=1e-12)
    assert spearman(x, np.exp(y)).r == pytest.approx(spearman(x, y).r, abs=1e-12)


def test_least_squares_equals_statsmodels():
    import statsmodels.api as sm

    for seed in range(5):
        x, y = cloud(seed)
        expected = sm.OLS(y, sm.add_constant(x)).fit()
        fit = least_squares(x, y)
        assert (fit.intercept, fit.slope) == pytest.approx(tuple(expected.params))
        assert (fit.intercept_se, fit.slope_se) == pytest.approx(tuple(expected.bse))
        assert (fit.r2, fit.p) == pytest.approx((expected.rsquared, expected.pvalues[1]), rel=1e-9)
        assert (fit.slope_low, fit.slope_high) == pytest.approx(tuple(expected.conf_int()[1]))
        assert fit.residual_std == pytest.approx(math.sqrt(expected.mse_resid))


def test_leave_one_out_equals_refitting_without_each_point():
    x, y = cloud(3)
    influence = leave_one_out(x, y)
    for i in range(x.size):
        rest = np.arange(x.size) != i
        expected = stats.linregress(x[rest], y[rest])
        assert (influence.slope[i], influence.intercept[i], influence.r[i]) == pytest.approx(
            (expected.slope, expected.intercept, expected.rvalue), rel=1e-10
        )


def test_leverage_and_cooks_distance_equal_statsmodels():
    import statsmodels.api as sm

    x, y = cloud(4)
    expected = sm.OLS(y, sm.add_constant(x)).fit().get_influence()
    influence = leave_one_out(x, y)
    np.testing.assert_allclose(influence.leverage, expected.hat_matrix_diag)
    np.testing.assert_allclose(influence.cooks_distance, expected.cooks_distance[0])


def test_points_on_a_line_have_no_influence():
    x = np.arange(6.0)
    influence = leave_one_out(x, 2 * x + 1)
    np.testing.assert_allclose(influence.slope, 2)
    np.testing.assert_array_equal(influence.cooks_distance, 0)


def test_steigers_z_has_unit_variance_under_the_null():
    rng = np.random.default_rng(2)
    z = []
    for _ in range(3_000):
        shared = rng.standard_normal(60)
        common = rng.standard_normal(60)
        first, second = (0.8 * shared + 0.5 * common + 0.6 * rng.standard_normal(60) for _ in range(2))
        z.append(correlation_difference(shared, first, second).statistic)
    assert np.mean(z) == pytest.approx(0, abs=0.06)
    assert np.std(z) == pytest.approx(1, abs=0.05)


def exact_correlations(r1, r2, r12, n, seed=0):
    """Three variables whose sample correlations are exactly those given."""
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((n, 3))
    raw -= raw.mean(axis=0)
    orthonormal, _ = np.linalg.qr(raw)
    target = np.array([[1, r1, r2], [r1, 1, r12], [r2, r12, 1]])
    return (orthonormal @ np.linalg.cholesky(target).T).T


def test_steiger_agrees_with_williams_t_on_a_published_example():
    # n = 103, r12 = .4, r13 = .5, r23 = .1: Williams' t = −.89, p = .37 (Steiger 1980, case A).
    shared, first, second = exact_correlations(0.4, 0.5, 0.1, 103)
    result = correlation_difference(shared, first, second)
    assert (result.r_first, result.r_second, result.r_between) == pytest.approx((0.4, 0.5, 0.1))
    assert result.statistic == pytest.approx(-0.89, abs=0.01)
    assert result.p == pytest.approx(0.37, abs=0.01)


def test_ignoring_the_dependence_gives_fishers_test_when_there_is_none():
    # With r̄ = 0 and r12 = 0 the two correlations are independent and Z is Fisher's comparison.
    shared, first, second = exact_correlations(0.2, -0.2, 0.0, 50)
    expected = 2 * math.atanh(0.2) * math.sqrt(47 / 2)
    assert correlation_difference(shared, first, second).statistic == pytest.approx(expected)


@pytest.mark.parametrize("method", ["steiger", "bootstrap"])
def test_swapping_the_two_measurements_flips_the_difference(method):
    shared, first, second = exact_correlations(0.7, 0.3, 0.4, 60)
    one = correlation_difference(shared, first, second, method=method, alternative="greater", rng=1, resamples=999)
    two = correlation_difference(shared, second, first, method=method, alternative="less", rng=1, resamples=999)
    assert one.difference == pytest.approx(0.4)
    assert (two.difference, two.p, two.ci_low) == pytest.approx((-one.difference, one.p, -one.ci_high))


def test_bootstrap_and_steiger_agree_on_a_clear_difference():
    shared, first, second = exact_correlations(0.8, 0.3, 0.3, 200)
    steiger, bootstrap = (
        correlation_difference(shared, first, second, method=m, rng=0) for m in ("steiger", "bootstrap")
    )
    assert bootstrap.ci_low == pytest.approx(steiger.ci_low, abs=0.05)
    assert bootstrap.ci_high == pytest.approx(steiger.ci_high, abs=0.05)
    assert bootstrap.p == pytest.approx(2 / 10_000)
    assert bootstrap.resamples == 9_999 and steiger.resamples == 0


def test_bootstrap_equals_a_loop_over_the_same_resamples():
    shared, first, second = exact_correlations(0.5, 0.2, 0.1, 15)
    draws = np.random.default_rng(4).integers(0, 15, (500, 15))
    expected = [np.corrcoef(shared[i], first[i])[0, 1] - np.corrcoef(shared[i], second[i])[0, 1] for i in draws]
    result = correlation_difference(shared, first, second, method="bootstrap", rng=4, resamples=500)
    assert (result.ci_low, result.ci_high) == pytest.approx(tuple(np.quantile(expected, [0.025, 0.975])))
    assert result.p == pytest.approx(2 * (np.sum(np.array(expected) <= 0) + 1) / 501)


def test_constant_resamples_are_left_out_and_counted():
    shared, first, second = exact_correlations(0.5, 0.2, 0.1, 4)
    result = correlation_difference(shared, first, second, method="bootstrap", rng=0, resamples=2_000)
    assert 1_900 < result.resamples < 2_000


def test_the_same_measurement_twice_cannot_be_compared():
    x, y = cloud(0)
    with pytest.raises(ZeroVarianceError, match="same measurement"):
        correlation_difference(x, y, 2 * y + 1)
    with pytest.raises(ZeroVarianceError, match="shared and first lie exactly on a line"):
        correlation_difference(x, 2 * x, y)


@pytest.mark.parametrize("function", [pearson, spearman, least_squares, leave_one_out])
def test_constant_input_is_named(function):
    with pytest.raises(ZeroVarianceError, match=r"y holds the same number throughout \(0.3\)"):
        function([1, 2, 3, 4], [0.3, 0.3, 0.3, 0.3])


def test_a_fit_that_hangs_on_one_point_is_named():
    with pytest.raises(ZeroVarianceError, match=r"Without x\[2\] \('nurse'\) = 5"):
        leave_one_out([1, 1, 5, 1], [1, 2, 3, 4], labels=["a", "b", "nurse", "c"])


@pytest.mark.parametrize("function", [pearson, spearman, least_squares, leave_one_out])
def test_nan_is_named_with_its_label(function):
    with pytest.raises(NotFiniteError, match=r"x\[1\] \('plumber'\) holds nan"):
        function([1, np.nan, 3, 4], [1, 2, 3, 5], labels=["nurse", "plumber", "baker", "judge"])


@pytest.mark.parametrize("function", [pearson, spearman, least_squares, leave_one_out])
def test_empty_or_unpaired_input_is_refused(function):
    with pytest.raises(EmptySetError, match="x is empty"):
        function([], [])
    with pytest.raises(EmptySetError, match="at least 3"):
        function([1, 2], [2, 1])
    with pytest.raises(ShapeError, match="x has 4 values, but y has 3"):
        function([1, 2, 3, 4], [1, 2, 3])


def test_unknown_options_are_refused():
    x, y = cloud(0)
    with pytest.raises(OptionError, match="alternative"):
        pearson(x, y, alternative="observed")
    with pytest.raises(OptionError, match="confidence"):
        least_squares(x, y, confidence=0)
    with pytest.raises(OptionError, match="method"):
        correlation_difference(x, y, -(y**2), method="jackknife")
    with pytest.raises(OptionError, match="resamples"):
        correlation_difference(x, y, -(y**2), method="bootstrap", resamples=1)
    with pytest.raises(EmptySetError, match="at least 4"):
        correlation_difference([1, 2, 4], [2, 1, 5], [3, 2, 2])
