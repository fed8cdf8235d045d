"""Ours beside a paper's numbers where the models are others: every entry by its place in the paper's table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.audit.meeting import Met
from harness.audit.needs import Need, need_of, place_of
from harness.audit.replicate import level_of
from harness.beside import ALIASES, measured

if TYPE_CHECKING:
    import pandas as pd

OURS, PUBLISHED = "ours", "published"

LABELS = ("test", "method", "choice", "statistic")
"""What gives an entry its place in a table of effects."""


@dataclass(frozen=True)
class Entry:
    """A number at its place, ours or published; without a value, ``reason`` tells why."""

    place: tuple[str, ...]
    source: str
    model: str
    value: float | str | None
    significant: bool | None = None
    reason: str = ""


def entries_of(table: pd.DataFrame, met: Sequence[Met]) -> list[Entry]:
    """Return every number of a published table at its place, and ours at the same place for each model measured."""
    level = level_of(table)
    found: dict[Need, list[Met]] = {}
    for one in met:
        found.setdefault(_of(one.need), []).append(one)
    entries: dict[tuple[tuple[str, ...], str, str], Entry] = {}
    for row in table.to_dict("records"):
        need, place = need_of(row), _place(row)
        if need is None:
            continue
        for one in found.get(_of(need), ()):
            entries.setdefault((place, OURS, one.model), _ours(row, place, one, level))
        known = row["significant"] if isinstance(row["significant"], bool) else None
        value = row["value"] if row["value"] == row["value"] else None
        entry = Entry(place, PUBLISHED, str(row["model"]), value, known, "" if value is not None else str(row["note"]))
        entries.setdefault((place, PUBLISHED, entry.model), entry)
    return list(entries.values())


def _of(need: Need) -> Need:
    """Return a need as it is known whatever the model, and however many numbers are printed of it."""
    return Need("", need.test, need.method, need.variant, need.choices, need.reduced)


def _ours(row: Mapping[Hashable, Any], place: tuple[str, ...], one: Met, level: float) -> Entry:
    if one.result is None:
        return Entry(place, OURS, one.model, None, None, one.reason)
    name = ALIASES.get(str(row["statistic"]), str(row["statistic"]))
    part = f"{row['test']}.{name}"
    value = measured(one.result, part if part in one.result.metrics else name)
    p = one.result.metrics.get("p") if name == "d" else None
    reason = "" if value is not None else f"a cell of {row['method']} has no {name}"
    return Entry(place, OURS, one.model, value, None if p is None else p < level, reason)


def _place(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    return (str(row["test"]), str(row["method"]), place_of(row), str(row["statistic"]))


def as_frame(entries: Sequence[Entry], labels: Sequence[str] = LABELS) -> pd.DataFrame:
    """Return one row an entry."""
    import pandas as pd

    rows = [
        {
            **dict(zip(labels, entry.place, strict=True)),
            "source": entry.source,
            "model": entry.model,
            "value": entry.value,
            "significant": entry.significant,
            "reason": entry.reason,
        }
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=[*labels, "source", "model", "value", "significant", "reason"])
