"""Cells beside each other: what does not differ is hidden, what has no numbers is not."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from harness.audit.compare import adjusted, compare, compare_models
from harness.audit.recorded import factors_of, frame, load_recorded
from harness.errors import HarnessError
from harness.result import Result
from harness.tables import as_text
from tests.audit.multiverse import multiverse, unfinished, write_sweep

Cli = Callable[..., tuple[int, str, str]]


def shifted(factors: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shift = 0.5 if factors.get("model", "a") == "a" else 1.5
    return rng.normal(shift, 1, 8), rng.normal(0, 1, 8)


def cells() -> list[Result]:
    axes = {"model": ["a", "b"], "test": ["t1", "t2", "t10"], "ddof": [0, 1]}
    return multiverse(axes, shifted)


@pytest.fixture
def sweep(runs: Path) -> str:
    broken = unfinished({"model": "a", "test": "t11"}, status="failed", reason="a has no vector for rose")
    skipped = unfinished({"model": "a", "test": "t12"}, status="skipped", reason="weat cannot do that")
    return write_sweep(runs, [*cells(), broken, skipped], lost=["f" * 64])


def test_columns_that_do_not_differ_are_hidden_and_named(runs: Path, sweep: str) -> None:
    found = compare(load_recorded(runs, sweep=sweep))
    assert list(found.table.columns) == ["model", "test", "ddof", "d", "p", "status", "fingerprint"]
    assert "method=weat" in found.notes[0]


def test_failed_skipped_and_missing_cells_are_visible(runs: Path, sweep: str, cli: Cli) -> None:
    for arguments in ([], ["--rows", "test", "--columns", "model"], ["--models", "a,b"]):
        status, out, _ = cli("compare", "--runs", runs, "--sweep", sweep, *arguments)
        assert status == 0
        assert "failed: 1 × a has no vector for rose" in out
        assert "skipped: 1 × weat cannot do that" in out
        assert "missing: 1 × no result file" in out
    pivot = cli("compare", "--runs", runs, "--sweep", sweep, "--rows", "test", "--columns", "model")[1]
    assert any(line.split()[:2] == ["t11", "failed"] for line in pivot.splitlines())
    assert any(line.split()[0] == "t13" and "missing" in line for line in pivot.splitlines())
    assert "not asked" in pivot


def test_a_pivot_entry_is_the_median_of_its_cells_and_rows_count_as_people_do(runs: Path, sweep: str) -> None:
    found = compare(load_recorded(runs, sweep=sweep), rows=["test"], columns=["model"])
    assert list(found.table["test"]) == ["t1", "t2", "t10", "t11", "t12", "t13"]
    expected = np.median([c.metrics["d"] for c in cells() if (c.factors["model"], c.factors["test"]) == ("b", "t2")])
    assert found.table.set_index("test").loc["t2", "b"] == pytest.approx(expected)


def test_holm_counts_the_tests_of_one_specification_only(runs: Path) -> None:
    results = cells()
    table, factors = frame(results), factors_of(results)
    found = adjusted(table, factors, method="holm", family=["model", "ddof"])
    one = table[(table["model"] == "a") & (table["ddof"] == 1)]
    smallest = one["p"].idxmin()
    assert found[smallest] == pytest.approx(min(1.0, 3 * one.loc[smallest, "p"]))
    whole = adjusted(table, factors, method="holm", family=["all"])
    assert whole[smallest] >= found[smallest]


def test_two_models_are_paired_on_equal_cells(runs: Path, sweep: str) -> None:
    found = compare_models(load_recorded(runs, sweep=sweep), "a", "b")
    pairs = found.table[found.table["status"] == ""]
    assert len(pairs) == 6
    assert (pairs["difference"] > 0).all()
    assert "6 pairs of cells" in found.notes[0]
    with pytest.raises(HarnessError, match="no such model"):
        compare_models(load_recorded(runs, sweep=sweep), "a", "c")


def test_a_cell_without_a_partner_stands_in_the_table_of_pairs_with_the_reason(runs: Path, sweep: str) -> None:
    table = compare_models(load_recorded(runs, sweep=sweep), "a", "b").table.set_index("test")
    alone = table[table["status"] != ""]
    assert dict(alone["status"]) == {
        "t11": "a failed, b not asked",
        "t12": "a skipped, b not asked",
        "t13": "a missing, b not asked",
    }
    assert set(alone["verdict"]) == set(alone["sign"]) == {""}


def test_the_paired_test_of_two_models_is_that_of_scipy_over_the_tests(runs: Path) -> None:
    results = multiverse({"model": ["a", "b"], "test": [f"t{i}" for i in range(6)], "ddof": [0, 1]}, by_test)
    found = compare_models(load_recorded(runs, sweep=write_sweep(runs, results)), "a", "b")
    means = found.table.groupby("test")["difference"].mean().to_numpy()
    expected = scipy.stats.permutation_test(
        (means,), np.mean, permutation_type="samples", alternative="two-sided", n_resamples=np.inf
    ).pvalue
    assert 0.03 < expected < 0.9
    assert f"over 6 tests, two-sided: p = {expected:.3g}" in "".join(found.notes)


def by_test(factors: Mapping[str, Any], _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    own = np.random.default_rng([ord(factors["model"]), int(factors["test"][1:])])
    return own.normal(0.8 * (factors["model"] == "b"), 1, 8), own.normal(0, 1, 8)


@pytest.mark.parametrize(("method", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
@pytest.mark.parametrize("family", ["specification", "all", "model", "model,test"])
def test_p_is_adjusted_within_families_as_statsmodels_does(runs: Path, method: Any, name: str, family: str) -> None:
    axes = {"model": ["a", "b"], "test": [f"t{i}" for i in range(6)], "ddof": [0, 1]}
    write_sweep(runs, multiverse(axes, by_test))
    # Tests without a file are families of their own, and a specification then has one test of each.
    keys = {"specification": ["model", "test", "ddof"], "all": [], "model": ["model"], "model,test": ["model", "test"]}
    found = compare(load_recorded(runs), adjust=method, family=family.split(",")).table
    groups = [group for _, group in found.groupby(keys[family])] if keys[family] else [found]
    for group in groups:
        assert multipletests(group["p"], method=name)[1] == pytest.approx(group["p_adjusted"].to_numpy(dtype=float))


def test_a_broken_file_is_visible_where_no_sweep_is_named(runs: Path, sweep: str, cli: Cli) -> None:
    path = next(iter(sorted((runs / "results").glob("*/result.json"))))
    path.write_text("{")
    for arguments in (["--format", "csv"], ["--format", "markdown"], ["--rows", "test"], ["--where", "model=b"]):
        _, out, err = cli("compare", "--runs", runs, *arguments)
        assert "missing: 1 × no result file, or a broken one" in out + err
    assert f"{path.parent.name}," in cli("export", "--runs", runs)[1]
    assert "missing" in cli("compare", "--runs", runs, "--format", "csv")[1]


def test_a_factor_that_some_cells_do_not_have_is_a_column_of_its_own_and_a_whole_number(runs: Path, cli: Cli) -> None:
    axes = {"test": ["t1"], "layer": [3, None]}
    write_sweep(runs, multiverse(axes, shifted))
    head = cli("compare", "--runs", runs, "--rows", "test", "--columns", "layer")[1].splitlines()[0]
    assert head.split() == ["test", "3", "null"]
    exported = pd.read_csv(io.StringIO(cli("export", "--runs", runs)[1]), dtype=str)
    assert set(exported["layer"].dropna()) == {"3"}


def test_text_of_a_reason_breaks_no_table() -> None:
    table = pd.DataFrame({"a|b": ["x|y\nz"], "c_d": [r"C:\x ~50 % <^>"]})
    assert as_text(table, "markdown").splitlines() == [r"| a\|b | c_d |", "|---|---|", r"| x\|y z | C:\x ~50 % <^> |"]
    assert as_text(table, "latex").splitlines()[1:4] == [
        r"a\textbar{}b & c\_d \\",
        r"\hline",
        r"x\textbar{}y z & C:\textbackslash{}x \textasciitilde{}50 \% \textless{}\textasciicircum{}\textgreater{} \\",
    ]


def test_models_without_an_effect_size_are_one_sentence(runs: Path, cli: Cli) -> None:
    results = multiverse({"model": ["a", "b"]}, shifted)
    for result in results:
        result.metrics = {"r": 0.5}
    write_sweep(runs, results)
    status, _, err = cli("compare", "--runs", runs, "--models", "a,b")
    assert (status, err.count("\n")) == (2, 1)
    assert "No cell has 'd'" in err


def test_every_format_holds_the_same_cells(runs: Path, sweep: str, cli: Cli) -> None:
    base = ["compare", "--runs", runs, "--sweep", sweep, "--where", "status=finished"]
    table = pd.read_csv(io.StringIO(cli(*base, "--format", "csv")[1]))
    assert len(table) == 12
    assert cli(*base, "--format", "markdown")[1].count("\n| ") == 12
    assert cli(*base, "--format", "latex")[1].count("\\\\") == 13


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--where", "modle=a"], "Did you mean model"),
        (["--where", "model"], "is written KEY=VALUE"),
        (["--where", "model=zebra"], "None of the 14 recorded cells has model=zebra"),
        (["--rows", "tset"], "Did you mean test"),
        (["--adjust", "holm", "--family", "famly"], "Did you mean family"),
        (["--models", "a"], "takes two names"),
        (["--sweep", "nothing"], "No sweep 'nothing'"),
    ],
)
def test_mistakes_are_one_sentence(cli: Cli, runs: Path, sweep: str, arguments: list[str], sentence: str) -> None:
    status, _, err = cli("compare", "--runs", runs, *arguments)
    assert status == 2
    assert sentence in err


def test_cells_without_numbers_are_shown_where_there_are_no_others(runs: Path, cli: Cli) -> None:
    sweep = write_sweep(runs, [unfinished({"test": "t1"}, status="failed", reason="no vector for rose")])
    for arguments in ([], ["--rows", "test", "--columns", "model"]):
        status, out, _ = cli("compare", "--runs", runs, "--sweep", sweep, *arguments)
        assert status == 0
        assert "failed: 1 × no vector for rose" in out
        assert "nan" not in out.lower()


def test_a_family_without_an_adjustment_is_a_mistake(cli: Cli, runs: Path) -> None:
    status, _, err = cli("compare", "--family", "all", "--runs", runs)
    assert status == 2
    assert "--adjust holm" in err
