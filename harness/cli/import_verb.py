"""``harness import``: tests in other projects' formats."""

from __future__ import annotations

import argparse
from pathlib import Path


def main(argv: list[str]) -> int:
    """Turn a test of another project into a test file of ours."""
    parser = argparse.ArgumentParser(
        prog="harness import",
        description="Turn a sent-bias .jsonl test or a wefe-style query (JSON or YAML) into a test file.",
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--out", type=Path, help="where to write (default: NAME.yaml here)")
    arguments = parser.parse_args(argv)
    from harness.stimuli.importers import import_test, write_test

    test = import_test(arguments.path)
    out = arguments.out or Path(f"{test['name']}.yaml")
    write_test(test, out)
    print(f"{out}\nmeasure it with: harness run test=file test.path={out}")
    return 0
