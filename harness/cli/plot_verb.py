"""``harness plot``: the figures of a recorded cell or of a sweep, drawn from the result files."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.errors import HarnessError
from harness.natural import natural_key
from harness.paths import runs_dir
from harness.result import Result, ResultStore
from harness.tables import sweep_fingerprints


def main(argv: list[str]) -> int:
    """Draw the figures of a recorded cell, or one figure of a whole sweep."""
    parser = argparse.ArgumentParser(
        prog="harness plot",
        description="Draw the figures of a recorded cell or sweep from its result files, as PNG and SVG.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "fingerprint", nargs="?", help="the first digits of a cell's fingerprint (`harness export` lists them)"
    )
    what.add_argument("--grid", metavar="SWEEP", help="the EAT-Maps of all ML-EAT cells of a sweep, on one page")
    what.add_argument("--decades", metavar="SWEEP", help="levels 1 and 2 of a sweep over decades")
    what.add_argument(
        "--prompts",
        metavar="SWEEP",
        help="the shift of cosines and effects in a sweep over prompts (or other contexts)",
    )
    parser.add_argument("--text", action="store_true", help="print EAT-Maps as text instead of drawing figures")
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    parser.add_argument("--out", type=Path, help="the folder to write to (default: that of the cell or sweep)")
    arguments = parser.parse_args(argv)
    store = ResultStore(runs_dir(arguments.runs))
    sweep = arguments.grid or arguments.decades or arguments.prompts
    results = [_finished(store, arguments.fingerprint)] if sweep is None else _mleat_cells(store, sweep)
    if arguments.text:
        from harness.plots.eatmap import eatmap_text

        if any("level2" not in result.tables for result in results):
            raise HarnessError("Only cells of method=mleat have an EAT-Map to print.")
        print("\n\n".join(eatmap_text(result) for result in results))
        return 0
    default = store.folder(results[0].fingerprint) if sweep is None else store.root.parent / "sweeps" / sweep
    folder = arguments.out or default
    folder.mkdir(parents=True, exist_ok=True)
    for path in _draw(results, folder, arguments):
        print(path)
    return 0


def _draw(results: list[Result], folder: Path, arguments: argparse.Namespace) -> list[Path]:
    from harness.plots.style import save

    if arguments.grid:
        from harness.plots.eatmap import eatmap_grid

        return save(eatmap_grid(results), folder / "eatmaps")
    if arguments.decades:
        from harness.plots.decades import decades

        return save(decades(results), folder / "decades")
    if arguments.prompts:
        from harness.plots.prompts import prompts

        return save(prompts(results), folder / "prompts")
    from harness.plots import draw

    return draw(results[0], folder)


def _finished(store: ResultStore, fingerprint: str) -> Result:
    result = store.find(fingerprint)
    if result.status != "finished":
        raise HarnessError(f"Cell {result.fingerprint[:16]} is {result.status}: {result.reason}")
    return result


def _mleat_cells(store: ResultStore, sweep: str) -> list[Result]:
    """Return the sweep's cells that ML-EAT measured, in the order of their tests."""
    recorded = (store.finished(key) for key in sweep_fingerprints(store.root.parent, sweep))
    results = [result for result in recorded if result is not None and "level2" in result.tables]
    if not results:
        raise HarnessError(f"Sweep {sweep} has no finished cell measured by mleat.")
    return sorted(results, key=lambda result: natural_key(str(result.factors["test"])))
