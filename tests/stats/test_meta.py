from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from harness.stats.errors import (
    EmptySetError,
    NotFiniteError,
    OptionError,
    ShapeError,
    StatsError,
    ZeroVarianceError,
)
from harness.stats.meta import association_variance, effect_variance, random_effects


def samples(seed: int, n: int = 40, tau: float = 0.4):
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.02, 0.2, n)
    return 0.5 + rng.standard_normal(n) * np.sqrt(v + tau**2), v


def appendix(d, v):
    """guo2021's appendix, line by line."""
    n, w = len(d), 1 / v
    c = w.sum() - (w**2).sum() / w.sum()
    q = (w * d**2).sum() - (w * d).sum() ** 2 / w.sum()
    between = (q - (n - 1)) / c if q >= n - 1 else 0.0
    weights = 1 / (v + between)
    ces = (weights * d).sum() / weights.sum()
    return ces, math.sqrt(1 / weights.sum()), between, q


@pytest.mark.parametrize("tau", [0.0, 0.05, 0.4, 2.0])
def test_random_effects_follow_the_appendix(tau):
    for seed in range(20):
        d, v = samples(seed, tau=tau)
        result = random_effects(d, v)
        assert (result.ces, result.se, result.tau2, result.q) == pytest.approx(appendix(d, v), rel=1e-9, abs=1e-12)
        assert result.p == pytest.approx(2 * (1 - norm.cdf(abs(result.ces / result.se))), abs=1e-14)


def test_random_effects_equal_statsmodels_where_tau2_is_positive():
    from statsmodels.stats.meta_analysis import combine_effects

    for seed in range(10):
        d, v = samples(seed)
        result = random_effects(d, v)
        assert result.tau2 > 0
        expected = combine_effects(d, v, method_re="dl")
        assert result.tau2 == pytest.approx(expected.tau2, rel=1e-10)
        assert result.ces == pytest.approx(expected.mean_effect_re, rel=1e-10)
        assert result.se == pytest.approx(expected.sd_eff_w_re, rel=1e-10)
        assert result.q == pytest.approx(expected.q, rel=1e-10)
        assert result.i2 == pytest.approx(expected.i2, rel=1e-10)


@pytest.mark.parametrize("tau", [0.0, 0.4])
def test_random_effects_equal_pymare_with_wald_intervals(tau):
    from pymare import Dataset
    from pymare.estimators import DerSimonianLaird

    for seed in range(5):
        d, v = samples(seed, tau=tau)
        result = random_effects(d, v)
        estimator = DerSimonianLaird(small_sample_correction="wald")
        expected = estimator.fit_dataset(Dataset(y=d, v=v)).summary()
        stats = expected.get_fe_stats()
        assert result.tau2 == pytest.approx(float(np.squeeze(expected.tau2)), rel=1e-8, abs=1e-12)
        ours = (result.ces, result.se, result.z, result.log10_p * math.log(10), result.ci_low, result.ci_high)
        theirs = [float(np.squeeze(stats[name])) for name in ("est", "se", "z", "logp", "ci_l", "ci_u")]
        assert ours == pytest.approx(theirs, rel=1e-8)


def test_homogeneous_samples_have_no_between_variance():
    result = random_effects([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])
    assert (result.tau2, result.q, result.i2) == (0.0, 0.0, 0.0)
    assert result.ces == pytest.approx(0.5)
    assert result.prediction_low < result.ci_low


def test_log10_p_stays_finite_where_p_underflows():
    rng = np.random.default_rng(0)
    result = random_effects(1.0 + 0.01 * rng.standard_normal(10_000), np.full(10_000, 0.01))
    assert result.z > 900
    assert result.p == 0.0
    assert result.log10_p == pytest.approx((math.log(2) + norm.logsf(result.z)) / math.log(10))
    assert -1e7 < result.log10_p < -1e5


def test_one_sided_tails_add_up_and_follow_the_sign():
    d, v = samples(3)
    up, down, both = (random_effects(d, v, alternative=a) for a in ("greater", "less", "two-sided"))
    assert up.p + down.p == pytest.approx(1.0)
    assert both.p == pytest.approx(2 * min(up.p, down.p))
    mirrored = random_effects(-d, v, alternative="less")
    assert (mirrored.p, mirrored.ces) == pytest.approx((up.p, -up.ces))


def test_prediction_interval_holds_the_next_sample_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2_000):
        v = rng.uniform(0.02, 0.05, 31)
        effects = 0.3 + 0.5 * rng.standard_normal(31)
        observed = effects + np.sqrt(v) * rng.standard_normal(31)
        result = random_effects(observed[:30], v[:30])
        hits += result.prediction_low <= effects[30] <= result.prediction_high
    assert 0.93 < hits / 2_000 < 0.97


def test_two_samples_have_no_prediction_interval():
    result = random_effects([0.1, 0.9], [0.01, 0.01])
    assert result.prediction_low is None and result.prediction_high is None
    assert result.tau2 > 0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-2, 2), st.floats(1e-6, 10)), min_size=2, max_size=30),
    st.floats(0.01, 100),
)
def test_rescaling_effects_and_variances_rescales_the_summary(pairs, factor):
    d, v = np.array(pairs).T
    plain, scaled = random_effects(d, v), random_effects(factor * d, factor**2 * v)
    assert scaled.ces == pytest.approx(factor * plain.ces, rel=1e-6, abs=1e-9 * factor)
    assert scaled.se == pytest.approx(factor * plain.se, rel=1e-6)
    assert plain.tau2 >= 0 and 0 <= plain.i2 <= 1


