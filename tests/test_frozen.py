"""Frozen plans: what was planned is known before it is measured, and what was added is known after."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.frozen import FrozenPlan
from harness.result import ResultStore

Cli = Callable[..., tuple[int, str, str]]


def test_a_plan_is_frozen_before_anything_is_measured(cli: Cli, own: list[str], runs: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    command = ["run", "-m", *own, "seed=1,2", "encoding=word,sentence", "--plan", plan]
    status, _, err = cli(*command)
    assert status == 0
    assert "4 cells frozen (2 of them without meaning)" in err
    assert "nothing was measured" in err
    assert list(ResultStore(runs)) == []
    frozen = json.loads(plan.read_text())
    assert frozen["hash"] in err
    assert {cell["seed"] for cell in frozen["cells"]} == {1, 2}


def test_a_sweep_says_what_was_planned_added_and_left_out(cli: Cli, own: list[str], runs: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    cli("run", "-m", *own, "seed=1,2", "--plan", plan)
    assert "2 cells planned, 0 added to it, 0 left out" in cli("run", "-m", *own, "seed=1,2", "--plan", plan)[2]
    status, _, err = cli("run", "-m", *own, "seed=2,3,4", f"--plan={plan}")
    assert status == 0
    assert "2 cells planned, 2 added to it, 1 left out" in err
    cli("run", "-m", *own, "seed=2,3,4")
    cli("audit", "last", "--runs", runs, "--no-figures", "--out", tmp_path / "out", "--no-tracking")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Planned before: 2 cells" in page
    assert "added to the plan: 2; cells of the plan that were left out: 1" in page
    assert page.count("<td>finished (not in the plan)</td>") == 2
    assert page.count("<td>finished</td>") == 1


def test_a_plan_that_was_changed_is_refused(cli: Cli, own: list[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    cli("run", "-m", *own, "seed=1,2", "--plan", plan)
    record = json.loads(plan.read_text())
    record["cells"].pop()
    plan.write_text(json.dumps(record))
    status, _, err = cli("run", "-m", *own, "seed=1,2", "--plan", plan)
    assert status == 2
    assert "was changed after it was frozen" in err


@pytest.mark.parametrize("content", ["", "[]", '{"cells": []}'])
def test_what_is_no_plan_is_one_sentence(cli: Cli, own: list[str], tmp_path: Path, content: str) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(content)
    status, _, err = cli("run", "-m", *own, "seed=1,2", "--plan", plan)
    assert status == 2
    assert "is not a frozen plan" in err


def test_the_hash_does_not_hang_on_the_order_of_cells() -> None:
    assert FrozenPlan(frozenset(["a", "b"])).hash == FrozenPlan(frozenset(["b", "a"])).hash


def test_a_single_cell_does_not_pass_over_a_plan(cli: Cli, own: list[str], runs: Path, tmp_path: Path) -> None:
    status, _, err = cli("run", *own, "--plan", tmp_path / "plan.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "add -m" in err
    assert not list(runs.glob("results/*"))
