"""A frozen plan: the cells of a study written down before they are measured, with a hash that tells any change."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cell import Cell
from harness.errors import HarnessError
from harness.result import write_atomically

VERSION = 1


@dataclass(frozen=True)
class FrozenPlan:
    """The fingerprints of the planned cells; ``hash`` is the sha256 of the sorted list."""

    fingerprints: frozenset[str]
    command: str = ""

    @property
    def hash(self) -> str:
        """Return what a pre-registration quotes."""
        return hashlib.sha256("\n".join(sorted(self.fingerprints)).encode()).hexdigest()

    def write(self, path: Path, cells: Mapping[str, Cell]) -> None:
        """Write the plan with the factors of every cell, for people to read."""
        if set(cells) != self.fingerprints:
            raise ValueError("a plan is written with its own cells")
        record = {
            "version": VERSION,
            "hash": self.hash,
            "frozen": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": self.command,
            "cells": [{"fingerprint": key, **cell.factors()} for key, cell in cells.items()],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> FrozenPlan:
        """Read a plan, and refuse one that was changed after it was frozen."""
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            plan = cls(frozenset(cell["fingerprint"] for cell in record["cells"]), str(record["command"]))
            stated = str(record["hash"])
        except (OSError, ValueError, KeyError, TypeError):
            raise HarnessError(f"{path} is not a frozen plan; `harness run -m ... --plan FILE` writes one.") from None
        if plan.hash != stated:
            raise HarnessError(
                f"{path} was changed after it was frozen: its cells have the hash {plan.hash[:16]}, it states "
                f"{stated[:16]}. Freeze a new plan under another name."
            )
        return plan

    def beside(self, asked: Iterable[str]) -> dict[str, Any]:
        """Return how a sweep compares: cells planned, those it adds (and which), those it leaves out."""
        cells = set(asked)
        return {
            "hash": self.hash,
            "planned": len(self.fingerprints),
            "added": len(cells - self.fingerprints),
            "left_out": len(self.fingerprints - cells),
            "added_cells": sorted(cells - self.fingerprints),
        }
