"""How long a sweep will take: from what like cells took, and how fast its models read texts before."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness.cell import Cell
from harness.contextual import ContextualVectors, reads_vectors
from harness.errors import HarnessError
from harness.result import Result, ResultStore

LOOKED_AT = 400
"""Results that an estimate is made from, beside those that the sweep knows already."""

OVERHEAD = 0.05
"""Seconds that recording a cell takes, whatever it measures."""

FACTORS = ("method", "model", "context", "test")
"""What makes cells alike, the most telling first: cells alike in all of these count before those alike in fewer."""


@dataclass(frozen=True)
class Estimate:
    """How long cells will take.

    ``basis`` counts the recorded cells that tell so, ``alike`` the new cells for which one of the same method and model
    is among them; where none is, nothing tells. ``texts`` are still to be encoded, ``unknown`` of them by models whose
    speed is not recorded. Neither the cells without a like nor those texts are in ``seconds``.
    """

    cells: int
    seconds: float
    basis: int
    alike: int = 0
    texts: int = 0
    encoding: float = 0.0
    unknown: int = 0

    def in_words(self) -> str:
        """Say how long, and how that is known; what nothing tells of is said to be unknown."""
        told, new = self.texts - self.unknown, self.cells - self.alike
        start = f"{self.cells:,} cells to measure: "
        if not self.alike and not told:
            encoding = f"; {self.unknown:,} texts are to be encoded" if self.unknown else ""
            return f"{start}how long is not known, as none of their method and model was measured before{encoding}"
        parts = [f"{start}about {duration(self.seconds)}"]
        if self.alike:
            parts.append(f"judging by {self.basis:,} measured before")
        if told:
            parts.append(f"{duration(self.encoding)} of it to encode {told:,} texts at the speed recorded")
        missing = []
        if new:
            missing.append(f"{new:,} of the cells, as none of their method and model was measured before")
        if self.unknown:
            missing.append(f"{self.unknown:,} texts of models whose speed is not recorded")
        beside = f"; beside that, an unknown time for {', and for '.join(missing)}" if missing else ""
        return ", ".join(parts) + beside


def duration(seconds: float) -> str:
    """Return a time in the unit that a person would use."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def estimate(
    new: Iterable[Cell], known: Iterable[Result], store: ResultStore, *, workers: int, runs: Path | None = None
) -> Estimate | None:
    """Return how long the cells still to measure will take; None if nothing is recorded that tells.

    Notes
    -----
    A cell takes the median of the recorded cells that are most like it (``FACTORS``), of the same method and model at
    least: the first cell of a model also opens it, and a cell run by itself also encodes its texts, which a mean would
    count again for every cell. Texts that the store lacks take as long as the model's journal says; workers wait for
    one another there, and share the rest.
    """
    cells = list(new)
    times: dict[tuple[str, ...], list[float]] = defaultdict(list)
    recorded = {result.fingerprint: result for result in [*islice(store, LOOKED_AT), *known]}
    basis = 0
    for result in recorded.values():
        if result.status == "finished":
            basis += 1
            for key in _alike(*(result.factors.get(name) for name in FACTORS)):
                times[key].append(result.seconds)
    texts = texts_to_encode(cells, runs) if runs is not None else {}
    speeds = {home: reading_speed(runs, home) for home in texts} if runs is not None else {}
    encoding = sum(number / speed for home, number in texts.items() if (speed := speeds[home]))
    if not cells or not (basis or encoding):
        return None
    typical = {key: statistics.median(values) for key, values in times.items()}
    seconds, alike = 0.0, 0
    for cell in cells:
        keys = _alike(cell.method, cell.model["name"], cell.context, cell.test.name)
        alike += keys[-1] in typical
        seconds += OVERHEAD + next((typical[key] for key in keys if key in typical), 0.0)
    unknown = sum(number for home, number in texts.items() if not speeds[home])
    total = seconds / max(workers, 1) + encoding
    return Estimate(len(cells), total, basis, alike, sum(texts.values()), encoding, unknown)


def _alike(*factors: object) -> list[tuple[str, ...]]:
    """Return the groups that a cell belongs to, the closest first; the last is its method and model."""
    closest = tuple(map(str, factors))
    return [closest[:length] for length in range(len(closest), 1, -1)]


def texts_to_encode(cells: Iterable[Cell], runs: Path) -> dict[str, int]:
    """Return how many distinct texts each model has still to encode, by its folder in the store; nothing is opened."""
    vectors = ContextualVectors(runs)
    lacking: dict[str, set[bytes]] = {}
    for cell in cells:
        if not reads_vectors(cell):
            continue
        try:
            home = vectors.home(cell)
            opened = isinstance(cell.layer, int) or cell.model.get("layers") or vectors.store.description(home)
            for need in vectors.cell_needs(cell, vectors.layers(cell) if opened else []):
                if not opened or not vectors.store.holds(need.block, need.names):
                    lacking.setdefault(home, set()).update(need.block.contexts.rows)
        except (HarnessError, ImportError, OSError):
            continue
    return {home: len(rows) for home, rows in lacking.items()}


def reading_speed(runs: Path, home: str) -> float | None:
    """Return how many texts a second a model has read before; None if it never did."""
    texts, seconds = ContextualVectors(runs).store.reading(home)
    return texts / seconds if texts and seconds > 0 else None
