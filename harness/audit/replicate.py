"""A published table from our own runs: ours beside the paper's, and what became of the cells that it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.audit.meeting import NO_STAND_INS, Met, StandIns, meet, reasons_of
from harness.audit.needs import DIRECT, Need, need_of, needs_of, own_numbers, place_of, without
from harness.beside import TOLERANCE, Printed, difference, measured, printed_beside
from harness.methods.weat import SIGNIFICANT
from harness.natural import natural_key
from harness.published import load_published
from harness.result import Result

if TYPE_CHECKING:
    import pandas as pd

P_OF = {"d": "p", "level2_x_d": "level2_x_p", "level2_y_d": "level2_y_p", "r": "p"}
"""The p-value that gives the verdict on a statistic."""

LEVELS = {"husse2022": 0.01}
"""Below which p a paper calls a number significant, where it is not .05."""

NO_EFFECTS = frozenset({"p", "n", "n_x", "n_a"})
"""Printed numbers that are shown, and not counted as replicated effects."""


@dataclass(frozen=True)
class Line:
    """One printed number beside ours.

    ``agrees`` is whether ours lies within the tolerance, or within a printed bound; ``same_sign`` and ``same_verdict``
    are None where there is no sign, or the paper's verdict is not known. ``stand_in`` marks another model than the
    paper's: its numbers are shown and not judged.
    """

    test: str
    model: str
    statistic: str
    ours: float | str
    published: float | str
    relation: str
    difference: float | None
    agrees: bool | None
    same_sign: bool | None
    same_verdict: bool | None
    stand_in: bool
    dropped: tuple[str, ...]
    choice: str = ""


@dataclass
class Replication:
    """A published table and what became of the cells that it needs; ``unavailable`` and ``failed`` by the reason."""

    name: str
    lines: list[Line]
    met: list[Met]
    unavailable: dict[str, list[Need]]
    failed: list[tuple[str, str]]

    @property
    def cells(self) -> int:
        """How many distinct cells were measured."""
        return len({met.result.fingerprint for met in self.met if met.result is not None})


def replicate(
    name: str,
    *,
    runs: Path,
    measure: Callable[[list[dict[str, Any]]], list[tuple[str, str]]],
    stand_ins: StandIns = NO_STAND_INS,
    extra: Sequence[str] = (),
) -> Replication:
    """Measure what a published table still needs, and set ours beside it.

    Parameters
    ----------
    name
        A table, such as ``caliskan2017.tableS1``.
    runs
        The folder of runs.
    measure
        Runs the configs as a sweep; returns the cells that failed, with the reason.
    stand_ins
        Models and a corpus in place of the paper's: ours are shown and not judged.
    extra
        Overrides for every cell, such as a preset.
    """
    table = own_numbers(load_published(name))
    met, failed = meet(needs_of(table), runs=runs, measure=measure, stand_ins=stand_ins, extra=extra)
    printed = len({row["model"] for row in table.to_dict("records") if need_of(row) is not None})
    by_model = not stand_ins.models or printed == 1
    return Replication(name, lines_met(met, table) if by_model else [], met, reasons_of(met), failed)


def level_of(table: pd.DataFrame) -> float:
    """Return the p below which the paper of a table calls a number significant."""
    return LEVELS.get(str(table["paper"].iloc[0]), SIGNIFICANT)


def lines_of(results: Sequence[Result], table: pd.DataFrame) -> list[Line]:
    """Set every finished cell beside the table."""
    level = level_of(table)
    lines = []
    for result in sorted(results, key=lambda one: natural_key(str(one.factors["test"]))):
        for name, printed in printed_beside(result, table).items():
            ours = measured(result, name)
            if ours is not None:
                lines.append(_line(result, name, ours, printed, level))
    return lines


def _line(result: Result, name: str, ours: float | str, printed: Printed, level: float) -> Line:
    stand_in = printed.model != result.factors["model"]
    gap = difference(result, printed)
    agrees: bool | None = None
    same_sign: bool | None = None
    if not stand_in:
        if isinstance(printed.value, str) or isinstance(ours, str):
            agrees = ours == printed.value
        elif gap is not None:
            agrees = abs(gap) <= TOLERANCE + 1e-12
        else:
            agrees = ours <= printed.value if printed.relation == "<" else ours >= printed.value
        if not isinstance(printed.value, str) and not isinstance(ours, str) and name in P_OF:
            same_sign = math.copysign(1, ours) == math.copysign(1, printed.value)
    p = result.metrics.get(P_OF.get(name, ""))
    known = printed.significant is not None and p is not None and not stand_in
    return Line(
        test=str(result.factors["test"]),
        model=str(result.factors["model"]),
        statistic=name,
        ours=ours,
        published=printed.value,
        relation=printed.relation,
        difference=gap,
        agrees=agrees,
        same_sign=same_sign,
        same_verdict=(p < level) == printed.significant if known and p is not None else None,
        stand_in=stand_in,
        dropped=tuple(result.dropped),
    )


def lines_met(met: Sequence[Met], table: pd.DataFrame) -> list[Line]:
    """Set every measured cell beside the numbers that it was measured for."""
    needs = [need_of(row) for row in table.to_dict("records")]
    # What a cell was asked to be it is: only choices that are no key of the config tell its numbers apart.
    choices = [without(row["choice"], DIRECT) for row in table.to_dict("records")]
    known = table.assign(choice=choices)
    lines = []
    for one in met:
        if one.result is not None:
            rows = [need == replace(one.need, numbers=0) for need in needs]
            said = place_of(table[rows].to_dict("records")[0])
            lines += [replace(line, choice=said) for line in lines_of([one.result], known[rows])]
    return sorted(lines, key=lambda line: natural_key(line.test))


def lines_frame(lines: Sequence[Line]) -> pd.DataFrame:
    """Return one row a printed number."""
    import pandas as pd

    return pd.DataFrame([{**asdict(line), "dropped": ", ".join(line.dropped)} for line in lines])


def summary_line(found: Replication) -> str:
    """Return the one line that ends a replication."""
    judged = [line for line in found.lines if not line.stand_in]
    if not found.lines:
        return f"{found.name}: no printed number could be compared."
    if not judged:
        models = ", ".join(sorted({line.model for line in found.lines}))
        return f"{found.name}: {len(found.lines)} printed numbers beside {models}, another model than the paper's."

    def of(values: list[bool | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{sum(known)} of {len(known)}"

    effects = [line for line in judged if line.difference is not None and line.statistic not in NO_EFFECTS]
    numbers = [line.agrees for line in effects]
    parts = [
        f"{found.name}: {found.cells} cells compared",
        f"{of([*numbers])} numbers within ±{TOLERANCE:g}".replace("0.", "."),
        f"same sign {of([line.same_sign for line in judged])}",
        f"same verdict {of([line.same_verdict for line in judged])}",
    ]
    patterns = [line.agrees for line in judged if line.statistic == "pattern"]
    return ", ".join(parts + ([f"same pattern {of([*patterns])}"] if patterns else [])) + "."
