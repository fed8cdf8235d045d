"""What MLflow holds, and that it can always be made again from the result files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.result import ResultStore
from harness.tracking import Tracker, TrackingSettings, _alive, _process_tag

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tracked(own: list[str]) -> list[str]:
    return [argument for argument in own if argument != "tracking=none"]


def settings(runs: Path) -> TrackingSettings:
    return TrackingSettings(runs, f"sqlite:///{runs / 'mlflow.db'}", "eat-harness")


def all_runs(runs: Path) -> list[Any]:
    tracker = Tracker(settings(runs))
    return list(tracker.client.search_runs([tracker.experiment_id], max_results=1000))


def test_a_sweep_is_one_parent_with_its_cells(cli: Cli, tracked: list[str], runs: Path, vectors: Path) -> None:
    vectors.write_text("".join(line for line in vectors.open() if not line.startswith("tulip ")))
    status, _, _ = cli("run", "-m", *tracked, "missing=drop,error", "encoding=word,sentence", "seed=0,1")
    assert status == 1
    found = all_runs(runs)
    (parent,) = (run for run in found if "sweep_parent" in run.data.tags)
    cells = [run for run in found if run is not parent]
    assert parent.info.status == "FAILED"
    assert parent.data.metrics == {
        "cells_asked": 8, "cells_distinct": 8, "cells_known": 0, "cells_measured": 2, "cells_skipped": 4,
        "cells_failed": 2,
    }  # fmt: skip
    assert {run.data.tags["mlflow.parentRunId"] for run in cells} == {parent.info.run_id}
    assert {run.data.tags["sweep"] for run in cells} == {parent.data.tags["sweep"]}
    assert sorted(run.data.tags["status"] for run in cells) == ["failed"] * 2 + ["finished"] * 2 + ["skipped"] * 4
    assert {run.info.status for run in cells if run.data.tags["status"] == "failed"} == {"FAILED"}
    (failed, _) = (run for run in cells if run.info.status == "FAILED")
    folder = Path(failed.info.artifact_uri.removeprefix("file://"))
    assert "has no vector for tulip" in (folder / "traceback.txt").read_text()
    assert "tulip" in failed.data.tags["reason"]


def test_a_weat_cell_has_its_factors_numbers_tags_and_artifacts(cli: Cli, tracked: list[str], runs: Path) -> None:
    assert cli("run", *tracked, "figures=always")[0] == 0
    (run,) = all_runs(runs)
    (result,) = ResultStore(runs)
    assert run.info.status == "FINISHED"
    assert run.data.params["model"] == "vectors"
    assert run.data.params["test"] == "garden"
    assert run.data.params["stats"] == "default"
    assert len(run.data.params) <= 20
    assert {
        "d",
        "p",
        "log10_p",
        "p_greater",
        "p_two_sided",
        "smallest_p",
        "n_x",
        "n_y",
        "n_a",
        "n_b",
        "n_dropped",
    } <= set(run.data.metrics)
    assert run.data.metrics["d"] == result.metrics["d"]
    assert run.data.tags["fingerprint"] == result.fingerprint
    assert run.data.tags["significance"] == "significant"
    assert {"version.eat-harness", "version.numpy", "version.git"} <= set(run.data.tags)
    folder = Path(run.info.artifact_uri.removeprefix("file://"))
    assert {path.name for path in folder.iterdir()} == {
        "config.yaml", "result.json", "words.yaml", "associations.png", "associations.svg",
    }  # fmt: skip
    assert json.loads((folder / "result.json").read_text())["metrics"] == result.metrics


def test_results_without_a_run_are_synced_and_not_measured_again(
    cli: Cli, own: list[str], tracked: list[str], runs: Path
) -> None:
    cli("run", "-m", *own, "seed=1,2")
    assert not (runs / "mlflow.db").exists()
    status, out, _ = cli("sync", "--runs", runs)
    assert status == 0
    assert out.startswith("2 results logged")
    assert "0 results logged" in cli("sync", "--runs", runs)[1]
    _, _, err = cli("run", "-m", *tracked, "seed=1,2,3")
    assert "1 measured, 2 known" in err
    assert len([run for run in all_runs(runs) if "fingerprint" in run.data.tags]) == 3


def test_a_lost_database_is_made_again_from_the_files(cli: Cli, tracked: list[str], runs: Path) -> None:
    cli("run", *tracked)
    (runs / "mlflow.db").unlink()
    shutil.rmtree(runs / "artifacts")
    sync = [sys.executable, "-m", "harness", "sync", "--runs", str(runs)]
    done = subprocess.run(sync, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 results logged")
    (folder,) = runs.glob("artifacts/*/artifacts")
    assert (folder / "result.json").is_file()


def test_a_run_that_a_dead_process_left_open_is_closed(runs: Path) -> None:
    tracker = Tracker(settings(runs))
    host = _process_tag()["process"].split(":")[0]
    dead = tracker.client.create_run(tracker.experiment_id, tags={"process": f"{host}:999999999:1"})
    living = tracker.client.create_run(tracker.experiment_id, tags=_process_tag())
    elsewhere = tracker.client.create_run(tracker.experiment_id, tags={"process": "another-machine:1:1"})
    assert tracker.reconcile(ResultStore(runs)) == (0, 1)
    now = {run: tracker.client.get_run(run.info.run_id).info.status for run in (dead, living, elsewhere)}
    assert list(now.values()) == ["KILLED", "RUNNING", "RUNNING"]


def test_a_recycled_process_number_is_not_the_old_process() -> None:
    host, pid, began = _process_tag()["process"].split(":")
    assert _alive(f"{host}:{pid}:{began}")
    assert not _alive(f"{host}:{pid}:{int(began) - 1}")


def test_a_resumed_sweep_goes_on_under_its_own_parent(cli: Cli, tracked: list[str], runs: Path) -> None:
    cli("run", "-m", *tracked, "seed=1,2")
    shutil.rmtree(next(runs.glob("results/*")))
    cli("run", "-m", *tracked, "seed=1,2")
    parents = [run for run in all_runs(runs) if "sweep_parent" in run.data.tags]
    assert len(parents) == 1
    assert parents[0].info.status == "FINISHED"


def test_tracking_none_imports_no_mlflow(own: list[str]) -> None:
    code = f"import sys; from harness.cli import main; main(['run', *{own!r}]); assert 'mlflow' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_server_that_does_not_answer_is_one_sentence(
    cli: Cli, tracked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    status, _, err = cli("run", *tracked, "tracking.uri=http://127.0.0.1:9")
    assert status == 2
    assert "MLflow at http://127.0.0.1:9 cannot be used" in err
    assert len(err.splitlines()) == 1


def test_a_damaged_database_is_one_sentence_for_the_ui(cli: Cli, runs: Path) -> None:
    runs.mkdir(parents=True, exist_ok=True)
    (runs / "mlflow.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    status, _, err = cli("ui", "--runs", str(runs), "--port", "50917")
    assert status == 2
    assert "move the database away and `harness sync` makes it again" in err
    assert len(err.strip().splitlines()) == 1
