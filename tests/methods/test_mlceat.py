"""Multilevel CEAT: every sample has the levels and the pattern that ML-EAT gives it."""

from __future__ import annotations

import numpy as np
import pytest

from harness.methods.ceat import measure as measure_ceat
from harness.methods.ceat_draws import draw_contexts
from harness.methods.mlceat import measure, mlceat
from harness.methods.mleat import PATTERNS, mleat
from harness.options import StatsOptions
from tests.methods.ceat_blocks import block_sets, blocks_of, inputs_of

STATS = StatsOptions(ceat_samples=30, ci_resamples=0)


def test_every_sample_is_the_mleat_of_its_contexts() -> None:
    sets = block_sets(lean=0.8, sizes={slot: (12,) * 6 for slot in "XYAB"})
    drawn = draw_contexts(sets, stats=STATS)
    found = mlceat(*blocks_of(sets), drawn, stats=STATS)
    for sample in range(30):
        rows = [
            np.array([block[i] for block, i in zip(blocks, indices[sample], strict=True)])
            for blocks, indices in zip(blocks_of(sets), drawn, strict=True)
        ]
        one = mleat(*rows, stats=STATS)
        assert found.patterns[sample] == one.pattern
        assert found.level1.d[sample] == pytest.approx(one.level1.d, abs=1e-12)
        for target in "XY":
            assert found.level2[target].d[sample] == pytest.approx(one.level2[target].d, abs=1e-12)
            assert found.level2[target].p[sample] == pytest.approx(one.level2[target].p.p, rel=1e-9)
    assert len(set(found.patterns)) > 1


def test_the_patterns_are_a_distribution_with_a_mode() -> None:
    found = measure(inputs_of(block_sets(), ceat_samples=300))
    rows = found.tables["patterns"]
    assert [row["pattern"] for row in rows] == list(PATTERNS.values())
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    modal = max(rows, key=lambda row: row["count"])
    assert (found.labels["pattern"], found.metrics["pattern_share"]) == (modal["pattern"], modal["share"])


def test_level_1_is_the_ceat_of_the_same_cell() -> None:
    inputs = inputs_of(block_sets(), ceat_samples=200)
    one, other = measure(inputs), measure_ceat(inputs)
    for name, value in other.metrics.items():
        assert one.metrics[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_opposite_leanings_are_divergent_in_every_sample_and_for_the_words() -> None:
    sizes = {slot: (20,) * 8 for slot in "XYAB"}
    found = measure(inputs_of(block_sets(lean=4.0, sizes=sizes), ceat_samples=100))
    assert found.labels["pattern"] == found.labels["pattern_stimulus"] == "AB-Divergent"
    assert found.metrics["pattern_share"] == 1
    assert (found.labels["x_association"], found.labels["y_association"]) == ("A", "B")
    assert found.metrics["level2_x_d"] > 0 > found.metrics["level2_y_d"]
    assert found.metrics["level3_xa_mean"] > found.metrics["level3_xb_mean"]
