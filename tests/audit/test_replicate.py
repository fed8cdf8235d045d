"""A published table from our own runs: what is met, what is not, and what could not be run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from harness.audit.availability import unavailable
from harness.audit.needs import comparisons, needs_of, own_numbers
from harness.audit.replicate import lines_of
from harness.published import load_published, published_tables
from harness.result import ResultStore

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _untracked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


def test_table_s1_is_met_but_for_the_test_whose_word_is_missing(cli: Cli, runs: Path) -> None:
    status, out, err = cli("replicate", "caliskan2017.tableS1", "--runs", runs, "--set", "tracking=none")
    assert status == 0
    assert "10 measured" in err
    assert "10 cells compared, 9 of 10 numbers within ±.011, same sign 10 of 10, same verdict 10 of 10" in out
    assert "c10 on googlenews: left out Billy" in out
    written = pd.read_csv(runs / "replications" / "caliskan2017.tableS1.csv")
    assert len(written) == 40
    d = written[written["statistic"] == "d"]
    assert list(d["agrees"]) == [abs(row.ours - row.published) <= 0.011 for row in d.itertuples()]
    assert dict(zip(d["test"], d["dropped"], strict=True))["c10"] == "Billy"
    again = cli("replicate", "caliskan2017.tableS1", "--runs", runs, "--set", "tracking=none")
    assert "0 measured, 10 known" in again[2]


def test_a_verdict_is_given_only_where_the_paper_has_one(cli: Cli, runs: Path) -> None:
    cli("replicate", "caliskan2017.tableS1", "--runs", runs, "--set", "tracking=none")
    table = load_published("caliskan2017.tableS1")
    lines = lines_of(list(ResultStore(runs)), table)
    assert {line.same_verdict for line in lines if line.statistic == "p"} == {None}
    assert {line.same_verdict for line in lines if line.statistic == "d"} == {True}
    table["significant"] = None
    assert {line.same_verdict for line in lines_of(list(ResultStore(runs)), table)} == {None}


def test_what_cannot_be_run_is_said_with_the_command_that_fetches_it(cli: Cli, runs: Path) -> None:
    status, out, _ = cli("replicate", "caliskan2017.table1", "--runs", runs)
    assert status == 0
    assert "not run: 10 cells (40 printed numbers" in out
    assert "harness fetch glove-840b-300d" in out
    assert "no printed number could be compared" in out
    assert list(ResultStore(runs)) == []


def test_another_model_is_shown_and_not_judged(cli: Cli, runs: Path) -> None:
    arguments = ["--runs", runs, "--model", "glove-6b-100d", "--set", "tracking=none"]
    status, out, _ = cli("replicate", "caliskan2017.table1", *arguments)
    assert status == 0
    assert "40 printed numbers beside glove-6b-100d, another model than the paper's" in out
    assert " yes" not in out


def test_every_stored_table_is_listed(cli: Cli, runs: Path) -> None:
    status, out, _ = cli("replicate", "--runs", runs)
    assert status == 0
    assert all(name in out for name in published_tables())


def test_the_people_of_an_iat_are_no_cell() -> None:
    assert {need.model for need in needs_of(load_published("caliskan2017.tableS1"))} == {"googlenews"}


def test_numbers_of_no_single_cell_are_named_and_nothing_is_measured_for_them(cli: Cli, runs: Path) -> None:
    """The supplement of caliskan2017 correlates the associations of two embeddings."""
    status, out, _ = cli("replicate", "caliskan2017.text", "--runs", runs)
    assert status == 0
    assert "not compared: 3 printed numbers of no single cell: r Pearson, association strength of occupations" in out
    assert list(ResultStore(runs)) == []


@pytest.mark.parametrize("name", published_tables())
def test_every_printed_number_is_a_cells_or_a_persons_or_named_as_a_comparison(name: str) -> None:
    table = own_numbers(load_published(name))
    people = int((table["model"] == "human").sum())
    assert sum(need.numbers for need in needs_of(table)) + people + len(comparisons(table)) == len(table)


def test_valnorm_needs_the_lexicon_of_the_paper(runs: Path) -> None:
    needs = [need for need in needs_of(load_published("omrani2023.text")) if need.method == "valnorm"]
    assert [dict(need.choices)["association"] for need in needs] == ["cosine", "omrani2023"]
    assert "lexicon bellezza1986 is not on this machine" in str(unavailable(needs[0], runs=runs))


def test_a_misspelt_table_is_one_sentence(cli: Cli, runs: Path) -> None:
    status, _, err = cli("replicate", "caliskan2017.tabel1", "--runs", runs)
    assert status == 2
    assert "Did you mean caliskan2017.table1" in err
    assert "Did you mean husse2022.figure2" in cli("replicate", "husse2022.figur2", "--runs", runs)[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--models", "glove-6b-10d"], "Did you mean glove-6b-100d"),
        (["--corpus", "nowhere"], "There is no corpus 'nowhere'"),
        (["--set", "poling=mean"], "There is no key 'poling' in the config. Did you mean pooling"),
        (["--set", "stats=caliskan"], "There is no stats named 'caliskan'"),
    ],
)
def test_a_name_that_is_unknown_is_a_mistake_and_no_cell_that_cannot_be_run(
    cli: Cli, runs: Path, arguments: list[str], sentence: str
) -> None:
    status, out, err = cli("replicate", "husse2022.table3", "--runs", runs, *arguments)
    assert status == 2
    assert sentence in err
    assert out == ""


def test_with_nothing_of_ours_it_says_so_and_leaves_what_an_earlier_run_wrote(cli: Cli, runs: Path) -> None:
    before = runs / "replications" / "husse2022.table4.csv"
    before.parent.mkdir(parents=True)
    before.write_text("an earlier run's")
    status, out, _ = cli("replicate", "husse2022.table4", "--models", "glove-6b-100d", "--runs", runs)
    assert status == 0
    assert "husse2022.table4: there is no number of ours, for the reasons above; nothing is written" in out
    assert "not run: 21 cells (21 printed numbers" in out
    assert before.read_text() == "an earlier run's"


def test_probabilities_in_a_corpus_are_not_replicated_by_templates(runs: Path) -> None:
    needs = [
        need for need in needs_of(load_published("husse2022.table14")) if ("association", "probability") in need.choices
    ]
    assert needs and {dict(need.choices)["context"] for need in needs} == {"reddit"}
    assert any(("stats.lpbs_targets", "reduced") in need.choices for need in needs)
    assert "--corpus NAME" in str(unavailable(needs[0], runs=runs))
    written = needs_of(load_published("husse2022.table4"))
    assert {dict(need.choices)["context"] for need in written if need.method == "lpbs"} == {"pairs"}


@pytest.mark.parametrize("name", ["guo2021.table1", "wolfe2024.table2", "husse2022.table4", "omrani2023.table2"])
def test_a_table_beyond_this_machine_has_a_reason_for_every_cell(name: str, runs: Path) -> None:
    reasons = {unavailable(need, runs=runs) for need in needs_of(load_published(name))}
    assert None not in reasons


def test_the_list_of_tables_tells_what_to_install_in_full(
    cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.audit.availability.unavailable", lambda *_, **__: "pip install 'eat-harness[clip]'.")
    assert "pip install 'eat-harness[clip]'" in cli("replicate", "--runs", runs)[1]
