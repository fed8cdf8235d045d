from __future__ import annotations

import numpy as np
import pytest

from harness.stats.ceat_kernel import Drawn, ceat_levels, ceat_samples, draw, sample_indices
from harness.stats.effect import cosine_matrix, level2_d, weat_d
from harness.stats.errors import (
    EmptySetError,
    NotFiniteError,
    OptionError,
    ShapeError,
    ZeroVarianceError,
    ZeroVectorError,
)
from harness.stats.meta import association_variance

SIZES = {"X": (7, 5, 9, 30), "Y": (12, 3, 8), "A": (6, 11, 4, 5, 9), "B": (5, 5, 17)}


def make_sets(dtype: type = np.float64, dim: int = 20, seed: int = 0):
    rng = np.random.default_rng(seed)
    return tuple([(rng.standard_normal((n, dim)) + 0.4).astype(dtype) for n in SIZES[name]] for name in "XYAB")


def plain_loop(sets, drawn):
    """d, V and s of every sample, word by word and pair by pair."""

    def cosine(p, q):
        return p @ q / np.sqrt((p @ p) * (q @ q))

    rows = []
    for sample in range(len(drawn.x)):
        X, Y, A, B = (
            [block[i].astype(np.float64) for block, i in zip(blocks, indices[sample], strict=True)]
            for blocks, indices in zip(sets, drawn, strict=True)
        )
        rows.append([np.mean([cosine(w, a) for a in A]) - np.mean([cosine(w, b) for b in B]) for w in X + Y])
    s = np.array(rows)
    n_x = len(sets[0])
    std = s.std(axis=1, ddof=1)
    return (s[:, :n_x].mean(axis=1) - s[:, n_x:].mean(axis=1)) / std, std**2, s


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("workers", [1, 3])
def test_kernel_equals_a_plain_loop(dtype, tolerance, workers):
    sets = make_sets(dtype)
    drawn = draw(*sets, 70, rng=1)
    d, v, s = plain_loop(sets, drawn)
    result = ceat_samples(*sets, drawn, keep_s=True, workers=workers)
    np.testing.assert_allclose(result.d, d, rtol=0, atol=tolerance)
    np.testing.assert_allclose(result.v, v, rtol=0, atol=tolerance)
    np.testing.assert_allclose(result.s, s, rtol=0, atol=tolerance)


def test_more_samples_than_one_chunk_equal_a_plain_loop():
    sets = make_sets(np.float64, dim=3000)
    drawn = draw(*sets, 90, rng=1)
    d, _, _ = plain_loop(sets, drawn)
    np.testing.assert_allclose(ceat_samples(*sets, drawn, workers=2).d, d, rtol=0, atol=1e-12)


def test_float16_blocks_are_multiplied_in_single_precision():
    half = make_sets(np.float16)
    single = tuple([block.astype(np.float32) for block in blocks] for blocks in half)
    drawn = draw(*half, 40, rng=1)
    np.testing.assert_array_equal(ceat_samples(*half, drawn).d, ceat_samples(*single, drawn).d)


def test_memory_mapped_blocks_give_the_same_numbers(tmp_path):
    sets = make_sets(np.float32)
    mapped = []
    for name, blocks in zip("XYAB", sets, strict=True):
        mapped.append([])
        for i, block in enumerate(blocks):
            np.save(tmp_path / f"{name}{i}.npy", block)
            mapped[-1].append(np.load(tmp_path / f"{name}{i}.npy", mmap_mode="r"))
    drawn = draw(*sets, 40, rng=1)
    np.testing.assert_array_equal(ceat_samples(*mapped, drawn).d, ceat_samples(*sets, drawn).d)


def test_s_is_kept_only_on_request():
    sets = make_sets()
    drawn = draw(*sets, 5, rng=1)
    assert ceat_samples(*sets, drawn).s is None
    s = ceat_samples(*sets, drawn, keep_s=True).s
    np.testing.assert_allclose(association_variance(s), ceat_samples(*sets, drawn).v, rtol=1e-12)


