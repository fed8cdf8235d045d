from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats.anisotropy import anisotropy, mean_pairwise_cosine, top_component_share, verdict, verdict_sentence
from harness.stats.effect import cosine_matrix
from harness.stats.errors import (
    EmptySetError,
    NotFiniteError,
    ShapeError,
    StatsError,
    ZeroVarianceError,
    ZeroVectorError,
)


def vectors(n=30, dim=12, offset=0.0, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dim)) + offset


@pytest.mark.parametrize(("n", "dim"), [(30, 12), (8, 50), (2, 3)])
def test_mean_and_spread_equal_the_loop_over_pairs(n, dim):
    v = vectors(n, dim, 0.5)
    pairs = cosine_matrix(v, v)[np.triu_indices(n, 1)]
    result = anisotropy(v)
    assert result.mean_cosine == pytest.approx(pairs.mean())
    assert result.mean_cosine == mean_pairwise_cosine(v)
    assert result.std_cosine == pytest.approx(pairs.std(), abs=1e-7)
    assert result.n == n


@pytest.mark.parametrize(("n", "dim"), [(30, 12), (8, 50)])
def test_top_share_equals_principal_components(n, dim):
    from sklearn.decomposition import PCA

    v = vectors(n, dim, 0.5)
    unit = v / np.linalg.norm(v, axis=1, keepdims=True)
    assert top_component_share(v) == pytest.approx(PCA().fit(unit).explained_variance_ratio_[0])


def test_a_rogue_dimension_takes_the_variance():
    v = vectors(200, 50)
    even = top_component_share(v)
    v[:, 7] *= 1_000
    assert even < 0.1
    assert top_component_share(v) > 0.95


def test_verdicts_follow_the_published_models():
    # Level 3 means of wolfe2024: GloVe (Table 1), GPT-2 XL's largest and GPT-2 base's smallest (Table 3).
    assert verdict(0.32) == "low"
    assert verdict(0.49) == "mild"
    assert verdict(0.7) == "strong"
    assert verdict(0.97) == "uniform"
    assert verdict(-0.01) == "low"


def test_vectors_with_a_common_direction_are_called_uniform_in_words():
    result = anisotropy(vectors(offset=20.0))
    assert result.verdict == "uniform"
    assert "directionally uniform" in result.sentence and "1.00" in result.sentence
    assert anisotropy(vectors()).verdict == "low"
    assert verdict_sentence(0.4, 0.05).startswith("Mean cosine 0.40 (std 0.05): mildly anisotropic")


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_length_order_and_rotation_change_nothing(seed):
    rng = np.random.default_rng(seed)
    v = vectors(10, 6, 0.3, seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    other = anisotropy((v * rng.uniform(0.1, 10, (10, 1)))[rng.permutation(10)] @ rotation)
    plain = anisotropy(v)
    assert (other.mean_cosine, other.std_cosine, other.top_share) == pytest.approx(
        (plain.mean_cosine, plain.std_cosine, plain.top_share), abs=1e-9
    )


def test_zero_nan_and_empty_input_are_named():
    v = vectors()
    v[4] = 0
    with pytest.raises(ZeroVectorError, match=r"targets\[4\]"):
        anisotropy(v, name="targets")
    v[4, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"vectors\[4\] holds nan"):
        mean_pairwise_cosine(v)
    with pytest.raises(EmptySetError, match="vectors is empty"):
        anisotropy([])
    with pytest.raises(EmptySetError, match="one vector"):
        anisotropy([[1.0, 2.0]])
    with pytest.raises(ShapeError, match="one row a vector"):
        anisotropy([1.0, 2.0])


def test_vectors_that_all_point_the_same_way_have_no_variance():
    same = np.outer(np.arange(1, 6), [1.0, 2.0, 3.0])
    assert mean_pairwise_cosine(same) == pytest.approx(1.0)
    with pytest.raises(ZeroVarianceError, match="All 5 vectors of names"):
        top_component_share(same, name="names")


def test_an_impossible_mean_cosine_is_refused():
    with pytest.raises(NotFiniteError, match="nan"):
        verdict(float("nan"))
    with pytest.raises(StatsError, match=r"1\.2"):
        verdict(1.2)
