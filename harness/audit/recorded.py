"""The recorded cells of a sweep or of a whole folder, and the factors in which they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, did_you_mean
from harness.result import Result, ResultStore
from harness.tables import asked_factors, full_sweep_id, with_whole_numbers

if TYPE_CHECKING:
    import pandas as pd

QUESTION = "test"
"""Not a choice: another test is another question, and no robustness is asked of a change of question."""

KINDS = {
    "model": "model",
    "seed": "chance",
    **dict.fromkeys(("stats", "ddof", "alternative", "null", "ties", "resamples"), "statistical convention"),
}
"""What a factor is; every other one is a design choice."""


def kind_of(factor: str) -> str:
    """Return whether a factor is the model, a design choice, a statistical convention, or chance."""
    return KINDS.get(factor, "design choice")


@dataclass(frozen=True)
class Recorded:
    """Cells as recorded, under the factors by which the sweep asked for them.

    ``lost`` are the factors of cells that it asked for and of which no result file is left, by fingerprint; a broken
    file of no sweep has none.
    """

    runs: Path
    results: list[Result]
    sweep: str | None = None
    lost: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def finished(self) -> list[Result]:
        """The cells that were measured."""
        return [result for result in self.results if result.status == "finished"]

    @property
    def unfinished(self) -> list[Result]:
        """The cells that failed or were skipped."""
        return [result for result in self.results if result.status != "finished"]

    def where(self, conditions: Mapping[str, Sequence[str]]) -> Recorded:
        """Keep the cells whose factor, label or status has one of the values given."""
        known = {name for result in self.results for name in _described(result)}
        for name in conditions:
            if name not in known:
                raise HarnessError(
                    f"--where {name}=…: no cell has {name!r}.{did_you_mean(name, known)} "
                    f"There are {', '.join(sorted(known))}."
                )
        kept = [
            result
            for result in self.results
            if all(_text(_described(result).get(name)) in values for name, values in conditions.items())
        ]
        lost = {
            key: factors
            for key, factors in self.lost.items()
            if not factors or all(_text(factors.get(name)) in values for name, values in conditions.items())
        }
        if not kept:
            asked = ", ".join(f"{name}={','.join(values)}" for name, values in conditions.items())
            raise HarnessError(f"None of the {len(self.results)} recorded cells has {asked}.")
        return replace(self, results=kept, lost=lost)

    def trouble(self) -> list[str]:
        """Say in words which cells have no numbers, and why."""
        counts = Counter((result.status, result.reason) for result in self.unfinished)
        lines = [f"{status}: {number} × {reason}" for (status, reason), number in counts.most_common()]
        if self.lost:
            first = ", ".join(key[:16] for key in list(self.lost)[:5])
            lines.append(f"missing: {len(self.lost)} × no result file, or a broken one ({first})")
        return lines


def _described(result: Result) -> dict[str, Any]:
    return {**result.factors, **result.labels, "status": result.status, "sweep": result.sweep}


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def load_recorded(runs: Path, *, sweep: str | None = None, tag: str | None = None) -> Recorded:
    """Read the cells of a sweep or of a tag, in the order asked, or every recorded cell."""
    store = ResultStore(runs)
    asked = asked_factors(runs, sweep=sweep, tag=tag)
    if asked is None:
        results = list(store)
        lost: dict[str, dict[str, Any]] = {key: {} for key in store.unreadable(results)}
    else:
        found = {key: store.read(key) for key in asked}
        results = [replace(result, factors=asked[key]) for key, result in found.items() if result is not None]
        lost = {key: asked[key] for key, result in found.items() if result is None}
    if not results and sweep is not None:
        raise HarnessError(f"Sweep {sweep} has no result file that can be read; its command measures the cells again.")
    if not results:
        raise HarnessError(f"No cell is recorded under {runs}; `harness run experiment=demo` records the first ones.")
    return Recorded(runs, results, None if sweep is None else full_sweep_id(runs, sweep), lost)


def frame(results: Iterable[Result], *, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return one row a cell: all that a result says, or only the columns named."""
    import pandas as pd

    rows = []
    for result in results:
        row = {**result.metrics, **result.labels, **result.factors}
        row |= {"fingerprint": result.fingerprint, "status": result.status, "reason": result.reason}
        rows.append(row if names is None else {name: row.get(name) for name in names})
    return with_whole_numbers(pd.DataFrame(rows))


def factor_names(results: Iterable[Result]) -> list[str]:
    """Return the factors of all cells in the order in which a cell lists them."""
    return list(dict.fromkeys(name for result in results for name in result.factors))


@dataclass(frozen=True)
class Factors:
    """The factors that differ between cells, the value of those that do not, and those that only go along.

    ``along`` maps a factor to an earlier one that determines it: a preset determines its ``ties`` where no sweep sets
    them apart from it.
    """

    varying: list[str]
    constant: dict[str, Any]
    along: dict[str, str]

    @property
    def choices(self) -> list[str]:
        """The factors that are choices of the researcher: all that vary but the test."""
        return [name for name in self.varying if name != QUESTION]


def factors_of(results: Sequence[Result]) -> Factors:
    """Sort the factors of cells."""
    import numpy as np
    import pandas as pd

    names = factor_names(results)
    columns = {name: [_text(result.factors.get(name)) for result in results] for name in names}
    codes = {name: pd.factorize(np.array(values, dtype=object))[0] for name, values in columns.items()}
    levels = {name: int(code.max()) + 1 for name, code in codes.items()}
    constant = {name: results[0].factors.get(name) for name in names if levels[name] == 1}
    varying: list[str] = []
    along: dict[str, str] = {}
    for name in (name for name in names if levels[name] > 1):
        parent = next(
            (p for p in varying if len(np.unique(codes[p] * levels[name] + codes[name])) == levels[p]),
            None,
        )
        if parent is None or name == QUESTION:
            varying.append(name)
        else:
            along[name] = parent
    return Factors(varying, constant, along)
