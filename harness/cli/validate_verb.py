"""``harness validate``: check stimulus files before measuring with them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main(argv: list[str]) -> int:
    """Check a file or a folder; exit code 2 if there are errors."""
    parser = argparse.ArgumentParser(
        prog="harness validate",
        description="Check concepts and tests: duplicates, a word on both sides, unequal sizes, few words, provenance.",
    )
    parser.add_argument("path", type=Path, nargs="+", help="a YAML file or a folder of them")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    arguments = parser.parse_args(argv)
    from harness.stimuli.validate import validate

    checked, problems = 0, []
    for path in arguments.path:
        number, found = validate(path)
        checked += number
        problems += found
    errors = sum(problem.level == "error" for problem in problems)
    if arguments.json:
        print(json.dumps([{"level": p.level, "path": str(p.path), "message": p.message} for p in problems], indent=1))
    else:
        for problem in problems:
            prefix = "" if problem.message.startswith(str(problem.path)) else f"{problem.path}: "
            print(f"{problem.level}: {prefix}{problem.message}")
        counts = ((checked, "file"), (errors, "error"), (len(problems) - errors, "warning"))
        files, *levels = (f"{number} {name}{'' if number == 1 else 's'}" for number, name in counts)
        print(f"{files} checked: {', '.join(levels)}")
    return 2 if errors or (arguments.strict and problems) else 0
