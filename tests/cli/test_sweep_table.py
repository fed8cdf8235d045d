"""The table that ends a sweep: one factor across, the others down, p over words beside p over texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.sweep_table import LARGEST, print_table
from harness.result import Result, ResultStore

Cli = Callable[..., tuple[int, str, str]]


def recorded(runs: Path, number: int, *, dropped: list[str] | None = None, **given: object) -> Result:
    factors = {"model": "m", "test": "t", "method": "weat", "unit": None, **given}
    metrics = {"d": number / 10, "p": 1e-9, "log10_p": -9.0, "p_stimulus": 0.25, "log10_p_stimulus": -0.602}
    words = {"X": {"used": [], "dropped": dropped or []}}
    result = Result(str(number) * 64, "finished", {}, factors, metrics=metrics, words=words)
    ResultStore(runs).write(result)
    return result


def table(runs: Path, results: list[Result]) -> None:
    print_table({result.fingerprint: result.factors for result in results}, runs=runs, published=None)


def test_models_go_across_and_every_other_factor_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [("one", "bare", 1), ("two", "bare", 2), ("one", "prompt", 3), ("two", "prompt", 4)]
    table(tmp_path, [recorded(tmp_path, n, model=model, context=context) for model, context, n in cells])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["one", "two"]
    assert lines[1] == ["test", "context", "d", "p", "d", "p"]
    assert lines[2] == ["t", "bare", "0.10", "1.0e-09", "0.20", "1.0e-09"]
    assert lines[3] == ["t", "prompt", "0.30", "1.0e-09", "0.40", "1.0e-09"]


def test_p_over_texts_does_not_stand_without_p_over_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path, [recorded(tmp_path, 1, unit="item")])
    out = capsys.readouterr().out
    assert "p by word" in out
    assert ".250" in out
    table(tmp_path, [recorded(tmp_path, 2, unit="stimulus")])
    assert "p by word" not in capsys.readouterr().out


def test_what_ceat_amounts_to_is_said_of_a_sweep_too_large_for_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [
        recorded(tmp_path, number, test=test, method="ceat", context=context)
        for number, (test, context) in enumerate([("c6", "one"), ("c7", "one"), ("c6", "two")], 1)
    ]
    asked = {cell.fingerprint: cell.factors for cell in cells} | {f"{n}": {} for n in range(LARGEST)}
    print_table(asked, runs=tmp_path, published=None)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" instances")[0] for line in lines] == [
        "context=one: gender: 2 of 2",
        "context=two: gender: 1 of 1",
    ]


def test_cells_that_only_a_hidden_option_tells_apart_keep_their_own_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path, [recorded(tmp_path, 1), recorded(tmp_path, 2)])
    out = capsys.readouterr().out
    assert "0.10" in out
    assert "0.20" in out


@pytest.mark.parametrize("models", [1, 2])
def test_every_prompt_stands_beside_its_own_published_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], models: int
) -> None:
    given = {"test": "w-clip-white-black", "method": "mleat"}
    results = [
        recorded(tmp_path, 2 * i + j, model=model, context=context, **given)
        for i, model in enumerate(("clip-vit-l-14-336", "other")[:models])
        for j, context in enumerate(("bare", "prompt/brings_to_mind"))
    ]
    print_table({r.fingerprint: r.factors for r in results}, runs=tmp_path, published="wolfe2024.table2")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    if models == 1:
        assert lines[1] == ["test", "d", "p", "wolfe2024.table2", "d", "p", "wolfe2024.table2"]
        assert [lines[2][place] for place in (1, 3, 4, 6)] == ["0.00", "1.05", "0.10", "-1.20"]
    else:
        assert lines[1][:3] == ["test", "context", "wolfe2024.table2"]
        assert [line[1:4] for line in lines[2:4]] == [
            ["bare", "1.05", "0.00"],
            ["prompt/brings_to_mind", "-1.20", "0.10"],
        ]


def test_models_that_lack_the_same_stimuli_share_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [("one", ["aster"]), ("two", ["aster"]), ("three", ["aster", "iris"])]
    table(tmp_path, [recorded(tmp_path, i, model=model, dropped=words) for i, (model, words) in enumerate(cells, 1)])
    out = capsys.readouterr().out
    assert "t on one, two: left out aster\n" in out
    assert "t on three: left out aster, iris\n" in out


def test_a_skipped_cell_is_told_with_its_test(cli: Cli) -> None:
    code, _, err = cli("run", "-m", "test=c1,c6", "encoding=word,sentence", "method=ceat")
    assert code == 0
    assert "× c1, c6: ceat measures texts" in err
