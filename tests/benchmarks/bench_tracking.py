"""What a static sweep of 500 cells costs beyond its statistics, against the same runs through bare MlflowClient calls.

The reference logs the same params, metrics and tags with one ``log_batch`` a run and copies the same artifacts with
``log_artifact``, in one process, into a fresh database. Both times leave out the creation of the database.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.result import Result, ResultStore
from harness.tracking import Tracker, TrackingSettings

CELLS = 500


def settings(runs: Path) -> TrackingSettings:
    runs.mkdir(parents=True, exist_ok=True)
    return TrackingSettings(runs, f"sqlite:///{runs / 'mlflow.db'}", "eat-harness")


def sweep(runs: Path) -> float:
    command = [sys.executable, "-m", "harness", "run", "-m", "model=googlenews,glove-6b-100d", "test=glob(c*)"]
    command += [f"seed=range(0,{CELLS // 20})", f"paths.runs={runs}", "figures=never"]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def bare(runs: Path, results: list[Result], store: ResultStore) -> float:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag

    tracker = Tracker(settings(runs))
    client = MlflowClient(tracking_uri=tracker.settings.uri)
    started = time.perf_counter()
    for result in results:
        run = client.create_run(tracker.experiment_id)
        now = int(time.time() * 1000)
        client.log_batch(
            run.info.run_id,
            metrics=[Metric(key, value, now, 0) for key, value in result.metrics.items()],
            params=[Param(key, str(value)) for key, value in result.factors.items() if value is not None],
            tags=[RunTag("fingerprint", result.fingerprint), *(RunTag(k, v) for k, v in result.labels.items())],
        )
        for path in store.folder(result.fingerprint).iterdir():
            client.log_artifact(run.info.run_id, str(path))
        client.set_terminated(run.info.run_id)
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, reference = Path(folder) / "ours", Path(folder) / "bare"
        Tracker(settings(ours))
        whole = sweep(ours)
        store = ResultStore(ours)
        results = list(store)
        statistics = sum(result.seconds for result in results)
        again = sweep(ours)
        other = bare(reference, results, store)
    cost = whole - statistics
    print(f"sweep of {len(results)} cells: {whole:.1f} s, of which statistics {statistics:.1f} s")
    print(f"  beyond the statistics: {cost:.1f} s = {1000 * cost / len(results):.0f} ms a cell")
    print(
        f"  the same runs through bare MlflowClient calls: {other:.1f} s = {1000 * other / len(results):.0f} ms a run"
    )
    print(f"  ratio {cost / other:.2f} (at most 2)")
    print(f"  asked again, nothing measured: {again:.1f} s = {1000 * again / len(results):.0f} ms a known cell")


if __name__ == "__main__":
    main()
