"""A published table beside ours: three lines a cell (measured, published, difference), a column a statistic."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from harness.beside import TOLERANCE, Printed, difference, measured
from harness.result import Result

Pair = tuple[Result, dict[str, Printed]]

PLAIN = frozenset({"d", "p", "n", "n_x", "n_a"})
"""What the short table of a sweep shows well enough: more than these need the long one."""


def print_beside(console: Console, pairs: Sequence[Pair], *, published: str) -> None:
    """Print every statistic that the published table and our cells share, and how far they agree."""
    matched = [(result, printed) for result, printed in pairs if printed]
    for method in dict.fromkeys(str(result.factors["method"]) for result, _ in matched):
        of_method = [(result, printed) for result, printed in matched if result.factors["method"] == method]
        models = sorted({number.model for _, printed in of_method for number in printed.values()})
        whose = ", ".join(models) if len(models) < 4 else f"{len(models)} models"
        console.print(f"\n{method} beside {published} ({whose})", markup=False, highlight=False)
        console.print(_table(of_method))
    for line in agreement(matched):
        console.print(line, markup=False, highlight=False)


def _table(pairs: Sequence[Pair]) -> Table:
    names = list(dict.fromkeys(name for _, printed in pairs for name in printed))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("test\nmodel", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(re.sub(r"[._]", "\n", name), justify="right", no_wrap=True)
    for result, printed in pairs:
        lines = {"measured": _measured, "published": _published, "difference": _difference}
        if not any(_difference(result, number) for number in printed.values()):
            del lines["difference"]
        name = f"{result.factors['test']}{'*' if result.dropped else ''}"
        table.add_row(
            "\n".join([name, str(result.factors["model"]), *_told_apart(result, pairs)]),
            "\n".join(lines),
            *("\n".join(cell(result, printed.get(name)) for cell in lines.values()) for name in names),
        )
    return table


def _told_apart(result: Result, pairs: Sequence[Pair]) -> list[str]:
    """Return the choices that tell a cell from the others of its test and model; an empty list if it is alone."""
    same = [r for r, _ in pairs if all(r.factors[name] == result.factors[name] for name in ("test", "model"))]
    varying = [name for name in result.factors if len({str(r.factors.get(name)) for r in same}) > 1]
    return [", ".join(str(result.factors[name]) for name in varying)] if varying else []


def agreement(pairs: Sequence[Pair]) -> list[str]:
    """Say how many published numbers of the same model were met, and how many patterns."""
    lines = []
    off = [
        (abs(gap), result, name)
        for result, printed in pairs
        for name, number in printed.items()
        if name not in {"p"} and (gap := difference(result, number)) is not None
    ]
    if off:
        within = sum(gap <= TOLERANCE for gap, _, _ in off)
        widest, result, name = max(off, key=lambda item: item[0])
        lines.append(
            f"{within} of {len(off)} published numbers agree within {TOLERANCE:g}; the largest difference is "
            f"{widest:.3f} ({result.factors['test']} on {result.factors['model']}, {name})."
        )
    patterns = [
        (result, number)
        for result, printed in pairs
        if (number := printed.get("pattern")) is not None and number.model == result.factors["model"]
    ]
    if patterns:
        same = sum(result.labels["pattern"] == number.value for result, number in patterns)
        derived = " (as its level 2 effects and asterisks imply)" if any(n.derived for _, n in patterns) else ""
        lines.append(f"{same} of {len(patterns)} published patterns{derived} agree.")
    return lines


def _measured(result: Result, printed: Printed | None) -> str:
    value = None if printed is None else measured(result, printed.name)
    return "" if value is None else _text(value)


def _published(_: Result, printed: Printed | None) -> str:
    if printed is None:
        return ""
    bound = "" if printed.relation == "=" else printed.relation
    value = printed.value if isinstance(printed.value, str) else f"{printed.value:g}"
    return f"{bound}{value}{'*' if printed.significant else ''}"


def _difference(result: Result, printed: Printed | None) -> str:
    if printed is None:
        return ""
    if isinstance(printed.value, str):
        return "same" if measured(result, printed.name) == printed.value else "differs"
    gap = difference(result, printed)
    return "" if gap is None else f"{gap:+.3f}"


def _text(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if value.is_integer():
        return f"{value:.0f}"
    return f"{value:.1e}" if abs(value) < 0.0005 else f"{value:.3f}"
