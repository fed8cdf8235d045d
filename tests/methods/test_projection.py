"""The subspace between two concepts: that it is found where it was planted, and told where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.methods.mleat import mleat
from harness.methods.projection import Subspace, SubspaceOptions, fit_subspace, separability, word_projections
from harness.methods.weat import weat
from harness.options import StatsOptions
from harness.stats.errors import ShapeError

PUBLISHED = SubspaceOptions(C=5.0, loss="squared_hinge", scale="dimension")
PCA = SubspaceOptions(subspace="pca")


def planted(*, shift: float = 3.0, n: int = 25, dim: int = 40, seed: int = 0) -> tuple[NDArray[np.float64], ...]:
    """Return two poles and the direction, of length one, along which they differ."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=dim)
    direction /= np.linalg.norm(direction)
    A, B = rng.normal(size=(2, n, dim))
    return A + shift * direction, B - shift * direction, direction


@pytest.mark.parametrize("options", [SubspaceOptions(), PUBLISHED, PCA])
def test_a_planted_direction_is_recovered_with_its_sign(options: SubspaceOptions) -> None:
    A, B, direction = planted(shift=6.0)
    found = fit_subspace(A, B, options=options)
    assert float(found.basis[0] @ direction) > 0.9
    assert found.project(A).mean() > 0 > found.project(B).mean()
    assert found.accuracy == 1.0


def test_the_direction_is_the_normal_of_the_widest_margin() -> None:
    A, B = np.array([[2.0, 0.0], [3.0, 1.0]]), np.array([[-2.0, 0.0], [-3.0, 5.0]])
    found = fit_subspace(A, B, options=SubspaceOptions(C=1e6))
    np.testing.assert_allclose(found.basis[0], [1.0, 0.0], atol=1e-3)
    mean_square_length = np.sqrt((np.concatenate([A, B]) ** 2).sum(axis=1).mean())
    assert found.margin == pytest.approx(4.0 / mean_square_length, rel=1e-3)


def test_the_length_of_all_vectors_does_not_move_the_direction() -> None:
    A, B, _ = planted(shift=0.4)
    one, other = fit_subspace(A, B), fit_subspace(100 * A, 100 * B)
    np.testing.assert_allclose(one.basis, other.basis, atol=1e-6)


def test_swapping_the_poles_turns_the_direction_round() -> None:
    A, B, _ = planted()
    np.testing.assert_allclose(fit_subspace(A, B).basis, -fit_subspace(B, A).basis, atol=1e-6)


def test_the_projection_is_equation_one_for_directions_of_any_length() -> None:
    basis = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.5]])
    found = Subspace(basis, None, np.zeros(2, dtype=bool))
    v = np.array([3.0, 7.0, 1.0])
    assert float(found.project(v)) == pytest.approx(3.0 * 2.0 / 4.0 + 0.5 / 0.25)


def test_components_of_paired_differences_are_orthogonal_and_hold_the_plant() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(20, 12))
    along = np.eye(12)[0] * 4.0 + np.outer(rng.normal(size=20), np.eye(12)[1]) * 3.0
    found = fit_subspace(noise + along, noise - along, options=SubspaceOptions(subspace="pca", dimensions=2))
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.basis[:, :2], axis=1), 1.0, atol=1e-12)


def test_held_out_words_tell_a_real_split_from_a_random_one() -> None:
    A, B, _ = planted()
    real = separability(A, B)
    assert real.accuracy > 0.95
    assert real.random_accuracy == pytest.approx(0.5, abs=0.1)
    assert real.p == 0.01


def test_components_are_judged_on_whole_pairs_that_were_held_out() -> None:
    rng = np.random.default_rng(4)
    # Each pair differs along one direction; across pairs the words differ far more, in all others.
    topics = rng.normal(size=(30, 60)) * 4.0
    along = np.eye(60)[0]
    A, B = topics + along, topics - along
    check = separability(A - topics[:, :1] * along, B - topics[:, :1] * along, options=PCA)
    assert check.accuracy == 1.0
    assert check.p == 0.01


def test_fewer_words_than_dimensions_fit_any_split_but_not_on_held_out_words() -> None:
    A, B, _ = planted(shift=0.0, dim=200)
    assert fit_subspace(A, B).accuracy == 1.0
    check = separability(A, B)
    assert check.accuracy < 0.75
    assert check.p is not None and check.p > 0.05


def test_words_on_the_wrong_side_of_the_plane_are_named() -> None:
    A, B, _ = planted(dim=3)
    A[4], B[7] = B[7].copy(), A[4].copy()
    wrong = fit_subspace(A, B).wrong
    assert np.flatnonzero(wrong).tolist() == [4, 25 + 7]


def test_the_weat_by_projection_is_the_effect_size_of_the_projections() -> None:
    A, B, direction = planted()
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(2, 8, 40)) + np.array([0.5, -0.5])[:, None, None] * direction
    found = fit_subspace(A, B)
    stats = StatsOptions(ci_resamples=0)
    s = np.concatenate([found.project(X), found.project(Y)])
    assert weat(X, Y, A, B, stats=stats, subspace=found).d == pytest.approx(
        (s[:8].mean() - s[8:].mean()) / s.std(ddof=1)
    )


def test_level_two_by_projection_has_a_subspace_for_every_attribute_word() -> None:
    A, B, _ = planted()
    X, Y = np.random.default_rng(3).normal(size=(2, 8, 40))
    found = mleat(X, Y, A, B, stats=StatsOptions(ci_resamples=0), subspace=fit_subspace(A, B))
    expected = (X @ A[0]).mean() / np.linalg.norm(A[0])
    assert found.level2["X"].u_a[0] == pytest.approx(expected)
    np.testing.assert_allclose(found.level3["XA"].cosines, word_projections(X, A))
    assert -1 < found.mean_cosine < 1
    assert found.mean_cosine == mleat(X, Y, A, B, stats=StatsOptions(ci_resamples=0)).mean_cosine


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subspace": "svm"}, "association.subspace=svm: is one of svc, pca"),
        ({"C": 0.0}, "association.C=0.0: must be above 0"),
        ({"dimensions": 2}, "a classifier has one normal"),
        ({"folds": 1}, "association.folds=1 must be 2 or more"),
    ],
)
def test_an_option_without_meaning_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        SubspaceOptions.from_config(options)


def test_poles_that_are_the_same_have_no_direction() -> None:
    A, _, _ = planted()
    with pytest.raises(HarnessError, match="The poles have the same vectors"):
        fit_subspace(A, A, options=SubspaceOptions(C=1e-3))


def test_pairs_need_lists_of_one_size() -> None:
    A, B, _ = planted()
    with pytest.raises(ShapeError, match="25 and 24 words"):
        fit_subspace(A, B[1:], options=PCA)
