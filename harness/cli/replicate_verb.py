"""``harness replicate``: a published table from our own runs, beside the paper's numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from harness.errors import HarnessError, did_you_mean
from harness.paths import runs_dir

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from harness.audit.meeting import StandIns
    from harness.audit.needs import Need
    from harness.audit.paper_grid import Entry
    from harness.audit.replicate import Line, Replication

DESCRIPTION = """Measure what a published table needs and is not measured yet, and print ours beside it: difference,
agreement within ±.011, sign, and verdict where the paper's is known. Models and a corpus that are on this machine can
stand in for the paper's: then ours are shown beside the paper's, and not judged. Without a name: what can be
replicated, and how much of each can be measured on this machine. Numbers also go to replications/ in the folder of
runs, as CSV, and figures as PNG and SVG."""

_PLACE = "replications"

_FEW = 3

_NOTHING = "there is no number of ours, for the reasons above; nothing is written."


def main(argv: list[str]) -> int:
    """Replicate a table, or list all; exit code 1 if a cell failed."""
    parser = argparse.ArgumentParser(prog="harness replicate", description=DESCRIPTION)
    parser.add_argument("name", nargs="?", help="a table, such as caliskan2017.tableS1 or wolfe2024.table4")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an override for every cell")
    parser.add_argument(
        "--models", "--model", default="", metavar="A,B", help="measure on these models in place of the paper's"
    )
    parser.add_argument("--corpus", metavar="NAME", help="a built corpus in place of the Reddit dump of the papers")
    parser.add_argument("--repeats", type=int, default=10, help="measurements behind a runtime (default: 10)")
    parser.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    arguments = parser.parse_args(argv)
    runs = runs_dir(arguments.runs)
    if arguments.repeats < 1:
        raise HarnessError(f"--repeats {arguments.repeats}: must be 1 or more.")
    if arguments.name is None:
        _list(runs)
        return 0
    from harness.audit.husse2022 import STUDIES
    from harness.audit.meeting import StandIns
    from harness.audit.replicate import replicate
    from harness.published import published_tables

    every = list(dict.fromkeys([*published_tables(), *STUDIES]))
    if arguments.name not in every:
        raise HarnessError(
            f"There is no table or figure named {arguments.name!r}.{did_you_mean(arguments.name, every)} "
            "`harness replicate` lists all."
        )
    models = tuple(dict.fromkeys(filter(None, arguments.models.split(","))))
    stand_ins = StandIns(models, arguments.corpus)
    _check(stand_ins, arguments.set)

    def measure(configs: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return _measure(configs, runs, argv)

    if arguments.name in STUDIES:
        return _study(arguments, runs, stand_ins, measure)
    found = replicate(arguments.name, runs=runs, measure=measure, stand_ins=stand_ins, extra=arguments.set)
    _print(found, runs, stand_ins)
    return 1 if found.failed else 0


def _check(stand_ins: StandIns, overrides: Sequence[str]) -> None:
    """Raise one sentence where a name is unknown: it is a mistake, and no reason why a cell cannot be run."""
    from harness.audit.meeting import composer
    from harness.cli.catalogue import config_files
    from harness.cli.run_verb import sentence
    from harness.corpus.manifest import corpora_dir, find_corpus

    known = config_files("model")
    for name in stand_ins.models:
        if name not in known:
            raise HarnessError(f"--models {name}: there is no such model.{did_you_mean(name, known)}")
    if stand_ins.corpus is not None:
        find_corpus(stand_ins.corpus, corpora_dir(runs_dir()))
    try:
        with composer() as compose:
            compose(overrides)
    except Exception as error:
        raise sentence(error) from error


def _study(
    arguments: argparse.Namespace,
    runs: Path,
    stand_ins: StandIns,
    measure: Callable[[list[dict[str, Any]]], list[tuple[str, str]]],
) -> int:
    """Make a table of comparisons or a figure of the paper from our own cells."""
    from harness.audit.husse2022 import STUDIES, Settings
    from harness.audit.meeting import meet, reasons_of
    from harness.audit.paper_grid import OURS, as_frame

    study = STUDIES[arguments.name]
    met, failed = meet(study.needs(), runs=runs, measure=measure, stand_ins=stand_ins, extra=arguments.set)
    made = study.make(met, Settings(runs, stand_ins.models, arguments.repeats))
    console = _console()
    if made.entries:
        console.print(_grid(made.entries, made.labels))
    for note in made.notes:
        _say(console, note)
    _trouble(console, failed, reasons_of(met))
    cells = len({one.result.fingerprint for one in met if one.result is not None})
    ours = sum(entry.source == OURS and entry.value is not None for entry in made.entries)
    if ours:
        files = _saved(runs, arguments.name, as_frame(made.entries, made.labels), made.figure)
        _say(console, f"{arguments.name} ({study.title}): {ours} numbers of ours from {_count(cells, 'cell')}.")
        _say(console, f"written: {', '.join(str(file) for file in files)}")
    else:
        _say(console, f"{arguments.name} ({study.title}): {_NOTHING}")
    return 1 if failed else 0


def _saved(runs: Path, name: str, table: pd.DataFrame, figure: Figure | None) -> list[Path]:
    from harness.plots.style import save

    folder = runs / _PLACE
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    table.to_csv(path, index=False)
    # `save` puts the ending in the place of the last dot's.
    return [path, *(save(figure, folder / f"{name}.figure") if figure is not None else [])]


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


def _console() -> Console:
    console = Console()
    console.width = max(console.width, 150)
    return console


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _print(found: Replication, runs: Path, stand_ins: StandIns) -> None:
    from harness.audit.needs import comparisons, own_numbers
    from harness.audit.paper_grid import LABELS, OURS, PUBLISHED, as_frame, entries_of
    from harness.audit.replicate import lines_frame, summary_line
    from harness.published import load_published

    console = _console()
    closing = summary_line(found)
    if found.lines:
        console.print(_table(found.lines))
    elif stand_ins:
        entries = entries_of(own_numbers(load_published(found.name)), found.met)
        console.print(_grid(entries, LABELS))
        ours, printed = (
            sum(entry.source == source and entry.value is not None for entry in entries) for source in (OURS, PUBLISHED)
        )
        file = _saved(runs, found.name, as_frame(entries), None)[0] if ours else None
        closing = (
            f"{found.name}: {ours} numbers of {', '.join(stand_ins.models) or 'ours'} beside {printed} printed ones; "
            f"*: p below the paper's level; –: no number, for the reason above. Written: {file}"
            if ours
            else f"{found.name}: {_NOTHING}"
        )
    dropped = {
        f"{line.test} on {line.model}: left out {', '.join(line.dropped)}" for line in found.lines if line.dropped
    }
    for text in sorted(dropped):
        _say(console, text)
    _trouble(console, found.failed, found.unavailable)
    others = comparisons(load_published(found.name))
    if others:
        _say(console, f"not compared: {_count(len(others), 'printed number')} of no single cell: {_of_cells(others)}")
    _say(console, closing)
    if found.lines:
        _say(console, f"written: {_saved(runs, found.name, lines_frame(found.lines), None)[0]}")


def _of_cells(rows: Sequence[Mapping[Hashable, Any]]) -> str:
    texts = [" ".join(filter(None, (str(row["statistic"]), str(row["note"])))) for row in rows]
    more = f" and {len(texts) - _FEW} more" if len(texts) > _FEW else ""
    return "; ".join(texts[:_FEW]) + more


def _trouble(console: Console, failed: list[tuple[str, str]], unavailable: dict[str, list[Need]]) -> None:
    """Say which cells failed and which could not be run, and why."""
    for name, reason in failed:
        if f"failed: {reason}" not in unavailable:
            _say(console, f"failed: {name}: {reason}")
    for reason, needs in unavailable.items():
        numbers = sum(need.numbers for need in needs)
        cells = f"{_count(len(needs), 'cell')} ({_count(numbers, 'printed number')}; {_tests(needs)})"
        what, text = (
            ("failed", reason.removeprefix("failed: ")) if reason.startswith("failed: ") else ("not run", reason)
        )
        _say(console, f"{what}: {cells}: {text}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _grid(entries: Sequence[Entry], labels: Sequence[str]) -> Table:
    """Return entries at their places: our models, then the paper's; a star is significant, a dash has no number."""
    from harness.audit.paper_grid import OURS

    table = Table(box=None, pad_edge=False, header_style="bold")
    found = {(entry.place, entry.source, entry.model): entry for entry in entries}
    columns = sorted(dict.fromkeys((source, model) for _, source, model in found), key=lambda pair: pair[0] != OURS)
    places = list(dict.fromkeys(entry.place for entry in entries))
    shown = [i for i in range(len(labels)) if len({place[i] for place in places}) > 1] or [0]
    for i in shown:
        table.add_column(labels[i], no_wrap=True)
    for source, model in columns:
        table.add_column(f"{model}\n{source}", justify="right", overflow="fold")
    for place in places:
        table.add_row(*(place[i] for i in shown), *(_entry(found.get((place, *column))) for column in columns))
    return table


