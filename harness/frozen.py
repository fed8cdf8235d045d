"""A frozen plan: the cells of a study written down before they are measured, with a hash that tells any change."""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from harness.cell import Cell
from harness.errors import HarnessError
from harness.result import Result, ResultStore, write_atomically

VERSION = 1
_LOOKED_AT = 400
"""Results that an estimate is made from, beside those that the sweep knows already."""

OVERHEAD = 0.05
"""Seconds that recording a cell takes, whatever it measures."""


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
        """Return how a sweep compares: cells planned, those it adds, those it leaves out."""
        cells = set(asked)
        return {
            "hash": self.hash,
            "planned": len(self.fingerprints),
            "added": len(cells - self.fingerprints),
            "left_out": len(self.fingerprints - cells),
        }


@dataclass(frozen=True)
class Estimate:
    """How long cells will take; ``basis`` counts the recorded cells that tell so."""

    cells: int
    seconds: float
    basis: int


def estimate(new: Iterable[Cell], known: Iterable[Result], store: ResultStore, *, workers: int) -> Estimate | None:
    """Return how long the cells still to measure will take, from the mean of like ones; None if none is recorded.

    Alike are cells of the same method, model and context; failing that, of the same method and model; of the same
    method; or any.
    """
    times: dict[tuple[str, ...], list[float]] = defaultdict(list)
    recorded = {result.fingerprint: result for result in [*islice(store, _LOOKED_AT), *known]}
    basis = 0
    for result in recorded.values():
        if result.status == "finished":
            basis += 1
            factors = result.factors
            for key in _alike(factors["method"], factors["model"], factors.get("context")):
                times[key].append(result.seconds)
    cells = list(new)
    if not basis or not cells:
        return None
    means = {key: statistics.fmean(values) for key, values in times.items()}
    seconds = 0.0
    for cell in cells:
        keys = _alike(cell.method, cell.model["name"], cell.context)
        seconds += OVERHEAD + next(means[key] for key in keys if key in means)
    return Estimate(len(cells), seconds / max(workers, 1), basis)


def _alike(method: object, model: object, context: object) -> list[tuple[str, ...]]:
    """Return the groups that a cell belongs to, the closest first."""
    closest = (str(method), str(model), str(context))
    return [closest[:length] for length in (3, 2, 1, 0)]
