"""CEAT on generated blocks: against a plain loop, against two packages of meta-analysis, and by its own rules."""

from __future__ import annotations

import json

import numpy as np
import pytest

import harness
from harness.errors import HarnessError
from harness.methods.ceat import ceat, measure
from harness.methods.ceat_draws import draw_contexts
from harness.methods.ceat_tables import KEPT_SAMPLES, samples_enough, steps
from harness.options import StatsOptions
from harness.stats.meta import effect_variance
from harness.stats.permutation import permutation_pvalue
from tests.methods.ceat_blocks import block_sets, blocks_of, inputs_of, plain_ces, plain_effects


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_the_combined_effect_equals_a_plain_loop_over_samples(dtype: type, tolerance: float) -> None:
    sets = block_sets(dtype=dtype)
    stats = StatsOptions(ceat_samples=150)
    drawn = draw_contexts(sets, stats=stats)
    effects, variances = plain_effects(sets, drawn)
    ces, se, tau2 = plain_ces(effects, variances)
    found = ceat(*blocks_of(sets), drawn, stats=stats)
    assert tau2 > 0
    np.testing.assert_allclose(found.d, effects, rtol=0, atol=tolerance)
    assert found.combined.ces == pytest.approx(ces, abs=tolerance)
    assert found.combined.se == pytest.approx(se, abs=tolerance)
    assert found.combined.tau2 == pytest.approx(tau2, abs=tolerance)


def test_the_combined_effect_equals_that_of_pymare() -> None:
    from pymare import Dataset
    from pymare.estimators import DerSimonianLaird

    found = ceat(*blocks_of(sets := block_sets()), draw_contexts(sets, stats=StatsOptions()), stats=StatsOptions())
    other = DerSimonianLaird(small_sample_correction="wald").fit_dataset(Dataset(y=found.d, v=found.v)).summary()
    assert found.combined.tau2 == pytest.approx(float(np.squeeze(other.tau2)), rel=1e-9)
    assert found.combined.ces == pytest.approx(float(np.squeeze(other.fe_params)), rel=1e-9)


def test_the_combined_effect_equals_that_of_statsmodels() -> None:
    from statsmodels.stats.meta_analysis import combine_effects

    found = ceat(*blocks_of(sets := block_sets()), draw_contexts(sets, stats=StatsOptions()), stats=StatsOptions())
    other = combine_effects(found.d, found.v, method_re="dl")
    assert found.combined.tau2 == pytest.approx(other.tau2, rel=1e-9)
    assert found.combined.ces == pytest.approx(other.mean_effect_re, rel=1e-9)


def test_the_variance_of_d_weighs_the_same_effect_sizes_otherwise() -> None:
    sets = block_sets(lean=0.3)
    published, effect = (measure(inputs_of(sets, ceat_variance=name)) for name in ("association", "effect"))
    d = [row["d"] for row in effect.tables["samples"]]
    assert d == [row["d"] for row in published.tables["samples"]]
    ces, se, tau2 = plain_ces(d, list(effect_variance(d, 4, 3)))
    metrics = effect.metrics
    assert (metrics["ces"], metrics["ces_se"], metrics["tau2"]) == pytest.approx((ces, se, tau2), abs=1e-12)
    assert metrics["i2"] < published.metrics["i2"]


def test_the_p_of_a_sample_is_the_exact_p_of_its_associations() -> None:
    sets = block_sets()
    stats = StatsOptions(ceat_samples=40)
    found = ceat(*blocks_of(sets), draw_contexts(sets, stats=stats), stats=stats)
    for p, s in zip(found.p, found.s, strict=True):
        assert p == pytest.approx(permutation_pvalue(s, np.arange(7) < 4).p, rel=1e-12)


def test_the_code_of_guo2021_takes_the_upper_tail() -> None:
    sets = block_sets(lean=-1.0)
    paper, code = (measure(inputs_of(sets, ceat_alternative=tail)).metrics for tail in ("two-sided", "greater"))
    assert paper["d"] < 0
    assert paper["p"] < 1e-6
    assert code["p"] == pytest.approx(1 - paper["p"] / 2)
    assert code["d"] == paper["d"]


def test_fixed_contexts_are_the_same_for_every_model_and_random_ones_are_not() -> None:
    sets = block_sets()

    def drawn(mode: str, model: str) -> np.ndarray:
        return draw_contexts(sets, stats=StatsOptions(ceat_mode=mode), test="t", model=model).x

    assert (drawn("fixed", "one") == drawn("fixed", "other")).all()
    assert (drawn("random", "one") != drawn("random", "other")).any()
    assert (drawn("random", "one") == drawn("random", "one")).all()


def test_leaving_a_stimulus_out_moves_no_other_draw() -> None:
    sets = block_sets()
    whole = draw_contexts(sets, stats=StatsOptions(), test="t").x
    less = sets | {"X": type(sets["X"])("x", sets["X"].words[1:], sets["X"].blocks[1:])}
    assert (draw_contexts(less, stats=StatsOptions(), test="t").x == whole[:, 1:]).all()


