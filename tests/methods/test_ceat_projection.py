"""CEAT and multilevel CEAT by projection: the same as a plain loop, and a cell of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.methods.base import BlockSet
from harness.methods.ceat import ceat
from harness.methods.mlceat import mlceat
from harness.methods.projection import Subspace
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Drawn, draw
from harness.stats.errors import ZeroVarianceError
from tests.methods.ceat_blocks import block_sets, blocks_of, plain_ces

STATS = StatsOptions(ceat_samples=60)


def _subspace(dim: int = 16, rows: int = 1) -> Subspace:
    basis = np.random.default_rng(3).normal(size=(rows, dim)) + 2 * np.eye(dim)[:rows]
    return Subspace(np.linalg.qr(basis.T)[0].T, 1.0, np.zeros(4, dtype=bool))


def _rows(sets: dict[str, BlockSet], drawn: Drawn, sample: int) -> list[list[NDArray[Any]]]:
    return [
        [block[i].astype(np.float64) for block, i in zip(blocks, rows[sample], strict=True)]
        for blocks, rows in zip(blocks_of(sets), drawn, strict=True)
    ]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("components", [1, 3])
def test_ceat_by_projection_is_the_plain_loop(dtype: type, tolerance: float, components: int) -> None:
    sets, subspace = block_sets(dtype=dtype), _subspace(rows=components)
    drawn = draw(*blocks_of(sets), 60, rng=1)
    found = ceat(*blocks_of(sets), drawn, stats=STATS, subspace=subspace)
    effects, variances = [], []
    for sample in range(60):
        X, Y, _, _ = _rows(sets, drawn, sample)
        s = np.array([sum(float(w @ u) / float(u @ u) for u in subspace.basis) for w in X + Y])
        variances.append(float(s.var(ddof=1)))
        effects.append(float(s[: len(X)].mean() - s[len(X) :].mean()) / variances[-1] ** 0.5)
    ces, se, tau2 = plain_ces(effects, variances)
    assert found.d == pytest.approx(effects, abs=tolerance)
    assert found.v == pytest.approx(variances, abs=tolerance)
    assert (found.combined.ces, found.combined.se) == pytest.approx((ces, se), abs=tolerance)
    assert found.combined.tau2 == pytest.approx(tau2, abs=tolerance)


def test_multilevel_ceat_projects_on_the_subspace_and_on_each_attribute_word() -> None:
    sets, subspace = block_sets(), _subspace()
    drawn = draw(*blocks_of(sets), 60, rng=1)
    found = mlceat(*blocks_of(sets), drawn, stats=STATS, subspace=subspace)
    assert found.level1.d == pytest.approx(ceat(*blocks_of(sets), drawn, stats=STATS, subspace=subspace).d, abs=1e-15)
    level2, means = [], []
    for sample in range(60):
        X, _, A, B = _rows(sets, drawn, sample)
        u = np.array([np.mean([float(x @ a) / float(np.linalg.norm(a)) for x in X]) for a in A + B])
        level2.append((u[: len(A)].mean() - u[len(A) :].mean()) / u.std(ddof=1))
        means.append(u[: len(A)].mean())
    assert found.level2["X"].d == pytest.approx(level2, abs=1e-12)
    assert found.level3["XA"][0] == pytest.approx(np.mean(means), abs=1e-12)
    by_cosine = mlceat(*blocks_of(sets), drawn, stats=STATS)
    assert abs(by_cosine.level3["XA"][0] - found.level3["XA"][0]) > 0.01


def test_targets_that_all_project_alike_have_no_effect_size() -> None:
    sets = block_sets()
    flat = {
        slot: BlockSet(s.name, s.words, tuple(np.delete(block, 0, axis=1) for block in s.blocks))
        for slot, s in sets.items()
    }
    padded = [tuple(np.insert(b, 0, 0.0, axis=1) for b in blocks) for blocks in blocks_of(flat)]
    only_first = Subspace(np.eye(16)[:1], 1.0, np.zeros(4, dtype=bool))
    with pytest.raises(ZeroVarianceError, match="d is undefined"):
        ceat(*padded, draw(*padded, 5, rng=1), stats=STATS, subspace=only_first)
