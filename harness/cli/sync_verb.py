"""``harness sync``: bring result files into MLflow."""

from __future__ import annotations

import argparse

from harness.errors import HarnessError
from harness.paths import runs_dir
from harness.result import ResultStore
from harness.tracking import Tracker, tracking_settings


def main(argv: list[str]) -> int:
    """Log every result file that MLflow lacks; close what a killed process left open."""
    parser = argparse.ArgumentParser(
        prog="harness sync",
        description="Log every result file that MLflow lacks, and close runs that a killed process left open.",
    )
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    parser.add_argument("--uri", help="the MLflow server (default: MLFLOW_TRACKING_URI, or the folder's own database)")
    parser.add_argument("--experiment", default="eat-harness")
    arguments = parser.parse_args(argv)
    runs = runs_dir(arguments.runs)
    if not runs.is_dir():
        raise HarnessError(f"{runs}: there is no such folder; nothing was run there yet.")
    settings = tracking_settings({"name": "mlflow", "uri": arguments.uri, "experiment": arguments.experiment}, runs)
    assert settings is not None
    synced, closed = Tracker(settings).reconcile(ResultStore(runs))
    print(f"{synced} results logged, {closed} abandoned runs closed, at {settings.uri}")
    return 0