def test_contexts_are_drawn_without_replacement_only_where_there_are_as_many_as_samples() -> None:
    sets = block_sets()
    stats = StatsOptions(ceat_samples=20)
    published = draw_contexts(sets, stats=stats)
    always = draw_contexts(sets, stats=StatsOptions(ceat_samples=20, ceat_sampling="with"))
    assert [len(set(column)) == 20 for column in published.x.T] == [True, False, True, True]
    assert all(len(set(column)) < 20 for column in always.x.T)


def test_scaling_any_block_changes_nothing() -> None:
    sets = block_sets()
    scaled = sets | {"A": type(sets["A"])("a", sets["A"].words, tuple(3.0 * block for block in sets["A"].blocks))}
    assert measure(inputs_of(scaled)).metrics["d"] == pytest.approx(measure(inputs_of(sets)).metrics["d"], abs=1e-12)


def test_by_stimulus_the_words_means_are_compared_and_p_does_not_fall_with_more_samples() -> None:
    sets = block_sets()
    item, stimulus = (measure(inputs_of(sets, unit=unit)).metrics for unit in ("item", "stimulus"))
    more = measure(inputs_of(sets, unit="stimulus", ceat_samples=5_000)).metrics
    assert (item["d"], stimulus["d"]) == (item["ces"], item["d_stimulus"])
    assert item["p"] < 1e-100
    assert stimulus["p"] == more["p"] >= 1 / 35


def test_the_result_tells_how_many_samples_are_free_of_reused_contexts() -> None:
    metrics = measure(inputs_of(block_sets(), ceat_samples=500)).metrics
    assert metrics["n_effective"] == metrics["contexts_min"] == 9
    assert metrics["contexts_median"] == 23.5


def test_quantiles_and_shares_describe_the_samples() -> None:
    found = measure(inputs_of(block_sets(), ceat_samples=400))
    d = np.array([row["d"] for row in found.tables["samples"]])
    p = np.array([row["p"] for row in found.tables["samples"]])
    assert found.metrics["d_q05"] == pytest.approx(np.quantile(d, 0.05))
    assert found.metrics["d_sd"] == pytest.approx(d.std(ddof=1))
    assert found.metrics["share_positive"] == (d > 0).mean()
    assert found.metrics["share_significant"] == (p < 0.05).mean()


def test_the_histogram_holds_every_sample_with_the_mean_p_of_its_bin() -> None:
    found = measure(inputs_of(block_sets(lean=0.2), ceat_samples=600))
    rows = found.tables["histogram"]
    samples = found.tables["samples"]
    assert sum(row["count"] for row in rows) == 600
    inside = [row["p"] for row in samples if rows[3]["low"] <= row["d"] < rows[3]["high"]]
    assert rows[3]["count"] == len(inside)
    assert rows[3]["mean_p"] == pytest.approx(np.mean(inside))


def test_many_samples_leave_a_seeded_part_of_them_in_the_record() -> None:
    one, again = (measure(inputs_of(block_sets(), ceat_samples=3_000)).tables for _ in range(2))
    assert len(one["samples"]) == KEPT_SAMPLES
    assert one == again
    assert sum(row["count"] for row in one["histogram"]) == 3_000
    json.dumps(one, allow_nan=False)


def test_convergence_ends_with_the_result() -> None:
    found = measure(inputs_of(block_sets(), ceat_samples=700))
    rows = found.tables["convergence"]
    assert [row["n"] for row in rows] == steps(700) == [50, 100, 200, 500, 700]
    assert rows[-1]["ces"] == found.metrics["ces"]
    assert rows[-1]["error"] == found.metrics["ces_error"]


def test_the_stop_rule_covers_the_mean_of_endless_samples_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        d = rng.normal(0.4, 0.3, size=4_000)
        weights = 1 / (0.01 + 0.09 * rng.uniform(0.9, 1.1, size=d.size))
        enough = samples_enough(d, weights, float((weights * d).sum() / weights.sum()), tolerance=0.02, confidence=0.95)
        assert enough.reached
        inside += abs(float(d[: enough.samples].mean()) - 0.4) <= 0.02
    assert 0.91 <= inside / 400 <= 0.98


def test_too_few_samples_name_the_number_that_is_needed() -> None:
    found = measure(inputs_of(block_sets(lean=0.2), ceat_samples=60))
    assert found.labels["samples_enough"] == "no"
    assert found.metrics["n_enough"] == pytest.approx(60 * (found.metrics["ces_error"] / 0.02) ** 2, abs=1)
    assert found.notes == [found.labels["samples_enough_in_words"]]
    assert "would be needed" in found.notes[0]


def test_the_python_function_takes_matrices_by_word() -> None:
    sets = block_sets()
    given = [dict(zip(sets[slot].words, sets[slot].blocks, strict=True)) for slot in "XYAB"]
    stats = StatsOptions(ceat_samples=80)
    expected = ceat(*blocks_of(sets), draw_contexts(sets, stats=stats), stats=stats)
    assert harness.ceat(*given, ceat_samples=80).combined == expected.combined
    with pytest.raises(HarnessError, match="X: a mapping of each stimulus to a matrix"):
        harness.ceat([[1.0]], *given[1:])  # type: ignore[arg-type]