def test_association_variance_is_the_squared_standard_deviation():
    s = np.random.default_rng(0).standard_normal((5, 16))
    np.testing.assert_allclose(association_variance(s), s.std(axis=1, ddof=1) ** 2)
    np.testing.assert_allclose(association_variance(s, ddof=0), s.std(axis=1) ** 2)
    np.testing.assert_allclose(association_variance(s[2]), [s[2].var(ddof=1)])


def test_published_weights_depend_on_the_scale_of_the_associations_and_effect_weights_do_not():
    s = np.random.default_rng(0).standard_normal((200, 16)) + np.r_[np.ones(8), np.zeros(8)]

    def d(values):
        return (values[:, :8].mean(axis=1) - values[:, 8:].mean(axis=1)) / values.std(axis=1, ddof=1)

    small = random_effects(d(0.01 * s), association_variance(0.01 * s))
    large = random_effects(d(100 * s), association_variance(100 * s))
    assert abs(small.z) > 5 * abs(large.z)
    assert random_effects(d(0.01 * s), effect_variance(d(0.01 * s), 8, 8)).z == pytest.approx(
        random_effects(d(100 * s), effect_variance(d(100 * s), 8, 8)).z
    )


@pytest.mark.parametrize(("shift", "n_x", "n_y"), [(0.0, 25, 25), (0.5, 25, 25), (1.0, 32, 12), (2.0, 25, 25)])
def test_effect_variance_is_the_variance_of_simulated_effect_sizes(shift, n_x, n_y):
    rng = np.random.default_rng(7)
    values = rng.standard_normal((40_000, n_x + n_y))
    values[:, :n_x] += shift
    d = (values[:, :n_x].mean(axis=1) - values[:, n_x:].mean(axis=1)) / values.std(axis=1, ddof=1)
    assert effect_variance(d.mean(), n_x, n_y)[0] == pytest.approx(d.var(), rel=0.06)


def test_textbook_variance_does_not_fit_a_d_that_was_divided_by_the_union():
    union, within = (effect_variance(1.41, 25, 25, standardiser=s)[0] for s in ("union", "within"))
    assert within == pytest.approx(2 / 25 + 1.41**2 / 100)
    assert 6 < within / union < 8


def test_an_effect_at_its_bound_has_no_sampling_variance():
    x, y = np.ones(8), np.zeros(8)
    d = 1 / np.concatenate([x, y]).std(ddof=1)
    with pytest.raises(ZeroVarianceError, match=r"d\[1\].*bound"):
        effect_variance([0.2, d], 8, 8)


def test_a_sample_without_variance_is_named():
    with pytest.raises(ZeroVarianceError, match=r"v\[2\]"):
        random_effects([0.1, 0.2, 0.3], [0.1, 0.2, 0.0])
    with pytest.raises(ZeroVarianceError, match=r"s\[1\].*0.3"):
        association_variance([[0.1, 0.2], [0.3, 0.3]])


def test_negative_and_overwhelming_variances_are_named():
    with pytest.raises(StatsError, match=r"v\[0\] is -1"):
        random_effects([0.1, 0.2], [-1, 0.1])
    with pytest.raises(StatsError, match=r"v\[1\].*outweighs"):
        random_effects([0.1, 0.2], [1e30, 1e-300])


def test_nan_is_named():
    with pytest.raises(NotFiniteError, match=r"d\[1\] holds nan"):
        random_effects([0.1, np.nan], [0.1, 0.1])
    with pytest.raises(NotFiniteError, match=r"v\[0\] holds inf"):
        random_effects([0.1, 0.2], [np.inf, 0.1])
    with pytest.raises(NotFiniteError, match=r"s\[0\]"):
        association_variance([np.nan, 1.0])
    with pytest.raises(NotFiniteError, match="d"):
        effect_variance(np.nan, 8, 8)


def test_empty_or_unequal_input_is_refused():
    with pytest.raises(EmptySetError, match="d is empty"):
        random_effects([], [])
    with pytest.raises(EmptySetError, match="at least two"):
        random_effects([0.1], [0.1])
    with pytest.raises(ShapeError, match="d has 2 samples, but v has 3"):
        random_effects([0.1, 0.2], [0.1, 0.1, 0.1])
    with pytest.raises(EmptySetError, match="ddof=1"):
        association_variance([[0.1], [0.2]])
    with pytest.raises(EmptySetError, match="n_x=0"):
        effect_variance(0.1, 0, 8)


def test_unknown_options_are_refused():
    with pytest.raises(OptionError, match="alternative='both'"):
        random_effects([0.1, 0.2], [0.1, 0.1], alternative="both")
    with pytest.raises(OptionError, match="confidence"):
        random_effects([0.1, 0.2], [0.1, 0.1], confidence=95)
    with pytest.raises(OptionError, match="standardiser"):
        effect_variance(0.1, 8, 8, standardiser="pooled")
