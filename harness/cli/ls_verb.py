"""``harness ls``: what there is to choose from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from typing import Any

from harness.cli.catalogue import KINDS, kind_named, rows

_PIPED_WIDTH = 120


def main(argv: list[str]) -> int:
    """List models, tests, methods, experiments or stats presets."""
    parser = argparse.ArgumentParser(prog="harness ls", description="List what a cell can be made of.")
    parser.add_argument("kind", help=f"one of {', '.join(KINDS)}")
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args(argv)
    found = rows(kind_named(arguments.kind))
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
        return 0
    print_listing(found)
    return 0


def print_listing(found: Iterable[Mapping[str, Any]]) -> None:
    """Print a row a thing, its name never broken, in the width of the terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, row in enumerate(found):
        for column in row if i == 0 else ():
            table.add_column(column, overflow="fold", no_wrap=column in {"name", "size"})
        table.add_row(*(str(value) for value in row.values()))
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    console.print(table, markup=False)
