"""How long a measurement takes on one processor, vectors given (husse2022, Tables 7 and 8)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cell import Cell
from harness.errors import HarnessError
from harness.runner import Encoders, run

REPEATS = 10
"""As published."""


@dataclass(frozen=True)
class Runtime:
    """The mean of repeated measurements of one cell, in seconds, and the fastest and the slowest of them."""

    mean: float
    fastest: float
    slowest: float
    repeats: int


def runtime(config: Mapping[str, Any], *, runs: Path, repeats: int = REPEATS) -> Runtime:
    """Measure a cell again and again on one processor.

    Vectors of texts come from the store, so that encoding them is not counted, as in the paper. The probabilities of
    LPBS are computed anew each time, with the model opened for it.
    """
    from threadpoolctl import threadpool_limits

    cell = Cell.from_config(config)
    seconds = []
    with threadpool_limits(1), tempfile.TemporaryDirectory() as scratch:
        encoders = Encoders(runs)
        if not cell.pairs:
            _timed(cell, encoders)
        for number in range(repeats):
            seconds.append(_timed(cell, Encoders(Path(scratch) / str(number)) if cell.pairs else encoders))
    return Runtime(sum(seconds) / repeats, min(seconds), max(seconds), repeats)


def _timed(cell: Cell, encoders: Encoders) -> float:
    result = run(cell, encoders)
    if result.status != "finished":
        raise HarnessError(result.reason)
    return result.seconds
