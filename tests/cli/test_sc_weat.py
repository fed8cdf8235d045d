"""What a run of SC-WEAT prints: a row a category, with numbers that are in the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness.models
from harness.cell import Cell
from harness.cli.single import show_result
from harness.runner import Encoders, run
from tests.methods.test_valence import FIVE, POLES, config
from tests.planted_encoder import PlantedEncoder


def printed(context: dict[str, Any], runs: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Any, list[str]]:
    result = run(Cell.from_config(config(runs, context=context)), Encoders(runs))
    assert result.status == "finished", result.traceback
    show_result(result, runs, known=False)
    return result, capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("shuffles", [0, 2])
def test_a_category_is_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: Path, shuffles: int
) -> None:
    planted = PlantedEncoder(poles=POLES, terms={"male": 5.0}, noise=0.1)
    monkeypatch.setitem(harness.models.CONTEXTUAL, "planted", planted.kind())
    monkeypatch.setenv("COLUMNS", "140")
    result, lines = printed({**FIVE, "shuffles": shuffles}, runs, capsys)
    rows = [line.split() for line in lines if " v " in line and line.startswith(("sex ", "religion "))]
    assert [row[:4] for row in rows] == [["sex", "male", "v", "female"], ["religion", "christian", "v", "muslim"]]
    sex = rows[0]
    assert sex[4] == f"{result.metrics['sex.d']:.2f}"
    spread = [f"{result.metrics['sex.d_order_std']:.2f}"] if shuffles else []
    assert sex[5 : 5 + len(spread)] == spread
    assert sex[-4:] == ["100", "%", "0", "%"]
    assert not any("sex.d" in line or ".share" in line for line in lines)


def test_a_p_value_that_underflows_is_printed_by_its_exponent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: Path
) -> None:
    terms = {"male": 1.0, "female": -1.0, "white": -1.0, "black": 1.0}
    planted = PlantedEncoder(poles=POLES, terms=terms, noise=0.05)
    monkeypatch.setitem(harness.models.CONTEXTUAL, "planted", planted.kind())
    monkeypatch.setenv("COLUMNS", "140")
    result, lines = printed({"name": "intersectional", "categories": "omrani2023_twelve"}, runs, capsys)
    (row,) = (line for line in lines if line.startswith("sex "))
    (other_side,) = (line for line in lines if line.startswith("race "))
    assert result.metrics["sex.paired_log10_p"] < -308
    assert f"1e{result.metrics['sex.paired_log10_p']:.0f}" in row.split()
    assert result.metrics["race.paired_p"] == 1  # one-sided, as `stats` says; what is printed is two-sided
    assert "<1e-307" in other_side.split()
