"""Postprocessings against anisotropy, as their sources define them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from harness.encoders.postprocess import all_but_the_top, postprocess, zscore
from harness.errors import HarnessError


@pytest.fixture
def vectors() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(40, 8)) * [30, 5, 1, 1, 1, 1, 1, 1] + 10


def test_none_changes_nothing(vectors: np.ndarray) -> None:
    np.testing.assert_array_equal(postprocess(vectors, "none", components=3), vectors)


@pytest.mark.parametrize("components", [1, 3])
def test_all_but_the_top_removes_the_mean_and_what_pca_finds_first(vectors: np.ndarray, components: int) -> None:
    pca = PCA(n_components=components, svd_solver="full").fit(vectors)
    centred = vectors - vectors.mean(axis=0)
    expected = centred - (pca.inverse_transform(pca.transform(vectors)) - pca.mean_)
    np.testing.assert_allclose(all_but_the_top(vectors, components=components), expected, atol=1e-12)


def test_all_but_the_top_leaves_nothing_along_the_removed_direction() -> None:
    along = np.outer(np.arange(6.0), [1.0, 2.0, 2.0])
    np.testing.assert_allclose(all_but_the_top(along, components=1), 0, atol=1e-12)


@pytest.mark.parametrize("components", [-1, 8])
def test_all_but_the_top_refuses_to_remove_everything(vectors: np.ndarray, components: int) -> None:
    with pytest.raises(HarnessError, match=f"model.components={components}: at most 7 directions"):
        all_but_the_top(vectors, components=components)


def test_zscore_gives_every_dimension_mean_0_and_spread_1(vectors: np.ndarray) -> None:
    scaled = zscore(vectors)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-12)


def test_zscore_of_a_constant_dimension_is_0_not_nan() -> None:
    np.testing.assert_array_equal(zscore(np.array([[1.0, 5.0], [3.0, 5.0]])), [[-1, 0], [1, 0]])


def test_unknown_postprocessing_is_a_sentence(vectors: np.ndarray) -> None:
    with pytest.raises(HarnessError, match=r"model.postprocess=zscor: is one of .* Did you mean zscore"):
        postprocess(vectors, "zscor", components=1)
