"""The record of a cell on disk: what no result is counts as broken, and is measured again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.result import ResultStore

Cli = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "change",
    [
        '"d": NaN', '"d": Infinity', '"d": "large"', '"factors": [1]', '"metrics": "d"', '"identity": null',
        '"fingerprint": 1', '"fingerprint": "0000000000000000"', '"status": "perhaps"', '"colour": "red"',
    ],
)  # fmt: skip
def test_a_record_that_no_cell_wrote_is_broken_for_every_verb_and_measured_again(
    cli: Cli, own: list[str], runs: Path, change: str
) -> None:
    assert cli("run", "-m", *own, "seed=0,1")[0] == 0
    whole, other = ResultStore(runs)
    path = ResultStore(runs).folder(whole.fingerprint) / "result.json"
    record = json.loads(path.read_text())
    key = change.partition(":")[0].strip('"')
    place = record["metrics"] if key == "d" else record
    place[key] = "CHANGED"
    path.write_text(json.dumps(record).replace(f'"{key}": "CHANGED"', change))
    assert [result.fingerprint for result in ResultStore(runs)] == [other.fingerprint]
    assert ResultStore(runs).broken() == [path]
    for verb in (["export"], ["compare"], ["sync"]):
        status, _, err = cli(*verb, "--runs", str(runs))
        assert status == 0
        assert "Traceback" not in err
    assert cli("plot", whole.fingerprint, "--runs", str(runs))[0] == 2
    status, _, err = cli("run", "-m", *own, "seed=0,1")
    assert status == 0
    assert "1 measured, 1 known" in err
    assert [result.metrics["d"] for result in ResultStore(runs)] == [whole.metrics["d"], other.metrics["d"]]
