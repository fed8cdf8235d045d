"""``harness compare``: recorded cells beside each other."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.fold import folded
from harness.errors import HarnessError
from harness.paths import runs_dir

if TYPE_CHECKING:
    from harness.audit.compare import Comparison
    from harness.audit.recorded import Recorded

FORMATS = ("text", "csv", "markdown", "latex")

DESCRIPTION = """Set recorded cells beside each other. Without --rows and --columns each cell is a row, and columns that
do not differ are hidden. Failed, skipped and missing cells are always shown, with the reason."""

EXAMPLES = """examples:
  harness compare --sweep last --rows test --columns model,stats
  harness compare --where method=weat --where test=c1,c2 --value d,ci_low,ci_high
  harness compare --rows test --columns stats --value p --adjust holm
  harness compare --tag pilot --rows test --columns stats --value p --adjust bh --family all
  harness compare --models googlenews,glove-6b-100d --format markdown

families of --adjust: specification (the tests that one specification asks: default), family (all cells of a paper's
tests), all, or any factor, such as test or model,test."""


def main(argv: list[str]) -> int:
    """Print a comparison; what stands beside the table goes to stderr where the format has no comments."""
    parser = argparse.ArgumentParser(
        prog="harness compare",
        description=folded(DESCRIPTION),
        epilog=folded(EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sweep", help="only the cells of this sweep; `last` is the one recorded last")
    parser.add_argument("--tag", help="only the cells that were asked for under this tag (`harness run tag=NAME`)")
    parser.add_argument("--where", action="append", default=[], metavar="KEY=VALUE[,VALUE]", help="only such cells")
    parser.add_argument("--rows", type=_names, default=[], metavar="FACTOR[,FACTOR]")
    parser.add_argument("--columns", type=_names, default=[], metavar="FACTOR[,FACTOR]")
    parser.add_argument("--value", type=_names, default=[], metavar="NAME[,NAME]", help="d, p, ci_low, pattern, ...")
    parser.add_argument("--adjust", choices=("holm", "bh"), help="adjust p within families")
    parser.add_argument("--family", type=_names, metavar="NAME[,NAME]", help="of --adjust (default: specification)")
    parser.add_argument("--models", type=_names, metavar="A,B", help="pair the cells of two models")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--out", type=Path, help="a file (default: standard output)")
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    arguments = parser.parse_args(argv)
    if arguments.family and not arguments.adjust:
        raise HarnessError("--family says within what p-values are adjusted: choose --adjust holm or --adjust bh too.")
    from harness.audit.recorded import load_recorded

    cells = load_recorded(runs_dir(arguments.runs), sweep=arguments.sweep, tag=arguments.tag)
    conditions = _conditions(arguments.where)
    found = _compare(cells.where(conditions) if conditions else cells, arguments)
    text = as_format(found, arguments.format)
    if arguments.format == "csv":
        print("\n".join(found.notes), file=sys.stderr)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


def _compare(cells: Recorded, arguments: argparse.Namespace) -> Comparison:
    from harness.audit.compare import compare, compare_models

    if arguments.models is None:
        return compare(
            cells,
            rows=arguments.rows,
            columns=arguments.columns,
            values=arguments.value,
            adjust=arguments.adjust,
            family=arguments.family or ["specification"],
        )
    if len(arguments.models) != 2:
        raise HarnessError("--models takes two names: --models A,B.")
    if arguments.rows or arguments.columns or arguments.value or arguments.adjust:
        raise HarnessError("--models pairs cells one by one: it goes with --sweep, --where and --format only.")
    return compare_models(cells, *arguments.models)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _conditions(given: list[str]) -> dict[str, list[str]]:
    conditions: dict[str, list[str]] = {}
    for one in given:
        key, equals, values = one.partition("=")
        if not equals:
            raise HarnessError(f"--where {one}: is written KEY=VALUE, such as --where model=googlenews.")
        conditions.setdefault(key, []).extend(values.split(","))
    return conditions


def as_format(found: Comparison, form: str) -> str:
    """Return a comparison as text, csv, markdown or latex."""
    from harness.tables import as_text

    if form == "csv":
        return as_text(found.table, "csv")
    if form == "markdown":
        return as_text(found.table, "markdown") + "".join(f"\n- {note}" for note in found.notes) + "\n"
    if form == "latex":
        return "".join(f"% {note}\n" for note in found.notes) + as_text(found.table, "latex")
    return _plain(found)


def _plain(found: Comparison) -> str:
    """Return aligned columns: numbers to the right, a blank for what a cell does not have."""
    names = [str(name) for name in found.table.columns]
    body = [[_short(name, value) for name, value in zip(names, row, strict=True)] for row in found.table.to_numpy()]
    widths = [max(len(line[i]) for line in [names, *body]) for i in range(len(names))]
    numeric = [all(_is_number(line[i]) for line in body) for i in range(len(names))]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in [names, *body]
    ]
    return "\n".join([*lines, "", *found.notes]) + "\n"


def _short(name: str, value: object) -> str:
    from harness.plots.p_text import format_p

    if value is None or value != value:
        return ""
    if not isinstance(value, float):
        return str(value)
    is_p = name.split(" ")[0] == "p" or name.rsplit(" ", 1)[-1] in {"p", "p_adjusted", "p_greater", "p_two_sided"}
    return format_p(value) if is_p else f"{value:.3f}"


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True
