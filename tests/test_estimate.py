"""The time of a sweep is told from like cells and from the recorded speed of its models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cell import Cell
from harness.estimate import OVERHEAD, Estimate, duration, estimate
from harness.result import Result, ResultStore
from harness.store import BlockStore


def planned(model: str, method: str, test: str = "c1") -> Cell:
    found = SimpleNamespace(model={"name": model, "kind": "static"}, method=method, context=None, layer=None)
    found.test = SimpleNamespace(name=test)
    return found  # type: ignore[return-value]


def done(model: str, method: str, seconds: float, test: str = "c1") -> Result:
    factors = {"model": model, "method": method, "context": None, "test": test}
    return Result(f"{model}{test}{seconds}", "finished", {}, factors, seconds=seconds)


def test_a_cell_takes_as_long_as_the_typical_one_most_like_it(tmp_path: Path) -> None:
    known = [done("a", "weat", s) for s in (1.0, 2.0, 90.0)] + [done("a", "weat", 7.0, "c3"), done("b", "seat", 30.0)]
    cells = [planned("a", "weat"), planned("a", "weat", "c3"), planned("c", "seat")]
    found = estimate(cells, known, ResultStore(tmp_path), workers=2, runs=tmp_path)
    assert found is not None
    assert found.seconds == pytest.approx((2.0 + 7.0 + 3 * OVERHEAD) / 2)
    assert (found.basis, found.alike) == (5, 2)
    assert (
        "an unknown time for 1 of the cells, as none of their method and model was measured before" in found.in_words()
    )


def test_cells_of_which_nothing_alike_was_measured_have_no_time(tmp_path: Path) -> None:
    known = [done("a", "weat", 0.01), done("b", "mleat", 2.0)]
    found = estimate([planned("b", "weat"), planned("a", "mleat")], known, ResultStore(tmp_path), workers=1)
    assert found is not None
    text = "2 cells to measure: how long is not known, as none of their method and model was measured before"
    assert found.in_words() == text
    assert replace(found, texts=9, unknown=9).in_words() == f"{text}; 9 texts are to be encoded"


def test_nothing_recorded_tells_nothing(tmp_path: Path) -> None:
    assert estimate([planned("a", "weat")], [], ResultStore(tmp_path), workers=1, runs=tmp_path) is None


def test_every_recorded_cell_is_told_within_the_spread_of_its_like(tmp_path: Path) -> None:
    """Each recorded cell in turn is estimated from the others: the total is right where like cells take alike."""
    recorded = [done("a", "weat", 1.0 + 0.1 * i, test) for i in range(5) for test in ("c1", "c3")]
    recorded += [done("b", "seat", 20.0 + i) for i in range(5)]
    total = 0.0
    for one in recorded:
        others = [other for other in recorded if other is not one]
        cell = planned(one.factors["model"], one.factors["method"], one.factors["test"])
        found = estimate([cell], others, ResultStore(tmp_path), workers=1)
        assert found is not None
        total += found.seconds - OVERHEAD
    assert total == pytest.approx(sum(one.seconds for one in recorded), rel=0.05)


def test_the_speed_of_reading_is_that_of_the_journal(tmp_path: Path) -> None:
    store = BlockStore(tmp_path / "store")
    (store.root / "m").mkdir(parents=True)
    store.count("m", texts=300, seconds=2.0)
    store.count("m", texts=100, seconds=2.0)
    assert store.reading("m") == (400, 4.0)
    assert store.reading("never") == (0, 0.0)


def test_texts_of_unknown_speed_are_told_and_not_guessed() -> None:
    text = Estimate(10, 100.0, 40, 10, texts=900, encoding=60.0, unknown=300).in_words()
    assert text == (
        "10 cells to measure: about 2 min, judging by 40 measured before, 60 s of it to encode 600 texts at the speed "
        "recorded; beside that, an unknown time for 300 texts of models whose speed is not recorded"
    )


@pytest.mark.parametrize(("seconds", "text"), [(42.0, "42 s"), (600.0, "10 min"), (9000.0, "2.5 h")])
def test_a_time_is_in_the_unit_of_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
