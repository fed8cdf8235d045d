"""``harness export``: recorded cells as one table, a row a cell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.errors import HarnessError
from harness.paths import runs_dir
from harness.result import ResultStore

FORMATS = ("csv", "parquet", "json", "markdown", "latex")


def main(argv: list[str]) -> int:
    """Write recorded cells in a format of choice."""
    parser = argparse.ArgumentParser(
        prog="harness export", description="Write recorded cells as one table: a row a cell, finished or not."
    )
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of --out, else csv")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--out", type=Path, help="a file (default: standard output)")
    parser.add_argument("--sweep", help="only the cells of this sweep; `last` is the one recorded last")
    parser.add_argument("--tag", help="only the cells that were asked for under this tag (`harness run tag=NAME`)")
    parser.add_argument("--columns", help="only these columns, separated by commas")
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    arguments = parser.parse_args(argv)
    endings = {".csv": "csv", ".parquet": "parquet", ".json": "json", ".md": "markdown", ".tex": "latex"}
    by_name = endings.get(arguments.out.suffix) if arguments.out else None
    if arguments.out and by_name is None and not arguments.format and not arguments.json:
        raise HarnessError(f"{arguments.out}: give --format, or an ending among {', '.join(endings)}.")
    form = arguments.format or ("json" if arguments.json else by_name or "csv")
    from harness.tables import as_text, load_results

    for path in ResultStore(runs_dir(arguments.runs)).broken():
        print(f"harness: {path} is broken: its cell stands as missing; run it again.", file=sys.stderr)
    table = load_results(arguments.runs, sweep=arguments.sweep, tag=arguments.tag)
    if arguments.columns:
        wanted = [name.strip() for name in arguments.columns.split(",")]
        unknown = [name for name in wanted if name not in table.columns]
        if unknown:
            raise HarnessError(f"There is no column {unknown[0]!r}; there are {', '.join(table.columns)}.")
        table = table[wanted]
    if arguments.out is not None:
        if arguments.out.is_dir():
            raise HarnessError(f"{arguments.out} is a folder; give the name of a file in it.")
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        if arguments.out is None:
            raise HarnessError("A parquet file is not text: give --out FILE.parquet.")
        table.to_parquet(arguments.out, index=False)
    elif arguments.out is None:
        sys.stdout.write(as_text(table, form))
    else:
        arguments.out.write_text(as_text(table, form), encoding="utf-8")
    return 0
