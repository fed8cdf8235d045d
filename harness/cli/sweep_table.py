"""The table that ends a small sweep: a row a test, a column a model, beside the published values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from harness.beside import Printed, printed_beside
from harness.cli.beside_table import PLAIN, print_beside
from harness.natural import natural_key
from harness.plots.p_text import format_p
from harness.result import Result, ResultStore

_ANY_WIDTH, _TEXT_WIDTH = 10_000, 160

LARGEST = 60
"""Larger sweeps print what CEAT amounts to over them, and no table; `harness compare` gives their table."""

MAIN = (
    ("d", "p"),
    ("r", "p"),
    ("mean_accuracy", "mean_balanced_accuracy", "mean_baseline_accuracy"),
    ("mean_abs_d", "n_significant"),
)
"""The numbers that a method is known by."""

BY_WORD = "p_stimulus"

_CONVENTIONS = frozenset({"ddof", "alternative", "null", "ties", "resamples"})
"""What a preset's name stands for: columns of their own only where that does not tell cells apart."""


def print_table(asked: Mapping[str, Mapping[str, Any]], *, runs: Path, published: str | None) -> None:
    """Print the main numbers of every cell of a small sweep; stimuli that a model lacks are named below.

    What guo2021 says over many CEATs is printed for a sweep of any size.

    ``asked`` gives the factors of every cell, by its fingerprint, as the sweep asked for them.
    """
    store = ResultStore(runs)
    results = []
    for key, factors in asked.items():
        result = store.finished(key)
        if result is not None and _main(result):
            result.factors = dict(factors)
            results.append(result)
    if not results:
        return
    results.sort(key=lambda result: natural_key(str(result.factors["test"])))
    if len(asked) > LARGEST:
        for line in _ceat_summary(results):
            Console(soft_wrap=True).print(line, markup=False, highlight=False)
        return
    beside = _beside(results, published)
    # Piped or on a narrow terminal a wide table is better wrapped by its reader than squeezed.
    console = Console(soft_wrap=False)
    table, narrow = _table(results, beside, published), console.width
    console.width = max(narrow, Measurement.get(console, console.options.update(width=_ANY_WIDTH), table).maximum)
    console.print(table, markup=False)
    console.width = max(narrow, _TEXT_WIDTH)
    if any(set(printed) - PLAIN for printed in beside.values()):
        print_beside(console, [(r, beside[r.fingerprint]) for r in results], published=str(published))
    for line in (*_score_agreement(results), *_ceat_summary(results), *_left_out(results), *_read_as(results)):
        console.print(line, markup=False, highlight=False)


def _main(result: Result) -> tuple[str, ...]:
    names = next((names for names in MAIN if all(name in result.metrics for name in names)), ())
    # Texts of one word are not independent: p over texts never stands without p over words.
    return (*names, BY_WORD) if result.factors.get("unit") == "item" and BY_WORD in result.metrics else names


def _beside(results: list[Result], published: str | None) -> dict[str, dict[str, Printed]]:
    if not published:
        return {}
    from harness.published import load_published

    table = load_published(published)
    return {result.fingerprint: printed_beside(result, table) for result in results}


def _table(results: list[Result], beside: dict[str, dict[str, Printed]], published: str | None) -> Table:
    places, labels = _places(results)
    columns = {place.column: result for result, place in zip(results, places, strict=True)}
    cells = {(place.row, place.column): result for result, place in zip(results, places, strict=True)}
    patterns = any("pattern" in result.labels for result in results)
    printed = (
        {place: numbers["d"].value for place, result in cells.items() if "d" in (numbers := beside[result.fingerprint])}
        if beside
        else {}
    )
    of_rows: dict[tuple[str, ...], set[float | str]] = {}
    for (row, _), value in printed.items():
        of_rows.setdefault(row, set()).add(value)
    # One column for all where a row's cells have one published value, else one for each.
    shared = all(len(values) == 1 for values in of_rows.values())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("test", *labels):
        table.add_column(f"\n{name}" if labels else name)
    if printed and shared:
        table.add_column(f"published d\n{published}", justify="right")
    for (name_across, _), example in columns.items():
        first, *others = _main(example)
        table.add_column(f"{name_across}\n{_heading(first)}", justify="right")
        for name in others:
            table.add_column(f"\n{_heading(name)}", justify="right")
        if patterns:
            table.add_column("\npattern")
        if not shared:
            table.add_column(f"published d\n{published}", justify="right")
    for row in dict.fromkeys(place.row for place in places):
        shown = list(row)
        if printed and shared:
            shown += [f"{value:.2f}" for value in of_rows.get(row, ())] or [""]
        for column, example in columns.items():
            found = cells.get((row, column))
            width = len(_main(example)) + patterns
            shown += [""] * width if found is None else _numbers(found, patterns=patterns)
            if not shared:
                shown.append(f"{printed[row, column]:.2f}" if (row, column) in printed else "")
        table.add_row(*shown)
    return table


