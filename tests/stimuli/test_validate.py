from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.paths import stimuli_dir
from harness.stimuli.validate import validate

Cli = Callable[..., tuple[int, str, str]]


def test_every_shipped_file_is_without_error() -> None:
    checked, problems = validate(stimuli_dir())
    assert checked > 200
    assert [problem for problem in problems if problem.level == "error"] == []
    assert {problem.message for problem in problems if "no source" in problem.message} == set()
    assert {problem.message for problem in problems if "no licence" in problem.message} == set()


@pytest.mark.parametrize(
    ("text", "level", "message"),
    [
        ("X: [a, a]\nY: [c, d]\nA: [e, f]\nB: [g, h]\n", "error", "lists a more than once"),
        ("X: [a, b]\nY: [b, d]\nA: [e, f]\nB: [g, h]\n", "error", "b stands in both X and Y"),
        ("X: [a, b]\nY: [c, d]\nA: [e, f]\nB: [f, h]\n", "error", "f stands in both A and B"),
        ("X: [a, b, c]\nY: [d, e]\nA: [f, g]\nB: [h, i]\n", "warning", "X has 3 stimuli, Y has 2"),
        ("X: [a, b]\nY: [c, d]\nA: [e, f]\nB: [g, h]\n", "warning", "holds 2 stimuli; at least 8 are advised"),
        ("X: [a, b]\nY: [c, d]\nA: [e, f]\nB: [g, h]\n", "warning", "has no source"),
        ("X: []\nY: [c, d]\nA: [e, f]\nB: [g, h]\n", "error", "holds no stimuli"),
        ("W: [a, b]\nA: [e, f]\nB: [g, h]\nproperty_name: share\n", "error", "W has no share for a, b"),
    ],
)
def test_each_finding(tmp_path: Path, text: str, level: str, message: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("name: t\n" + text)
    _, problems = validate(path)
    assert [problem for problem in problems if problem.level == level and message in problem.message]


def test_the_verb_exits_with_2_on_errors_only(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("name: t\nX: [a, b]\nY: [c, d]\nA: [e, f]\nB: [g, h]\n")
    assert cli("validate", path)[0] == 0
    assert cli("validate", path, "--strict")[0] == 2
    path.write_text("name: t\nX: [a, a]\nY: [c, d]\nA: [e, f]\nB: [g, h]\n")
    status, out, _ = cli("validate", path)
    assert (status, "error: " in out) == (2, True)
