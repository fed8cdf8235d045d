"""Cells that measure probabilities: how tests make and measure them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.cell import Cell
from harness.result import Result
from harness.runner import Encoders, run

Make = Callable[..., Cell]


def measured(cell: Cell, runs: Path) -> Result:
    """Measure a cell that has to succeed."""
    result = run(cell, Encoders(runs))
    assert result.status == "finished", result.reason + result.traceback
    return result
