"""What was not read, and where: counted by reason, the first places named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

NAMED = 5
"""So many places are named for each reason."""

EMPTY_FILE = "empty file"
TRUNCATED = "truncated or damaged file"
GIGANTIC = "gigantic line or paragraph"
BROKEN_JSON = "broken JSON"
BROKEN_ROW = "broken row"
ENCODING = "wrong encoding"
NO_TEXT = "no text field"
DELETED = "deleted or removed"
BOT = "written by a bot"

REASONS = {
    EMPTY_FILE: "file",
    TRUNCATED: "file",
    GIGANTIC: "record",
    BROKEN_JSON: "record",
    BROKEN_ROW: "record",
    ENCODING: "record",
    NO_TEXT: "record",
    DELETED: "document",
    BOT: "document",
}
"""Every reason, with what is skipped for it."""


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """Where something was skipped: the file, and a byte (after decompression) or a row."""

    file: str
    at: int
    unit: str = "byte"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.at:,}"


@dataclass
class Skips:
    """Counts by reason, and the first places of each."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[Place]] = field(default_factory=dict)

    def add(self, reason: str, place: Place) -> None:
        """Count one."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        known = self.places.setdefault(reason, [])
        if len(known) < NAMED or place < known[-1]:
            self.places[reason] = sorted({*known, place})[:NAMED]

    def update(self, other: Skips) -> None:
        """Count what another has counted."""
        for reason, count in other.counts.items():
            self.counts[reason] = self.counts.get(reason, 0) + count
            self.places[reason] = sorted({*self.places.get(reason, []), *other.places.get(reason, [])})[:NAMED]

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            reason: {"count": self.counts[reason], "first": [[p.file, p.at, p.unit] for p in self.places[reason]]}
            for reason in sorted(self.counts)
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Skips:
        """Return what `as_json` wrote."""
        return cls(
            {reason: row["count"] for reason, row in data.items()},
            {reason: [Place(*place) for place in row["first"]] for reason, row in data.items()},
        )

    def sentences(self) -> Iterable[str]:
        """Yield a line for each reason."""
        for reason in sorted(self.counts, key=list(REASONS).index):
            count, places = self.counts[reason], "; ".join(map(str, self.places[reason]))
            more = "; …" if count > len(self.places[reason]) else ""
            yield f"{reason}: {count:,} {REASONS[reason]}{'s' if count != 1 else ''} skipped ({places}{more})"
