"""``harness ui``: the MLflow UI, for this machine only."""

from __future__ import annotations

import argparse
import os
import socket
import sys

from harness.errors import HarnessError
from harness.paths import runs_dir
from harness.tracking import Tracker, tracking_settings


def main(argv: list[str]) -> int:
    """Serve the MLflow UI on 127.0.0.1 until interrupted."""
    parser = argparse.ArgumentParser(
        prog="harness ui", description="Serve the MLflow UI on 127.0.0.1, over the runs recorded in a folder."
    )
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    parser.add_argument("--port", type=int, default=5000)
    arguments = parser.parse_args(argv)
    runs = runs_dir(arguments.runs)
    settings = tracking_settings({"name": "mlflow", "experiment": "eat-harness"}, runs)
    assert settings is not None
    if settings.uri.startswith("sqlite:") and not (runs / "mlflow.db").is_file():
        raise HarnessError(f"{runs} holds no MLflow database yet; `harness run experiment=demo` makes one.")
    if not 0 < arguments.port < 65536:
        raise HarnessError(f"--port {arguments.port}: must lie between 1 and 65535.")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", arguments.port)) == 0:
            raise HarnessError(f"Port {arguments.port} is in use: choose another with --port.")
    tracker = Tracker(settings)  # a damaged database is one sentence here, and pages of a traceback from the server
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", settings.uri]
    command += ["--host", "127.0.0.1", "--port", str(arguments.port), "--workers", "1"]
    # The home page of the UI leads to an experiment's traces; measured cells are its runs.
    page = f"http://127.0.0.1:{arguments.port}/#/experiments/{tracker.experiment_id}/runs"
    print(f"MLflow UI: {page}  (Ctrl-C ends it)", flush=True)
    # The server takes this process over: signals reach it, and it ends its own workers.
    os.execve(sys.executable, command, {**os.environ, "GIT_PYTHON_REFRESH": "quiet"})
