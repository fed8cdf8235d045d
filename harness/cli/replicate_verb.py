"""``harness replicate``: a published table from our own runs, beside the paper's numbers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from harness.paths import runs_dir

if TYPE_CHECKING:
    from harness.audit.replicate import Line, Need, Replication

DESCRIPTION = """Measure what a published table needs and is not measured yet, and print ours beside it: difference,
agreement within ±.011, sign, and verdict where the paper's is known. Without a name: the stored tables, and how much of
each can be measured on this machine."""

_FEW = 3


def main(argv: list[str]) -> int:
    """Replicate a table, or list all; exit code 1 if a cell failed."""
    parser = argparse.ArgumentParser(prog="harness replicate", description=DESCRIPTION)
    parser.add_argument("name", nargs="?", help="a table, such as caliskan2017.tableS1 or wolfe2024.table4")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an override for every cell")
    parser.add_argument("--model", help="measure on this model in place of the paper's: shown, and not judged")
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    arguments = parser.parse_args(argv)
    runs = runs_dir(arguments.runs)
    extra = [*arguments.set, *([f"model={arguments.model}"] if arguments.model else [])]
    if arguments.name is None:
        _list(runs)
        return 0
    from harness.audit.replicate import replicate

    found = replicate(arguments.name, runs=runs, measure=lambda configs: _measure(configs, runs, argv), extra=extra)
    _print(found)
    return 1 if found.failed else 0


def _measure(configs: list[dict[str, Any]], runs: Path, argv: list[str]) -> list[tuple[str, str]]:
    """Run the cells through the machinery of a sweep, one after the other in this process."""
    from harness.cli.sweep_report import watch
    from harness.sweep import run_plan, run_sweep

    def launch(plans: list[Path]) -> None:
        for plan in plans:
            run_plan(plan)

    settings = {**configs[0], "figures": "never"}
    command = " ".join(["harness replicate", *argv])
    outcome = run_sweep(configs, runs=runs, settings=settings, command=command, workers=1, launch=launch, watch=watch)
    counts = outcome.counts
    Console(stderr=True, soft_wrap=True).print(
        f"sweep {outcome.sweep}: {counts['measured']} measured, {counts['known']} known, {counts['failed']} failed, in "
        f"{outcome.seconds:.1f} s",
        highlight=False,
    )
    return outcome.failures


def _print(found: Replication) -> None:
    from harness.audit.replicate import summary_line

    console = Console()
    console.width = max(console.width, 120)
    if found.lines:
        console.print(_table(found.lines))
    dropped = {
        f"{line.test} on {line.model}: left out {', '.join(line.dropped)}" for line in found.lines if line.dropped
    }
    for text in sorted(dropped):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for name, reason in found.failed:
        console.print(f"failed: {name}: {reason}", markup=False, highlight=False, soft_wrap=True)
    for reason, needs in found.unavailable.items():
        numbers = sum(need.numbers for need in needs)
        text = f"not run: {len(needs)} cells ({numbers} printed numbers; {_tests(needs)}): {reason}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    console.print(summary_line(found), markup=False, highlight=False, soft_wrap=True)


def _tests(needs: list[Need]) -> str:
    names = list(dict.fromkeys(need.test for need in needs))
    return ", ".join(names[:_FEW]) + (f" and {len(names) - _FEW} more tests" if len(names) > _FEW else "")


def _table(lines: list[Line]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("test", "model", "statistic"):
        table.add_column(name, no_wrap=True)
    for name in ("ours", "published", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("within ±.011", "sign", "verdict"):
        table.add_column(name, no_wrap=True)
    for line in lines:
        table.add_row(
            line.test + ("*" if line.dropped else ""),
            line.model,
            line.statistic,
            _value(line.ours),
            ("" if line.relation == "=" else line.relation) + _value(line.published, short=True),
            "" if line.difference is None else f"{line.difference:+.3f}",
            {True: "yes", False: "no", None: ""}[line.agrees],
            {True: "same", False: "differs", None: ""}[line.same_sign],
            {True: "same", False: "differs", None: ""}[line.same_verdict],
        )
    return table


def _value(value: float | str, *, short: bool = False) -> str:
    if isinstance(value, str):
        return value
    if short or float(value).is_integer():
        return f"{value:g}"
    return f"{value:.1e}" if abs(value) < 0.0005 else f"{value:.3f}"


def _list(runs: Path) -> None:
    """Print every stored table with what of it can be measured here."""
    from harness.audit.replicate import needs_of, unavailable
    from harness.published import load_published, published_tables

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("table", no_wrap=True)
    table.add_column("numbers", justify="right")
    table.add_column("cells", justify="right")
    table.add_column("here", justify="right")
    table.add_column("what is in the way of the others")
    known: dict[Any, str | None] = {}
    for name in published_tables():
        rows = load_published(name)
        needs = needs_of(rows)
        reasons = []
        for need in needs:
            key = (need.model, need.method, need.choices)
            if key not in known:
                known[key] = unavailable(need, runs=runs)
            reasons.append(known[key])
        others = list(dict.fromkeys(reason for reason in reasons if reason))
        text = "; ".join(others[:2]) + (f"; and {len(others) - 2} more" if len(others) > 2 else "")
        table.add_row(name, str(len(rows)), str(len(needs)), str(reasons.count(None)), text)
    console = Console()
    console.width = max(console.width, 140)
    console.print(table)
