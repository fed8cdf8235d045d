"""One typed record per cell: written once as JSON, read back as it was, flattened to one row for tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from harness.errors import HarnessError, did_you_mean
from harness.files import write_atomically

Status = Literal["finished", "failed", "skipped"]

COLUMNS = [
    "fingerprint",
    "status",
    "model",
    "test",
    "method",
    "target",
    "context",
    "encoding",
    "pooling",
    "layer",
    "association",
    "stats",
    "seed",
    "d",
    "p",
    "p_low",
    "p_high",
    "log10_p",
    "ci_low",
    "ci_high",
    "n_x",
    "n_y",
    "n_a",
    "n_b",
    "dropped",
    "pattern",
]
"""The first columns of an export; a method's own come after them."""


@dataclass
class Result:
    """What was measured, with what, and everything needed to draw its figures again.

    A failure is a user's ``mistake``, which ``reason`` tells in a sentence, or a defect.
    """

    fingerprint: str
    status: Status
    identity: dict[str, Any]
    factors: dict[str, Any]
    metrics: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    words: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reason: str = ""
    traceback: str = ""
    mistake: bool = False
    started: float = 0.0
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    sweep: str | None = None

    @property
    def dropped(self) -> list[str]:
        """The stimuli that were left out, over all sets."""
        return [word for slot in self.words.values() for word in slot["dropped"]]

    def row(self) -> dict[str, Any]:
        """Return the long-format row of this cell."""
        every = {
            **self.factors,
            **self.metrics,
            **self.labels,
            "fingerprint": self.fingerprint,
            "status": self.status,
            "dropped": ", ".join(self.dropped),
            "reason": self.reason,
            "notes": " ".join(self.notes),
        }
        return {key: every.pop(key, None) for key in COLUMNS} | every

    def to_json(self) -> str:
        """Return the record as JSON; a number that is not finite is a defect and raises."""
        for name, value in self.metrics.items():
            if not math.isfinite(value):
                raise ValueError(f"metric {name} is {value}: a result never holds NaN or infinity")
        return json.dumps(asdict(self), ensure_ascii=False, indent=1, allow_nan=False)


class ResultStore:
    """The folder of results: one folder a fingerprint, the file ``result.json`` written last and at once."""

    def __init__(self, runs: Path) -> None:
        self.root = runs / "results"

    def folder(self, fingerprint: str) -> Path:
        """Return the folder of a cell: 16 digits of its fingerprint."""
        return self.root / fingerprint[:16]

    def read(self, fingerprint: str) -> Result | None:
        """Return the recorded result, or None if there is none or its file is broken."""
        return _read(self.folder(fingerprint) / "result.json")

    def finished(self, fingerprint: str) -> Result | None:
        """Return the result if it was measured to the end."""
        result = self.read(fingerprint)
        return result if result is not None and result.status == "finished" else None

    def write(self, result: Result) -> Path:
        """Write a result and return its folder."""
        folder = self.folder(result.fingerprint)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "result.json", result.to_json())
        return folder

    def __iter__(self) -> Iterator[Result]:
        for path in sorted(self.root.glob("*/result.json")):
            result = _read(path)
            if result is not None:
                yield result

    def broken(self) -> list[Path]:
        """Return the result files that cannot be read; their cells are measured again when asked for."""
        return [path for path in sorted(self.root.glob("*/result.json")) if _read(path) is None]

    def unreadable(self, results: Iterable[Result]) -> list[str]:
        """Return the folders whose result files cannot be read, beside the results that can."""
        known = {self.folder(result.fingerprint).name for result in results}
        return sorted({path.parent.name for path in self.root.glob("*/result.json")} - known)

    def find(self, prefix: str) -> Result:
        """Return the one result whose fingerprint begins with ``prefix``."""
        matches = sorted(path.parent.name for path in self.root.glob(f"{prefix[:16]}*/result.json"))
        if not matches:
            known = [path.parent.name for path in self.root.glob("*/result.json")]
            raise HarnessError(
                f"No recorded cell begins with {prefix!r} under {self.root}.{did_you_mean(prefix, known)}"
            )
        if len(matches) > 1:
            raise HarnessError(f"{len(matches)} recorded cells begin with {prefix!r}: give more digits.")
        result = self.read(matches[0])
        if result is None:
            raise HarnessError(f"{self.folder(matches[0])}/result.json is broken; run the cell again.")
        return result


def _read(path: Path) -> Result | None:
    """Return the record of a file, or None unless it is what `Result.to_json` wrote into this folder."""
    try:
        result = Result(**json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    blank = Result("", "finished", {}, {})
    whole = all(type(value) is type(getattr(blank, name)) for name, value in vars(result).items() if name != "sweep")
    whole = whole and result.fingerprint[:16] == path.parent.name and result.status in get_args(Status)
    return result if whole and all(isinstance(value, (int, float)) for value in result.metrics.values()) else None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name}: a result never holds NaN or infinity")