def _entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.value is None:
        return "–"
    return (entry.value if isinstance(entry.value, str) else f"{entry.value:.2f}") + ("*" if entry.significant else "")


def _tests(needs: list[Need]) -> str:
    names = list(dict.fromkeys(need.test for need in needs))
    return ", ".join(names[:_FEW]) + (f" and {len(names) - _FEW} more tests" if len(names) > _FEW else "")


def _table(lines: list[Line]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    chosen = len({line.choice for line in lines}) > 1
    for name in ("test", "model", *(["choice"] if chosen else []), "statistic"):
        table.add_column(name, no_wrap=True)
    for name in ("ours", "published", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("within ±.011", "sign", "verdict"):
        table.add_column(name, no_wrap=True)
    for line in lines:
        table.add_row(
            line.test + ("*" if line.dropped else ""),
            line.model,
            *([line.choice] if chosen else []),
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
    from harness.audit.availability import unavailable
    from harness.audit.husse2022 import STUDIES
    from harness.audit.needs import needs_of
    from harness.published import load_published, published_tables

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("table", no_wrap=True)
    table.add_column("numbers", justify="right")
    table.add_column("cells", justify="right")
    table.add_column("here", justify="right")
    table.add_column("what is in the way of the others")
    known: dict[Any, str | None] = {}
    numbers = {name: len(load_published(name)) for name in published_tables()}
    for name in [*numbers, *(name for name in STUDIES if name not in numbers)]:
        needs = STUDIES[name].needs() if name in STUDIES else needs_of(load_published(name))
        reasons = []
        for need in needs:
            key = (need.model, need.method, need.choices)
            if key not in known:
                known[key] = unavailable(need, runs=runs)
            reasons.append(known[key])
        others = list(dict.fromkeys(reason for reason in reasons if reason))
        more = [f"and {len(others) - 2} more"] if len(others) > 2 else []
        text = "; ".join([*(reason.removesuffix(".") for reason in others[:2]), *more])
        printed = str(numbers[name]) if name in numbers else ""
        table.add_row(name, printed, str(len(needs)), str(reasons.count(None)), text)
    console = Console()
    console.width = max(console.width, 140)
    console.print(table, markup=False)
