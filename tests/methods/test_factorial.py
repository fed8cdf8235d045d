"""The factorial model: planted effects are recovered, and an independent implementation agrees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray

from harness.methods.factorial import factorial
from harness.stats.errors import ShapeError, ZeroVarianceError


def full(k: int) -> NDArray[np.bool_]:
    return np.array(list(product((False, True), repeat=k)))


def test_planted_effects_and_interactions_are_recovered() -> None:
    second = full(8)
    x = 1.0 - 2.0 * second
    y = 5.0 + 0.3 * x[:, 0] - 0.2 * x[:, 4] + 0.15 * x[:, 2] * x[:, 6]
    found = factorial(y, second)
    expected = np.zeros(8)
    expected[[0, 4]] = 0.6, -0.4
    np.testing.assert_allclose(found.main, expected, atol=1e-12)
    inter = dict(zip(found.pairs, found.interactions, strict=True))
    assert inter.pop((2, 6)) == pytest.approx(0.3)
    np.testing.assert_allclose(list(inter.values()), 0.0, atol=1e-12)
    assert found.mean == pytest.approx(5.0)
    assert found.share_main + found.share_interactions == pytest.approx(1.0)


def test_a_main_effect_is_the_difference_of_means_and_an_interaction_half_the_difference_of_differences() -> None:
    second = full(5)
    y = np.random.default_rng(0).normal(size=32)
    found = factorial(y, second)
    assert found.main[1] == pytest.approx(y[~second[:, 1]].mean() - y[second[:, 1]].mean())

    def effect(rows: NDArray[np.bool_]) -> float:
        return float(y[rows & ~second[:, 0]].mean() - y[rows & second[:, 0]].mean())

    half = (effect(~second[:, 3]) - effect(second[:, 3])) / 2
    assert found.interactions[found.pairs.index((0, 3))] == pytest.approx(half)


def test_intervals_and_p_values_equal_those_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    second = np.tile(full(6), (3, 1))
    x = 1.0 - 2.0 * second
    y = 0.4 * x[:, 1] + 0.2 * x[:, 0] * x[:, 5] + rng.normal(size=len(x))
    found = factorial(y, second, confidence=0.9)
    columns = np.column_stack([x, *(x[:, i] * x[:, j] for i, j in found.pairs)])
    fitted = sm.OLS(y, sm.add_constant(columns)).fit()
    np.testing.assert_allclose(found.effects, 2 * fitted.params[1:], atol=1e-12)
    np.testing.assert_allclose(found.effects - found.half_width, 2 * fitted.conf_int(0.1)[1:, 0], atol=1e-12)
    holm = sm.stats.multipletests(fitted.pvalues[1:7], method="holm")[1]
    np.testing.assert_allclose(found.p_holm[:6], holm, rtol=1e-9)


def test_no_p_value_is_zero_where_the_fit_is_perfect() -> None:
    second = full(4)
    assert (factorial((1.0 - 2.0 * second)[:, 2], second).p_holm > 0).all()


def test_a_design_that_is_not_balanced_is_refused() -> None:
    with pytest.raises(ShapeError, match="not balanced"):
        factorial(np.arange(15.0), full(4)[1:])


def test_projections_without_any_spread_are_refused() -> None:
    with pytest.raises(ZeroVarianceError, match="All 16 projections are equal"):
        factorial(np.ones(16), full(4))
