"""Tags: a user's own names for cells, which say what was asked for and change nothing that is measured."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.result import ResultStore

Cli = Callable[..., tuple[int, str, str]]


def seeds(cli: Cli, runs: Path, *selection: str) -> list[str]:
    status, out, _ = cli("export", "--runs", runs, *selection)
    assert status == 0
    return sorted(row["seed"] for row in csv.DictReader(io.StringIO(out)))


def test_a_cell_stands_under_every_tag_under_which_it_was_asked_for(cli: Cli, own: list[str], runs: Path) -> None:
    cli("run", "-m", *own, "seed=1,2", "tag=pilot")
    assert "1 measured, 1 known" in cli("run", "-m", *own, "seed=2,3", "tag=study")[2]
    cli("run", *own, "seed=4", "tag=study")
    cli("run", *own, "seed=1", "tag=study")
    assert len(list(ResultStore(runs))) == 4
    assert seeds(cli, runs, "--tag", "pilot") == ["1", "2"]
    assert seeds(cli, runs, "--tag", "study") == ["1", "2", "3", "4"]
    assert seeds(cli, runs, "--tag", "pilot", "--sweep", "last") == ["2"]


def test_compare_takes_the_cells_of_a_tag_and_shows_those_whose_file_is_gone(
    cli: Cli, own: list[str], runs: Path
) -> None:
    cli("run", "-m", *own, "seed=1,2,3", "tag=pilot")
    cli("run", *own, "seed=4")
    gone = next(result for result in ResultStore(runs) if result.factors["seed"] == 2)
    shutil.rmtree(ResultStore(runs).folder(gone.fingerprint))
    status, out, _ = cli("compare", "--runs", runs, "--tag", "pilot", "--format", "csv")
    assert status == 0
    rows = {row["seed"]: row["status"] for row in csv.DictReader(io.StringIO(out))}
    assert rows == {"1": "finished", "2": "missing", "3": "finished"}


def test_a_run_in_mlflow_has_the_tag_under_which_it_was_measured(cli: Cli, own: list[str], runs: Path) -> None:
    from mlflow.tracking import MlflowClient

    tracked = [argument for argument in own if not argument.startswith("tracking")]
    cli("run", *tracked, "seed=1", "tag=pilot")
    cli("run", *tracked, "seed=2")
    client = MlflowClient(f"sqlite:///{runs / 'mlflow.db'}")
    found = client.search_runs([one.experiment_id for one in client.search_experiments()], "tags.tag = 'pilot'")
    assert [run.data.params["seed"] for run in found] == ["1"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["export", "--tag", "pilto"], "Did you mean pilot"),
        (["compare", "--tag", "pilto"], "Did you mean pilot"),
        (["compare", "--tag", "pilot", "--sweep", "last"], "No cell of sweep last was asked for under the tag pilot"),
    ],
)
def test_a_tag_that_selects_nothing_is_one_sentence(
    cli: Cli, own: list[str], runs: Path, arguments: list[str], sentence: str
) -> None:
    cli("run", *own, "seed=1", "tag=pilot")
    cli("run", "-m", *own, "seed=2,3")
    status, _, err = cli(*arguments, "--runs", runs)
    assert status == 2
    assert sentence in err


@pytest.mark.parametrize("mode", [[], ["-m"]])
def test_a_tag_that_cannot_name_a_file_is_refused_before_anything_is_measured(
    cli: Cli, own: list[str], runs: Path, mode: list[str]
) -> None:
    status, _, err = cli("run", *mode, *own, "tag='../elsewhere'")
    assert status == 2
    assert "tag=../elsewhere" in err
    assert list(ResultStore(runs)) == []