class Place(NamedTuple):
    """Where a cell stands: its test and the factors that label rows; the factor across, and the numbers it shows."""

    row: tuple[str, ...]
    column: tuple[str, tuple[str, ...]]


def _places(results: list[Result]) -> tuple[list[Place], list[str]]:
    """Return the place of every cell, no two in one, and the factors that label rows beside the test.

    One factor goes across, the model if it varies, so that a table of many factors grows longer and not wider.
    """
    for hidden in (_CONVENTIONS, frozenset[str]()):
        across, *labels = _varying(results, hidden)
        places = [
            Place(tuple(_value(r, name) for name in ("test", *labels)), (_value(r, across), _main(r))) for r in results
        ]
        if len(set(places)) == len(results):
            return places, labels
    named = [
        place._replace(row=(*place.row, result.fingerprint[:6])) for place, result in zip(places, results, strict=True)
    ]
    return named, [*labels, "cell"]


def _value(result: Result, factor: str) -> str:
    value = result.factors.get(factor)
    return "" if value is None else str(value)


def _varying(results: list[Result], hidden: frozenset[str]) -> list[str]:
    """Return the factors that tell the cells of one test apart, the one that goes across first."""
    names = dict.fromkeys(("model", "method", "target", "stats", *sorted(results[0].factors)))
    by_test = [list(group) for _, group in itertools.groupby(results, key=lambda result: result.factors["test"])]
    found = [
        name
        for name in names
        if name not in hidden | {"test"}
        and any(len({str(result.factors.get(name)) for result in group}) > 1 for group in by_test)
    ]
    return found or ["model"]


def _numbers(result: Result, *, patterns: bool) -> list[str]:
    first, *others = _main(result)
    numbers = [f"{result.metrics[first]:.2f}{'*' if result.dropped else ''}"]
    for name in others:
        value = result.metrics[name]
        numbers.append(_number(name, value, result))
    return [*numbers, result.labels.get("pattern", "")] if patterns else numbers


def _number(name: str, value: float, result: Result) -> str:
    if name in ("p", BY_WORD):
        return format_p(value, result.metrics.get(name.replace("p", "log10_p", 1)))
    return f"{value:.0f}" if name.startswith("n_") else f"{value:.2f}"


def _heading(name: str) -> str:
    return "p by word" if name == BY_WORD else name.removeprefix("mean_").replace("_", " ")


def _score_agreement(results: list[Result]) -> list[str]:
    """Say how far two models agree on their words' scores, where a test gives every word one."""
    from harness.methods.wefat import compare_scores

    scored = [result for result in results if result.tables.get("scores")]
    lines = []
    for one, other in itertools.combinations(scored, 2):
        if one.factors["test"] == other.factors["test"] and one.factors["model"] != other.factors["model"]:
            found = compare_scores(one, other)
            lines.append(
                f"{one.factors['test']}: word scores of {one.factors['model']} and {other.factors['model']}: "
                f"r = {found.pearson.r:.2f}, Spearman {found.spearman.r:.2f}, {len(found.words)} words"
            )
    return lines


def _ceat_summary(results: list[Result]) -> list[str]:
    from harness.methods.ceat_summary import summary_sentences

    factors = {name for result in results for name in result.factors}
    return summary_sentences([result.row() for result in results], factors=factors)


def _left_out(results: list[Result]) -> list[str]:
    """Name the stimuli that were left out of a test: one line for all models that lack the same in a context."""
    several = len({str(result.factors.get("context")) for result in results}) > 1
    models: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for result in results:
        if result.dropped:
            context = f" in {result.factors.get('context')}" if several else ""
            key = (str(result.factors["test"]), context, tuple(result.dropped))
            models.setdefault(key, []).append(str(result.factors["model"]))
    return [
        f"{test} on {', '.join(dict.fromkeys(names))}{context}: left out {', '.join(words)}"
        for (test, context, words), names in models.items()
    ]


def _read_as(results: list[Result]) -> list[str]:
    from harness.read_as import warnings

    return list(dict.fromkeys(line for result in results for line in warnings(result)))
