"""``harness audit``: how robust the results of a sweep are, in words, figures and one page."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from harness.audit.frequency import BANDS, BUNDLED
from harness.errors import HarnessError
from harness.paths import runs_dir

if TYPE_CHECKING:
    from harness.audit.robustness import Audit

DESCRIPTION = """Audit the robustness of a recorded sweep, from its result files: specification curves with
inference over the whole multiverse, what each factor is worth, what each p-value convention is worth where nothing is
planted, and which words carry the results. Writes one HTML file that stands alone, with its figures beside it."""


def main(argv: list[str]) -> int:
    """Audit a sweep, print the summary and the path of the report."""
    parser = argparse.ArgumentParser(prog="harness audit", description=DESCRIPTION)
    parser.add_argument("sweep", help="the sweep's id (or its first digits), or `last` for the one recorded last")
    parser.add_argument("--out", type=Path, help="the folder of the report (default: that of the sweep, audit/)")
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    parser.add_argument("--draws", type=int, default=1_999, help="relabellings for the inference (default: 1999)")
    parser.add_argument("--calibration", type=int, default=4_000, help="random tests a convention (default: 4000)")
    parser.add_argument(
        "--frequency",
        default=BUNDLED,
        metavar="LIST",
        help=f"match random words by frequency: {BUNDLED} (shipped; default), corpus:NAME, a file, or none",
    )
    parser.add_argument("--bands", type=int, default=BANDS, help=f"bands of frequency (default: {BANDS}; 1: none)")
    parser.add_argument("--no-vectors", action="store_true", help="calibrate from recorded associations only")
    parser.add_argument("--no-figures", action="store_true", help="tables and words only")
    parser.add_argument("--no-tracking", action="store_true", help="do not log the report to the sweep's MLflow run")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    for option in ("draws", "calibration", "bands"):
        if getattr(arguments, option) < 1:
            raise HarnessError(f"--{option} {getattr(arguments, option)}: must be 1 or more.")
    if arguments.seed < 0:
        raise HarnessError(f"--seed {arguments.seed}: must be 0 or more.")
    from harness.audit.report import write_report
    from harness.audit.robustness import audit, summary

    started = time.time()
    runs = runs_dir(arguments.runs)
    found = audit(
        runs,
        arguments.sweep,
        draws=arguments.draws,
        calibration_draws=arguments.calibration,
        vectors=not arguments.no_vectors,
        frequency=arguments.frequency,
        bands=arguments.bands,
        seed=arguments.seed,
    )
    folder = arguments.out or runs / "sweeps" / str(found.cells.sweep) / "audit"
    files = write_report(found, folder.resolve(), figures=not arguments.no_figures)
    print("\n".join(summary(found)))
    for line in [*found.planned(), *found.cells.trouble()]:
        print(line)
    if not arguments.no_tracking and _log(found, runs, files):
        print(f"logged to the MLflow run of sweep {found.cells.sweep}")
    print(f"report: {files[0]} ({time.time() - started:.1f} s)")
    return 0


def _log(found: Audit, runs: Path, files: list[Path]) -> bool:
    """Log the report to the sweep's parent run, where MLflow has one."""
    from harness.tracking import Tracker, tracking_settings

    if not (runs / "mlflow.db").is_file() and not os.environ.get("MLFLOW_TRACKING_URI"):
        return False
    settings = next((result.config["tracking"] for result in found.measured if "tracking" in result.config), None)
    settings = tracking_settings(settings, runs) if settings else None
    return settings is not None and Tracker(settings).log_report(str(found.cells.sweep), files)
