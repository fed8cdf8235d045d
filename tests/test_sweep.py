"""Sweeps: every cell once, known cells not again, failures and skipped cells visible, the same for any launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.result import ResultStore

Cli = Callable[..., tuple[int, str, str]]


def statuses(runs: Path) -> list[str]:
    return sorted(result.status for result in ResultStore(runs))


def sweep_record(runs: Path) -> dict[str, object]:
    (path,) = (runs / "sweeps").glob("*/sweep.json")
    record: dict[str, object] = json.loads(path.read_text())
    return record


def test_equal_cells_collapse(cli: Cli, own: list[str], runs: Path) -> None:
    status, _, err = cli("run", "-m", *own, "pooling=mean,first,last", "layer=last,1")
    assert status == 0
    assert "6 cells asked, 1 distinct: 1 measured" in err
    assert statuses(runs) == ["finished"]


def test_the_same_command_again_measures_nothing(cli: Cli, own: list[str], runs: Path) -> None:
    command = ["run", "-m", *own, "seed=1,2,3"]
    cli(*command)
    before = {path: path.stat().st_mtime_ns for path in runs.glob("results/*/result.json")}
    status, _, err = cli(*command)
    assert status == 0
    assert "0 measured, 3 known" in err
    assert before == {path: path.stat().st_mtime_ns for path in runs.glob("results/*/result.json")}


def test_overwrite_always_measures_again(cli: Cli, own: list[str]) -> None:
    cli("run", "-m", *own, "seed=1,2")
    assert "2 measured, 0 known" in cli("run", "-m", *own, "seed=1,2", "overwrite=always")[2]


def test_combining_differences_equals_composing_in_full(cli: Cli, own: list[str], runs: Path) -> None:
    """A cell of a sweep has the config that Hydra gives for it alone, also where axes touch the same keys."""
    axes = {
        "stats": ["default", "wefe"],
        "stats.resamples": ["50", "60"],
        "seed": ["1", "2"],
        "missing": ["drop", "error"],
    }
    assert cli("run", "-m", *own, *(f"{key}={','.join(values)}" for key, values in axes.items()))[0] == 0
    swept = {result.fingerprint for result in ResultStore(runs)}
    assert len(swept) == 16
    alone = runs.parent / "alone"
    for choice in (("default", "50", "2", "error"), ("wefe", "60", "1", "drop"), ("wefe", "50", "2", "error")):
        overrides = [f"{key}={value}" for key, value in zip(axes, choice, strict=True)]
        assert cli("run", *own, *overrides, f"paths.runs={alone}")[0] == 0
    assert {result.fingerprint for result in ResultStore(alone)} <= swept


def test_a_failing_cell_leaves_the_others_and_exit_code_1(cli: Cli, own: list[str], runs: Path, vectors: Path) -> None:
    vectors.write_text("".join(line for line in vectors.open() if not line.startswith("tulip ")))
    status, _, err = cli("run", "-m", *own, "missing=drop,error,drop_balanced")
    assert status == 1
    assert "2 measured" in err
    assert "1 failed" in err
    assert "has no vector for tulip" in err
    assert statuses(runs) == ["failed", "finished", "finished"]
    (failed,) = (result for result in ResultStore(runs) if result.status == "failed")
    assert "Traceback" in (ResultStore(runs).folder(failed.fingerprint) / "traceback.txt").read_text()


def test_a_failed_cell_is_tried_again_but_not_with_overwrite_never(cli: Cli, own: list[str], vectors: Path) -> None:
    whole = vectors.read_text()
    vectors.write_text("".join(line for line in whole.splitlines(True) if not line.startswith("tulip ")))
    command = ["run", "-m", *own, "missing=error,drop"]
    cli(*command)
    assert "1 known" in cli(*command)[2]
    assert "0 measured, 1 known, 0 skipped, 1 failed" in cli(*command, "overwrite=never")[2]


def test_a_cell_without_meaning_is_skipped_with_its_reason(cli: Cli, own: list[str], runs: Path) -> None:
    status, _, err = cli("run", "-m", *own, "encoding=word,sentence", "target=null,terms")
    assert status == 0
    assert "4 cells asked, 4 distinct: 1 measured, 0 known, 3 skipped" in err
    reasons = {result.reason for result in ResultStore(runs) if result.status == "skipped"}
    assert any("cannot encode sentences" in reason for reason in reasons)
    assert any("has no variant 'terms'" in reason for reason in reasons)


def test_a_glob_that_matches_nothing_is_one_sentence(cli: Cli, own: list[str]) -> None:
    status, _, err = cli("run", "-m", *own, "stats=glob(zz*)")
    assert status == 2
    assert "nothing matches" in err


@pytest.mark.parametrize("text", ["", "null", "[]", '{"frozen_plan": 1}'])
def test_a_sweep_whose_record_is_broken_is_recorded_again(cli: Cli, own: list[str], runs: Path, text: str) -> None:
    assert cli("run", "-m", *own, "seed=0,1")[0] == 0
    (path,) = (runs / "sweeps").glob("*/sweep.json")
    path.write_text(text)
    assert cli("compare", "--sweep", "last", "--runs", str(runs))[0] == 2
    assert cli("run", "-m", *own, "seed=0,1")[0] == 0
    assert sweep_record(runs)["counts"]["known"] == 2  # type: ignore[index]


def test_a_folder_with_quotes_and_blanks_in_its_name_holds_a_sweep_and_its_plan(
    cli: Cli, own: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / 'Ada\'s "runs", 2'
    monkeypatch.setenv("HARNESS_RUNS", str(runs))
    arguments = ["run", "-m", *(a for a in own if not a.startswith("paths.runs=")), "seed=0,1"]
    plan = tmp_path / "Ada's plan.json"
    assert cli(*arguments, "--plan", str(plan))[0] == 0
    assert cli(*arguments, "--plan", str(plan))[0] == 0
    assert {result.status for result in ResultStore(runs)} == {"finished"}


def test_the_sweep_is_the_same_sweep_when_it_is_asked_again(cli: Cli, own: list[str], runs: Path) -> None:
    cli("run", "-m", *own, "seed=1,2")
    cli("run", "-m", *own, "seed=2,1")
    assert sweep_record(runs)["counts"] == {
        "asked": 2, "distinct": 2, "known": 2, "measured": 0, "skipped": 0, "failed": 0,
    }  # fmt: skip


def command_line(own: list[str], *more: str) -> list[str]:
    return [sys.executable, "-m", "harness", "run", "-m", *own, *more]


@pytest.mark.slow
def test_parallel_workers_give_the_same_numbers(cli: Cli, own: list[str], runs: Path) -> None:
    axes = ["seed=range(0,6)", "stats=default,wefe"]
    assert cli("run", "-m", *own, *axes)[0] == 0
    one = {result.fingerprint: result.metrics for result in ResultStore(runs)}
    other = runs.parent / "parallel"
    status, _, err = cli(
        "run", "-m", *own, *axes, f"paths.runs={other}", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"
    )
    assert status == 0, err
    assert {result.fingerprint: result.metrics for result in ResultStore(other)} == one


@pytest.mark.slow
def test_kill_9_loses_only_what_was_under_way(own: list[str], runs: Path) -> None:
    """The whole process tree is killed in the middle; a rerun measures exactly the missing cells."""
    tracked = [argument for argument in own if argument != "tracking=none"]
    parallel = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    command = command_line(tracked, "seed=range(0,40)", "stats=caliskan2017", *parallel)
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)
    limit = time.monotonic() + 120
    while len(list(runs.glob("results/*/result.json"))) < 6 and time.monotonic() < limit:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in runs.glob("results/*/result.json")}
    assert 6 <= len(done) < 40
    rerun = subprocess.run(command, capture_output=True, text=True, check=False)
    assert rerun.returncode == 0, rerun.stderr
    assert f"{40 - len(done)} measured, {len(done)} known" in rerun.stderr
    assert statuses(runs) == ["finished"] * 40
    assert all(path.stat().st_mtime_ns == changed for path, changed in done.items())
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{runs / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("eat-harness")
    found = client.search_runs([experiment.experiment_id], max_results=1000)
    cells = [run for run in found if "fingerprint" in run.data.tags and run.info.status == "FINISHED"]
    assert len(cells) == len({run.data.tags["fingerprint"] for run in cells}) == 40
    assert not [run for run in found if run.info.status == "RUNNING"]
