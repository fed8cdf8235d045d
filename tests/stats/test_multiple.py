from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats.errors import EmptySetError, NotFiniteError, OptionError, ShapeError, StatsError
from harness.stats.multiple import adjust


@pytest.mark.parametrize(("method", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_adjusted_p_equals_statsmodels(method, name):
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 10, 40):
        # Squared, so that some are small, and rounded, so that some are tied.
        p = np.round(rng.random(size) ** 2, 2)
        np.testing.assert_allclose(adjust(p, method=method), multipletests(p, method=name)[1], atol=1e-15)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from(["holm", "bh"]))
def test_adjusting_never_lowers_p_nor_changes_the_order(p, method):
    adjusted = adjust(p, method=method)
    assert (adjusted >= np.array(p) - 1e-15).all() and (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert (adjust(p, method="bh") <= adjust(p, method="holm") + 1e-15).all()


@pytest.mark.parametrize("method", ["holm", "bh"])
def test_families_are_adjusted_apart_and_keep_their_places(method):
    p = np.array([0.01, 0.04, 0.03, 0.2, 0.001])
    families = ["gender", "race", "gender", "race", "age"]
    adjusted = adjust(p, method=method, families=families)
    np.testing.assert_allclose(adjusted[[0, 2]], adjust(p[[0, 2]], method=method))
    np.testing.assert_allclose(adjusted[[1, 3]], adjust(p[[1, 3]], method=method))
    assert adjusted[4] == 0.001, "a family of one needs no adjustment"


def test_known_values():
    np.testing.assert_allclose(adjust([0.01, 0.02, 0.03], method="holm"), [0.03, 0.04, 0.04])
    np.testing.assert_allclose(adjust([0.01, 0.02, 0.03], method="bh"), [0.03, 0.03, 0.03])


def test_families_may_be_tuples():
    assert adjust([0.02, 0.02], families=[("bert", "C1"), ("gpt2", "C1")]).tolist() == [0.02, 0.02]


def test_nan_is_named_with_its_label():
    with pytest.raises(NotFiniteError, match=r"p\[1\] \('C7'\) holds nan"):
        adjust([0.1, np.nan], labels=["C6", "C7"])


def test_an_impossible_p_is_named():
    with pytest.raises(StatsError, match=r"p\[0\] is 1.5"):
        adjust([1.5, 0.1])
    with pytest.raises(StatsError, match=r"p\[1\] is -0.1"):
        adjust([0.5, -0.1])


def test_empty_or_unequal_input_is_refused():
    with pytest.raises(EmptySetError, match="p is empty"):
        adjust([])
    with pytest.raises(ShapeError, match="families has 1 entries, but p has 2"):
        adjust([0.1, 0.2], families=["race"])


def test_unknown_method_is_refused():
    with pytest.raises(OptionError, match="method='bonferroni'"):
        adjust([0.1], method="bonferroni")
