"""Planted multiverses: what was built in is what the audit says."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.proportion import proportion_confint

from harness.audit.association_groups import association_groups
from harness.audit.calibration import Convention, calibration, rate
from harness.audit.methods_text import cited, methods_section, references
from harness.audit.recorded import factors_of
from harness.audit.reliability import leave_one_out, reliability, split_halves
from harness.audit.report import write_report
from harness.audit.robustness import audit, summary
from harness.audit.sensitivity import sensitivity
from harness.audit.specification import curves, infer, tail_of
from harness.audit.variance import variance_shares
from harness.errors import HarnessError
from harness.plots import multiverse as multiverse_figure
from harness.plots import specification_curve
from harness.result import Result
from harness.stats.effect import cohens_d
from harness.stats.permutation import permutation_pvalue
from tests.audit.multiverse import cell, multiverse, unfinished, write_sweep

Cli = Callable[..., tuple[int, str, str]]
AXES: dict[str, list[Any]] = {
    "model": ["a", "b"],
    "test": ["t1", "t2"],
    "pooling": ["mean", "last"],
    "ddof": [0, 1],
    "alternative": ["greater", "two-sided"],
}


def pooling_flips_the_sign(factors: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shift = 1.2 if factors["pooling"] == "mean" else -1.2
    nudge = 0.1 if factors.get("model") == "a" else 0.0
    return rng.normal(0, 1, 10) + shift + nudge, rng.normal(0, 1, 10)


def nothing_matters(_: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(2.0, 0.3, 10), rng.normal(0, 0.3, 10)


def sweep_of(runs: Path, results: list[Result]) -> Path:
    write_sweep(runs, results)
    return runs


def test_the_factor_that_flips_the_sign_is_named_first(runs: Path) -> None:
    found = audit(sweep_of(runs, multiverse(AXES, pooling_flips_the_sign)), "planted", draws=199, calibration_draws=100)
    first = found.sensitivity[0]
    assert (first.factor, first.sign_flips) == ("pooling", 1.0)
    assert "The factor that moves results most is pooling (design choice)" in summary(found)[0]
    assert found.variance is not None
    assert found.variance.shares[0].term == "pooling"


def test_when_nothing_matters_it_says_so(runs: Path) -> None:
    axes = {**AXES, "ddof": [1]}
    found = audit(sweep_of(runs, multiverse(axes, nothing_matters)), "planted", draws=199, calibration_draws=100)
    assert found.decisive is None
    assert summary(found)[0].startswith("Nothing that was varied matters: none of")


def test_a_sweep_without_choices_says_so(runs: Path) -> None:
    found = audit(sweep_of(runs, multiverse({"test": ["t1", "t2"]}, nothing_matters)), "planted", draws=99)
    assert summary(found)[0].startswith("No choice varies")


def test_matched_pairs_differ_in_one_factor_alone() -> None:
    """Two of three cells are a pair of pooling; the third differs from both in two factors."""
    rng = np.random.default_rng(1)
    specs = [{"pooling": "mean"}, {"pooling": "last"}, {"pooling": "last", "missing": "error", "unequal": "keep"}]
    results = [cell(spec, rng.normal(1, 1, 8), rng.normal(0, 1, 8)) for spec in specs]
    (effect,) = (e for e in sensitivity(results, factors_of(results)) if e.factor == "pooling")
    assert effect.pairs == 1
    assert effect.mean_change == pytest.approx(abs(results[0].metrics["d"] - results[1].metrics["d"]))


def test_pooling_has_no_meaning_under_sentence_encoding_and_does_not_keep_pairs_apart() -> None:
    rng = np.random.default_rng(2)
    specs = [
        {"encoding": "word", "pooling": "mean"},
        {"encoding": "word", "pooling": "last"},
        {"encoding": "sentence", "pooling": None},
    ]
    results = [cell(spec, rng.normal(1, 1, 8), rng.normal(0, 1, 8)) for spec in specs]
    pairs = {effect.factor: effect.pairs for effect in sensitivity(results, factors_of(results))}
    assert pairs == {"encoding": 2, "pooling": 1}


def test_a_presets_options_go_along_with_it() -> None:
    rng = np.random.default_rng(3)
    specs = [{"stats": "default"}, {"stats": "wefe", "ddof": 0, "ties": "strict", "resamples": 10_000}]
    results = [cell(spec, rng.normal(1, 1, 8), rng.normal(0, 1, 8)) for spec in specs]
    factors = factors_of(results)
    assert factors.varying == ["stats"]
    assert set(factors.along) == {"ddof", "ties", "resamples"}


@pytest.mark.parametrize("seed", range(3))
def test_sensitivity_equals_a_walk_over_all_pairs_of_an_incomplete_sweep(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = {**AXES, "null": ["normal", "monte_carlo", "exact"]}
    every = multiverse(axes, lambda factors, _: (rng.normal(0.5, 1, 6), rng.normal(0, 1, 6)))
    results = [result for result in every if rng.random() < 0.7]
    found = {effect.factor: effect for effect in sensitivity(results, factors_of(results))}
    for name in (*axes,):
        pairs = [
            (one, other)
            for one, other in itertools.combinations(results, 2)
            if {key for key in axes if one.factors[key] != other.factors[key]} == {name}
        ]
        if name == "test":
            assert name not in found
            continue
        changes = [abs(one.metrics["d"] - other.metrics["d"]) for one, other in pairs]
        effect = found[name]
        assert (effect.pairs, effect.mean_change) == (len(pairs), pytest.approx(np.mean(changes)))
        assert effect.largest_change == pytest.approx(max(changes))
        assert effect.sign_flips == np.mean([a.metrics["d"] * b.metrics["d"] < 0 for a, b in pairs])
        assert effect.verdict_flips == np.mean([(a.metrics["p"] < 0.05) != (b.metrics["p"] < 0.05) for a, b in pairs])


def test_variance_shares_equal_the_analysis_of_variance_of_statsmodels() -> None:
    rng = np.random.default_rng(8)
    axes = {"test": ["t1", "t2", "t3"], "model": ["a", "b"], "pooling": ["mean", "first", "last"], "ddof": [0, 1]}
    results = multiverse(axes, lambda factors, _: (rng.normal(0.5, 1, 6), rng.normal(0, 1, 6)))
    found = variance_shares(results, factors_of(results))
    assert found is not None
    table = pd.DataFrame([{**{name: str(r.factors[name]) for name in axes}, "d": r.metrics["d"]} for r in results])
    model = ols(f"d ~ ({' + '.join(f'C({name})' for name in axes)})**2", data=table).fit()
    squares = anova_lm(model, typ=2)["sum_sq"]
    shares = {frozenset(share.term.split(" × ")): share.of_all for share in found.shares}
    for term, square in squares.items():
        names = {"all interactions of three or more"} if term == "Residual" else set(re.findall(r"C\((\w+)\)", term))
        assert shares.pop(frozenset(names)) == pytest.approx(square / squares.sum())
    assert shares == {}


def test_variance_shares_of_an_additive_design_are_those_built_in() -> None:
    """d = 3·pooling + 1·ddof exactly: shares 9 : 1, no interaction."""
    results = multiverse({"pooling": ["mean", "last"], "missing": ["drop", "error"]}, nothing_matters)
    for result in results:
        result.metrics["d"] = 3.0 * (result.factors["pooling"] == "mean") + (result.factors["missing"] == "drop")
    found = variance_shares(results, factors_of(results))
    assert found is not None
    shares = {share.term: share.of_all for share in found.shares}
    assert shares["pooling"] == pytest.approx(0.9)
    assert shares["missing"] == pytest.approx(0.1)
    assert shares["pooling × missing"] == pytest.approx(0.0, abs=1e-12)


def test_the_balanced_part_leaves_out_what_is_incomplete() -> None:
    results = multiverse({"pooling": ["mean", "last", "first"], "ddof": [0, 1]}, pooling_flips_the_sign_or_not)[:-1]
    found = variance_shares(results, factors_of(results))
    assert found is not None
    assert (found.cells, found.of) == (4, 5)
    assert found.dropped == ["pooling=first"]


def pooling_flips_the_sign_or_not(factors: Mapping[str, Any], rng: np.random.Generator) -> tuple[Any, Any]:
    return rng.normal(0, 1, 10) + len(str(factors["pooling"])), rng.normal(0, 1, 10)


def test_inference_on_one_specification_is_its_permutation_test() -> None:
    """With a single two-sided specification the median is its d, and p its exact two-sided p."""
    rng = np.random.default_rng(5)
    results = [cell({"alternative": "two-sided"}, rng.normal(0.8, 1, 8), rng.normal(0, 1, 8))]
    found = infer(results, association_groups(results), draws=4_999)
    s = np.array([row["s"] for row in results[0].tables["associations"]])
    exact = permutation_pvalue(s, np.arange(16) < 8, alternative="two-sided").p
    assert found.p_median == pytest.approx(exact, abs=0.02)


def test_inference_relabels_the_same_words_in_every_specification() -> None:
    """Against all orders of eight words, of which one specification lacks one: X are the words that come first."""
    rng = np.random.default_rng(12)
    s_x, s_y = rng.normal(0.7, 1, 4), rng.normal(0, 1, 4)
    noise = [rng.normal(0, 0.2, 8) for _ in range(3)]
    sets = [(s_x + own[:4], s_y + own[4:]) for own in noise]
    sets.append((sets[0][0][:3], sets[0][1]))  # without x3
    results = [cell({"pooling": str(i), "alternative": "two-sided"}, *s) for i, s in enumerate(sets)]
    found = infer(results, association_groups(results), draws=20_000)

    orders = np.array(list(itertools.permutations(range(8))))
    effects = []
    for x, y in sets:
        words = [*range(len(x)), *range(4, 8)]
        values = np.zeros(8)
        values[words] = np.concatenate([x, y])
        kept = orders[np.isin(orders, words)].reshape(len(orders), -1)
        means = values[kept[:, : len(x)]].mean(axis=1) - values[kept[:, len(x) :]].mean(axis=1)
        effects.append(means / values[words].std(ddof=1))
    medians = np.median(effects, axis=0)
    observed = np.median([cohens_d(x, y) for x, y in sets])
    expected = float((np.abs(medians) >= abs(observed) - 1e-12).mean())
    assert 0.05 < expected < 0.3
    assert found.p_median == pytest.approx(expected, abs=0.012)
    assert (found.null_low, found.null_high) == pytest.approx(tuple(np.quantile(medians, [0.025, 0.975])), abs=0.05)
    # Relabelled one by one they would have a narrower null, and a smaller p.
    apart = np.median([rng.permutation(one) for one in effects], axis=0)
    assert float((np.abs(apart) >= abs(observed)).mean()) < expected - 0.03


def test_the_tail_of_a_combined_effect_size_is_its_own() -> None:
    factors = {"method": "ceat", "alternative": "greater", "ceat_alternative": "two-sided"}
    one = cell({**factors, "unit": "item"}, np.arange(4.0), np.arange(3.0))
    other = cell({**factors, "unit": "stimulus"}, np.arange(4.0), np.arange(3.0))
    assert (tail_of(one), tail_of(other), tail_of(cell({}, np.arange(4.0), np.arange(3.0)))) == (
        "two-sided",
        "greater",
        "greater",
    )


def test_inference_keeps_its_level_when_specifications_share_their_words() -> None:
    """Forty multiverses of four correlated specifications without association: p below .25 in about a quarter."""
    below = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        s = rng.normal(0, 1, 16)
        results = [cell({"pooling": str(i)}, *np.split(s + rng.normal(0, 0.3, 16), 2)) for i in range(4)]
        below += infer(results, association_groups(results), draws=199, seed=seed).p_median <= 0.25
    assert 3 <= below <= 18


def test_the_curve_counts_signs_and_verdicts() -> None:
    results = multiverse(AXES, pooling_flips_the_sign)
    (curve, _) = curves(results, factors_of(results), association_groups(results), draws=99)
    d = curve.cells["d"].to_numpy()
    assert (np.diff(d) >= 0).all()
    assert curve.sign_changes == 0.5
    assert curve.significant == np.mean([r.metrics["p"] < 0.05 for r in results if r.factors["test"] == "t1"])


def test_leave_one_out_equals_measuring_again_without_the_word() -> None:
    values = np.random.default_rng(6).normal(size=(2, 11))
    found = leave_one_out(values, 5)
    for row in range(2):
        for word in range(11):
            kept = np.delete(values[row], word)
            n_x = 4 if word < 5 else 5
            assert found[row, word] == pytest.approx(cohens_d(kept[:n_x], kept[n_x:]))


def test_halves_share_no_word_and_their_effects_are_those_of_their_words() -> None:
    values = np.random.default_rng(9).normal(size=(1, 11))
    one, other = split_halves(values, 5, splits=50, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for split in range(50):
        x, y = rng.permutation(5), 5 + rng.permutation(6)
        assert one[split, 0] == pytest.approx(cohens_d(values[0, x[:2]], values[0, y[:3]]))
        assert other[split, 0] == pytest.approx(cohens_d(values[0, x[2:]], values[0, y[3:]]))


def test_the_split_half_correlation_is_over_tests_and_models_and_stepped_up() -> None:
    """Tests whose effects differ have halves that agree; tests of one and the same effect do not."""

    def spread(factors: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        own = np.random.default_rng([int(factors["test"][1:]), ord(factors["model"])])
        return own.normal(int(factors["test"][1:]) - 4, 1, 12), own.normal(0, 1, 12)

    def alike(factors: Mapping[str, Any], _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        own = np.random.default_rng([int(factors["test"][1:]), ord(factors["model"])])
        return own.normal(0, 1, 12), own.normal(0, 1, 12)

    axes = {"test": [f"t{i}" for i in range(9)], "model": ["a", "b"]}
    found = {}
    for values in (spread, alike):
        results = multiverse(axes, values)
        found[values] = reliability(results, association_groups(results))[1]
    apart, together = found[spread], found[alike]
    assert apart is not None and together is not None
    assert apart.r > 0.9 > 0.5 > abs(together.r)
    assert apart.spearman_brown == pytest.approx(2 * apart.r / (1 + apart.r))
    assert (apart.tests, apart.pairs) == (9, 18)


def test_the_word_that_carries_the_result_is_named() -> None:
    s_x = np.array([5.0, 0.1, -0.1, 0.2, -0.2, 0.0, 0.1, -0.1])
    s_y = np.array([0.15, -0.1, 0.1, -0.2, 0.2, 0.0, 0.05, -0.05])
    results = [cell({}, s_x, s_y)]
    (row,), _ = reliability(results, association_groups(results))
    assert (row.word, row.word_set) == ("x0", "X")
    assert not row.sign_safe


def test_what_a_word_carries_is_told_over_every_vector_that_holds_it() -> None:
    rng = np.random.default_rng(3)
    hangs = (
        np.array([5.0, 0.1, -0.1, 0.2, -0.2, 0.0, 0.1, -0.1]),
        np.array([0.15, -0.1, 0.1, -0.2, 0.2, 0, 0.05, -0.05]),
    )
    firm = [(rng.normal(3, 1, 8), rng.normal(0, 1, 8)) for _ in range(2)]
    results = [cell({"pooling": str(i)}, x, y) for i, (x, y) in enumerate([hangs, *firm])]
    (row,), _ = reliability(results, association_groups(results))
    place = int(row.word[1:])
    drop = [(np.delete(x, place), y) if row.word_set == "X" else (x, np.delete(y, place)) for x, y in [hangs, *firm]]
    assert row.with_word == row.d == pytest.approx(np.median([cohens_d(x, y) for x, y in [hangs, *firm]]))
    assert row.without == pytest.approx(np.median([cohens_d(x, y) for x, y in drop]))
    assert (row.decided, row.decider, row.vectors) == (1, "x0", 3)


def test_exact_p_is_calibrated_and_the_observed_tail_is_not(runs: Path) -> None:
    axes = {"test": ["t1"], "pooling": ["mean", "last"], "null": ["exact"], "alternative": ["greater", "observed"]}
    results = multiverse(axes, pooling_flips_the_sign)
    found = calibration(results, runs=runs, draws=2_000)
    verdicts = {row.convention.alternative: row.rates[0].verdict for row in found.rows}
    assert verdicts == {"greater": "nominal", "observed": "too often"}
    assert all(
        row.rates[0].low <= 0.05 <= row.rates[0].high for row in found.rows if row.convention.alternative == "greater"
    )


def test_conventions_without_effect_on_p_are_one() -> None:
    rng = np.random.default_rng(0)
    pair = [
        cell({"null": "normal", "ties": t}, rng.normal(size=6), rng.normal(size=6)) for t in ("inclusive", "strict")
    ]
    assert Convention.of(pair[0]) == Convention.of(pair[1])


def test_a_rate_has_the_interval_of_clopper_and_pearson() -> None:
    found = rate(5, 100, level=0.05)
    assert (found.low, found.high) == pytest.approx(proportion_confint(5, 100, alpha=0.01, method="beta"))
    assert (rate(0, 10, level=0.05).low, rate(10, 10, level=0.05).high) == (0.0, 1.0)


def test_failed_skipped_and_missing_cells_are_in_every_output(cli: Cli, runs: Path, tmp_path: Path) -> None:
    broken = unfinished({"test": "t9"}, status="failed", reason="the model has no vector for rose")
    skipped = unfinished({"test": "t8"}, status="skipped", reason="weat cannot do that")
    write_sweep(runs, [*multiverse(AXES, pooling_flips_the_sign), broken, skipped], lost=["f" * 64])
    status, out, _ = cli("audit", "planted", "--runs", runs, "--out", tmp_path / "out", "--no-figures", "--draws", 99)
    assert status == 0
    page = (tmp_path / "out" / "report.html").read_text()
    methods = (tmp_path / "out" / "methods.txt").read_text()
    data = (tmp_path / "out" / "audit.json").read_text()
    for text in (out, page, data):
        assert "failed: 1 × the model has no vector for rose" in text
        assert "skipped: 1 × weat cannot do that" in text
        assert "missing: 1 ×" in text
    for text in (out, methods):
        assert "1 failed, 1 skipped, 1 missing" in text
    assert page.count("failed: the model has no vector for rose") == 1
    assert page.count("<td>missing</td><td>ffffffffff</td>") == 1
    assert "Tests of which no cell has an effect size: t8 (1 cells), t9 (1 cells), t13 (1 cells)" in page
    assert json.loads(data)["cells"] == {
        "measured": 32, "without_effect_size": 0, "failed": 1, "skipped": 1, "missing": 1
    }  # fmt: skip
    assert json.loads(data)["sensitivity"][0]["factor"] == "pooling"


def test_a_curve_counts_the_cells_of_its_test_that_have_no_effect_size(runs: Path) -> None:
    results = multiverse(AXES, pooling_flips_the_sign)
    broken = [unfinished({"test": "t1", "seed": i}, status="failed", reason="no vectors") for i in (1, 2)]
    write_sweep(runs, [*results, *broken])
    found = audit(runs, "planted", draws=99, calibration_draws=50)
    assert {curve.test: curve.lacking for curve in found.curves} == {"t1": 2, "t2": 0}
    titles = [specification_curve.figure(curve, []).axes[0].get_title(loc="left") for curve in found.curves]
    assert ["(2 without d)" in title for title in titles] == [True, False]
    labels = [label.get_text() for label in multiverse_figure.figure(found.curves).axes[0].get_yticklabels()]
    assert labels == ["t1 (16; 2 without d)", "t2 (16)"]


def test_a_choice_that_some_specifications_do_not_have_has_no_row_for_them() -> None:
    axes = {"test": ["t1"], "encoding": ["word", "sentence"], "pooling": ["mean", "last", None], "unit": ["item", None]}
    results = multiverse(axes, pooling_flips_the_sign)
    (curve,) = curves(results, factors_of(results), [])
    rows = specification_curve.dashboard_rows(curve, ["encoding", "pooling", "unit"])
    assert rows == [("encoding", "sentence"), ("encoding", "word"), ("pooling", "last"), ("pooling", "mean")]


def test_tests_with_dots_in_their_names_have_figures_of_their_own(runs: Path, tmp_path: Path) -> None:
    write_sweep(runs, multiverse({**AXES, "test": ["mine.v1", "mine.v2"]}, pooling_flips_the_sign))
    files = write_report(audit(runs, "last", draws=99, calibration_draws=50), tmp_path)
    assert len([path for path in files if path.name.startswith("curve-") and path.is_file()]) == 4


def test_what_the_methods_section_cites_is_what_the_bibliography_holds(runs: Path) -> None:
    axes = {**AXES, "test": ["c1", "c6"], "method": ["weat", "seat", "ceat"], "stats": ["default", "guo2021_code"]}
    results = multiverse(axes, pooling_flips_the_sign)
    for result in results:
        if result.factors["method"] == "ceat":
            del result.labels["ci_method"]
    found = audit(sweep_of(runs, results), "planted", draws=99, calibration_draws=50)
    text, bibliography = " ".join(methods_section(found)), references(cited(found))
    keys = re.findall(r"@\w+\{(\w+),", bibliography)
    inside = {key for group in re.findall(r"\[([\w, ]+)\]", text) for key in group.split(", ")}
    assert set(keys) == inside
    assert {"husse2022", "guo2021", "caliskan2017", "dersimonian1986"} <= inside
    assert bibliography.count("{") == bibliography.count("}")


def test_the_methods_section_says_of_intervals_and_p_what_the_cells_recorded(runs: Path) -> None:
    results = multiverse({"test": ["c6"], "ddof": [0, 1], "method": ["weat", "ceat"]}, nothing_matters)
    for result in results:
        result.config["stats"]["ci_resamples"] = 500
        result.labels |= {"ci_method": "BCa", "null_used": "saddlepoint"}
        result.factors["null"] = "exact"
        if result.factors["method"] == "ceat":
            del result.labels["ci_method"]
    both = " ".join(methods_section(audit(sweep_of(runs, results), "planted", draws=99)))
    assert "accelerated bootstrap intervals of 500 resamples of the targets [efron1987]" in both
    assert "Intervals of a combined effect size are those of the random-effects model." in both
    assert "exact (all relabellings; in 2 of 2 cells saddlepoint)" in both
    assert "that of its z in the random-effects model" in both
    alone = sweep_of(runs / "alone", [result for result in results if result.factors["method"] == "ceat"])
    ceat = " ".join(methods_section(audit(alone, "planted", draws=99)))
    assert "bootstrap" not in ceat
    assert "permutation p-values" not in ceat


def test_the_report_holds_everything_in_one_file(runs: Path, tmp_path: Path) -> None:
    found = audit(sweep_of(runs, multiverse(AXES, pooling_flips_the_sign)), "last", draws=99, calibration_draws=50)
    files = write_report(found, tmp_path / "out")
    page = files[0].read_text()
    assert page.index(summary(found)[0]) < page.index("<figure")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert 'src="data:image/svg+xml' in page
    assert "@article{simonsohn2020" in page
    assert all(path.is_file() for path in files)
    assert {path.suffix for path in files} >= {".png", ".svg", ".bib", ".json"}


def test_a_sweep_without_effect_sizes_is_one_sentence(cli: Cli, runs: Path) -> None:
    write_sweep(runs, [unfinished({}, status="failed", reason="no vectors")])
    status, _, err = cli("audit", "planted", "--runs", runs)
    assert status == 2
    assert "there is nothing to audit" in err
    assert "no vectors" in err


def test_an_unknown_sweep_is_one_sentence(runs: Path) -> None:
    write_sweep(runs, multiverse({"ddof": [0, 1]}, nothing_matters))
    with pytest.raises(HarnessError, match="Recorded are planted"):
        audit(runs, "other")


def test_the_report_is_logged_to_the_sweeps_parent_run(cli: Cli, own: list[str], runs: Path) -> None:
    tracked = [argument for argument in own if argument != "tracking=none"]
    cli("run", "-m", *tracked, "stats.ddof=0,1")
    status, out, _ = cli("audit", "last", "--runs", runs, "--no-figures")
    assert status == 0
    assert "logged to the MLflow run of sweep" in out
    assert len(list((runs / "artifacts").rglob("report.html"))) == 1
    assert "report.html" in out.splitlines()[-1]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"factors": 3}'])
@pytest.mark.parametrize(
    "verb", [["audit", "planted"], ["compare", "--sweep", "planted"], ["export", "--sweep", "last"]]
)
def test_a_broken_record_of_a_sweep_is_one_sentence(cli: Cli, runs: Path, verb: list[str], content: str) -> None:
    write_sweep(runs, multiverse({"ddof": [0, 1]}, nothing_matters))
    (runs / "sweeps" / "planted" / "sweep.json").write_text(content)
    status, _, err = cli(*verb, "--runs", runs)
    assert (status, err.count("\n")) == (2, 1)
    assert "sweep.json is broken" in err


def test_a_sweep_whose_results_are_all_gone_is_one_sentence(cli: Cli, runs: Path) -> None:
    write_sweep(runs, multiverse({"ddof": [0, 1]}, nothing_matters))
    for path in (runs / "results").glob("*/result.json"):
        path.write_text("{")
    status, _, err = cli("audit", "planted", "--runs", runs)
    assert (status, err.count("\n")) == (2, 1)
    assert "planted has no result file that can be read" in err


@pytest.mark.parametrize("option", ["--draws", "--calibration", "--bands"])
@pytest.mark.parametrize("number", [0, -3])
def test_no_draws_are_one_sentence(cli: Cli, runs: Path, option: str, number: int) -> None:
    write_sweep(runs, multiverse({"ddof": [0, 1]}, nothing_matters))
    status, _, err = cli("audit", "planted", "--runs", runs, option, number)
    assert (status, err) == (2, f"harness: {option} {number}: must be 1 or more.\n")