def test_scaling_any_context_changes_nothing():
    sets = make_sets()
    rng = np.random.default_rng(5)
    scaled = tuple([block * rng.uniform(0.01, 100, (len(block), 1)) for block in blocks] for blocks in sets)
    drawn = draw(*sets, 30, rng=1)
    np.testing.assert_allclose(ceat_samples(*scaled, drawn).d, ceat_samples(*sets, drawn).d, rtol=0, atol=1e-12)


def test_swapping_targets_or_attributes_flips_the_sign():
    X, Y, A, B = make_sets()
    drawn = draw(X, Y, A, B, 30, rng=1)
    d = ceat_samples(X, Y, A, B, drawn).d
    targets = ceat_samples(Y, X, A, B, Drawn(drawn.y, drawn.x, drawn.a, drawn.b)).d
    attributes = ceat_samples(X, Y, B, A, Drawn(drawn.x, drawn.y, drawn.b, drawn.a)).d
    np.testing.assert_allclose(targets, -d, rtol=0, atol=1e-12)
    np.testing.assert_allclose(attributes, -d, rtol=0, atol=1e-12)


def test_all_levels_equal_the_functions_on_single_vectors():
    sets = make_sets()
    drawn = draw(*sets, 12, rng=1)
    levels = ceat_levels(*sets, drawn, workers=2)
    fast = ceat_samples(*sets, drawn, keep_s=True)
    np.testing.assert_allclose(levels.d, fast.d, rtol=0, atol=1e-12)
    np.testing.assert_allclose(levels.v, fast.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(levels.s, fast.s, rtol=0, atol=1e-12)
    for i in range(12):
        X, Y, A, B = (
            np.array([block[k] for block, k in zip(blocks, rows[i], strict=True)])
            for blocks, rows in zip(sets, drawn, strict=True)
        )
        assert levels.d[i] == pytest.approx(weat_d(X, Y, A, B), abs=1e-12)
        assert levels.d_x[i] == pytest.approx(level2_d(X, A, B), abs=1e-12)
        assert levels.d_y[i] == pytest.approx(level2_d(Y, A, B), abs=1e-12)
        np.testing.assert_allclose(levels.u_x[i], cosine_matrix(X, np.concatenate([A, B])).mean(axis=0), atol=1e-12)
        matrices = [cosine_matrix(t, a) for t in (X, Y) for a in (A, B)]
        np.testing.assert_allclose(levels.cosine_mean[i], [m.mean() for m in matrices], atol=1e-12)
        np.testing.assert_allclose(levels.cosine_std[i], [m.std(ddof=1) for m in matrices], atol=1e-12)


def test_published_sampling_draws_without_replacement_where_contexts_suffice():
    drawn = sample_indices([100, 40, 99], 100, rng=0)
    assert drawn.shape == (100, 3)
    assert sorted(drawn[:, 0]) == list(range(100))
    assert np.unique(drawn[:, 1]).size < 41 and drawn[:, 1].max() < 40
    assert np.unique(drawn[:, 2]).size < 99, "99 contexts are fewer than N: drawn with replacement"


def test_sampling_with_replacement_repeats_contexts_even_where_they_suffice():
    assert np.unique(sample_indices([1000], 1000, sampling="with", rng=0)).size < 700


def test_sampling_is_uniform_over_contexts():
    counts = np.bincount(sample_indices([10], 100_000, rng=0)[:, 0], minlength=10)
    assert abs(counts - 10_000).max() < 5 * np.sqrt(9_000)


def test_the_same_seed_draws_the_same_contexts():
    sets = make_sets()
    first, again, other = (draw(*sets, 50, rng=seed) for seed in (3, 3, 4))
    assert all((p == q).all() for p, q in zip(first, again, strict=True))
    assert any((p != q).any() for p, q in zip(first, other, strict=True))


def test_a_drawn_zero_vector_is_named_and_an_undrawn_one_is_not_missed():
    sets = make_sets()
    sets[2][1][7] = 0.0
    drawn = draw(*sets, 20, rng=1)
    drawn.a[:, 1] = 0
    ceat_samples(*sets, drawn)
    drawn.a[4, 1] = 7
    with pytest.raises(ZeroVectorError, match=r"A\[1\], context 7"):
        ceat_samples(*sets, drawn)


def test_a_nan_in_a_context_is_named():
    sets = make_sets()
    sets[1][2][0, 3] = np.nan
    drawn = draw(*sets, 20, rng=1)
    drawn.y[:, 2] = 0
    with pytest.raises(NotFiniteError, match=r"Y\[2\], context 0"):
        ceat_samples(*sets, drawn)


def test_a_sample_without_variance_is_named():
    sets = make_sets()
    drawn = draw(*sets, 20, rng=1)
    for blocks in sets[:2]:
        for block in blocks:
            block[0] = 1.0
    for rows in drawn[:2]:
        rows[rows == 0] = 1
        rows[13] = 0
    for measure in (ceat_samples, ceat_levels):
        with pytest.raises(ZeroVarianceError, match="Sample 13"):
            measure(*sets, drawn)


def test_a_level_two_without_variance_is_named():
    sets = make_sets()
    drawn = draw(*sets, 20, rng=1)
    for blocks in sets[2:]:
        for block in blocks:
            block[0] = 1.0
    for rows in drawn[2:]:
        rows[rows == 0] = 1
        rows[6, :] = 0
    with pytest.raises(ZeroVarianceError, match="Sample 6"):
        ceat_levels(*sets, drawn)


def test_an_empty_set_is_named():
    X, _, A, B = make_sets()
    drawn = draw(X, X, A, B, 5, rng=0)
    with pytest.raises(EmptySetError, match="Y is empty"):
        ceat_samples(X, [], A, B, drawn)


def test_a_stimulus_without_contexts_is_named():
    with pytest.raises(EmptySetError, match=r"counts\[1\] is 0"):
        sample_indices([5, 0, 3], 10, rng=0)


def test_level_three_of_a_single_pair_has_no_standard_deviation():
    X, Y, A, B = make_sets()
    drawn = draw(X, Y[:1], A[:1], B, 5, rng=0)
    with pytest.raises(EmptySetError, match="level 3"):
        ceat_levels(X, Y[:1], A[:1], B, drawn)


def test_indices_outside_a_block_are_named():
    sets = make_sets()
    drawn = draw(*sets, 20, rng=1)
    drawn.b[3, 0] = 5
    with pytest.raises(ShapeError, match=r"B\[0\] run from 0 to 5, but it has 5 contexts"):
        ceat_samples(*sets, drawn)


def test_sets_of_different_dimension_or_length_are_refused():
    sets = make_sets()
    drawn = draw(*sets, 20, rng=1)
    other = make_sets(dim=21)
    with pytest.raises(ShapeError, match="dimensions"):
        ceat_samples(sets[0], sets[1], sets[2], other[3], drawn)
    with pytest.raises(ShapeError, match="samples"):
        ceat_samples(*sets, drawn._replace(x=drawn.x[:5]))
    with pytest.raises(ShapeError, match="indices of X"):
        ceat_samples(*sets, drawn._replace(x=drawn.x[:, :2]))


def test_unknown_options_are_refused():
    sets = make_sets()
    with pytest.raises(OptionError, match="sampling"):
        sample_indices([5], 3, sampling="without")
    with pytest.raises(OptionError, match="n_samples"):
        sample_indices([5], 0)
    with pytest.raises(OptionError, match="workers"):
        ceat_samples(*sets, draw(*sets, 3, rng=0), workers=0)
