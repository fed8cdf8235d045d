"""What goes into a method and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.options import StatsOptions
from harness.stimuli import Test

Row = dict[str, Any]


@dataclass(frozen=True)
class VectorSet:
    """The vectors of one concept, a row for each item; ``words`` holds the stimulus that each row belongs to."""

    name: str
    words: tuple[str, ...]
    vectors: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Inputs:
    """A test's vectors by slot (X, Y, A, B or W, A, B) and the choices that apply to them.

    ``encoding`` and ``unit`` are those of the cell; None where a choice has no effect.
    """

    test: Test
    sets: Mapping[str, VectorSet]
    stats: StatsOptions
    seed: int
    encoding: str | None = None
    unit: str | None = None


@dataclass
class Measurement:
    """Numbers, words and tables that a method found; figures are drawn from the tables alone."""

    metrics: dict[str, float]
    labels: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
