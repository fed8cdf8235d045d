"""What becomes of input that is not as it should be: named, by policy, never silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cell import Cell
from harness.result import Result
from harness.runner import Encoders, run
from tests.conftest import WORDS, planted, write_vectors
from tests.test_cell import config


def measured(vectors: Path, own_test: Path, **changes: Any) -> Result:
    return run(Cell.from_config(config(vectors, own_test, **changes)), Encoders(own_test.parent / "runs"))


def without(tmp_path: Path, *words: str, **replaced: Any) -> Path:
    kept = {word: vector for word, vector in planted().items() if word not in words}
    return write_vectors(tmp_path / "fewer.txt", kept | replaced)


def test_the_planted_association_is_found(vectors: Path, own_test: Path) -> None:
    result = measured(vectors, own_test)
    assert result.status == "finished"
    assert result.metrics["d"] > 1
    assert result.metrics["p"] < 0.01
    assert result.labels["significance"] == "significant"
    assert result.words["X"] == {"used": WORDS["X"], "dropped": []}


def test_a_missing_stimulus_is_dropped_and_named(own_test: Path, tmp_path: Path) -> None:
    result = measured(without(tmp_path, "tulip"), own_test)
    assert result.metrics["n_x"] == 7
    assert result.metrics["n_y"] == 8
    assert result.metrics["n_dropped"] == 1
    assert result.dropped == ["tulip"]
    assert "lacks tulip" in result.notes[0]


def test_drop_balanced_evens_the_sets_by_seed(own_test: Path, tmp_path: Path) -> None:
    vectors = without(tmp_path, "tulip", "poppy")
    first, again = (measured(vectors, own_test, missing="drop_balanced", seed=3) for _ in range(2))
    assert first.metrics["n_x"] == first.metrics["n_y"] == 6
    assert first.metrics["n_a"] == first.metrics["n_b"] == 8
    assert first.words == again.words
    chosen = {tuple(measured(vectors, own_test, missing="drop_balanced", seed=s).words["Y"]["used"]) for s in range(8)}
    assert len(chosen) > 1


def test_policy_error_names_the_stimulus_and_the_way_out(own_test: Path, tmp_path: Path) -> None:
    result = measured(without(tmp_path, "tulip"), own_test, missing="error")
    assert result.status == "failed"
    assert "has no vector for tulip (X of garden)" in result.reason
    assert "missing=drop" in result.reason


def test_a_zero_vector_is_named(own_test: Path, tmp_path: Path) -> None:
    vectors = without(tmp_path, "tulip", tulip=np.zeros(12))
    assert "zero vector for tulip" in measured(vectors, own_test).notes[0]
    assert "length zero for tulip" in measured(vectors, own_test, missing="error").reason


def test_nan_in_the_vectors_is_refused_with_its_place(own_test: Path, tmp_path: Path) -> None:
    result = measured(without(tmp_path, "tulip", tulip=np.full(12, np.nan)), own_test)
    assert result.status == "failed"
    assert "line" in result.reason


def test_zero_variance_is_refused(own_test: Path, tmp_path: Path) -> None:
    same = {word: np.eye(12)[0 if slot in "XY" else 1] for slot, words in WORDS.items() for word in words}
    result = measured(write_vectors(tmp_path / "same.txt", same), own_test)
    assert result.status == "failed"
    assert not result.metrics


def test_a_set_that_the_model_hardly_knows_is_refused(own_test: Path, tmp_path: Path) -> None:
    result = measured(without(tmp_path, *WORDS["X"][1:]), own_test)
    assert "has 1 of the 8 stimuli of X" in result.reason


@pytest.mark.parametrize(
    ("slot", "words", "sentence"),
    [
        ("X", [], "X (garden/x) holds 0 stimuli"),
        ("X", ["rose"], "X (garden/x) holds 1 stimuli"),
        ("X", [*WORDS["X"][:7], "rose"], "lists rose more than once"),
        ("X", [*WORDS["X"][:7], "ant"], "ant stands in both X and Y"),
        ("A", [*WORDS["A"][:7], "war"], "war stands in both A and B"),
        ("X", WORDS["X"][:6], "X has 6 stimuli and Y 8"),
    ],
)
def test_lists_that_no_method_should_measure(
    vectors: Path, own_test: Path, slot: str, words: list[str], sentence: str
) -> None:
    text = "name: garden\n" + "".join(f"{s}: {words if s == slot else w}\n" for s, w in WORDS.items())
    own_test.write_text(text)
    result = measured(vectors, own_test)
    assert result.status == "failed"
    assert sentence in result.reason


@pytest.mark.parametrize(("unequal", "sizes"), [("keep", (6, 8)), ("downsample", (6, 6))])
def test_unequal_targets_by_choice(vectors: Path, own_test: Path, unequal: str, sizes: tuple[int, int]) -> None:
    own_test.write_text("name: garden\n" + "".join(f"{s}: {w[:6] if s == 'X' else w}\n" for s, w in WORDS.items()))
    result = measured(vectors, own_test, unequal=unequal)
    assert (result.metrics["n_x"], result.metrics["n_y"]) == sizes


def test_a_defect_is_a_failed_result_with_its_traceback(
    vectors: Path, own_test: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.methods.weat.weat", lambda *a, **k: 1 / 0)
    result = measured(vectors, own_test)
    assert result.status == "failed"
    assert result.reason.startswith("ZeroDivisionError")
    assert "Traceback" in result.traceback


def test_the_record_survives_json(vectors: Path, own_test: Path) -> None:
    import json

    result = measured(vectors, own_test)
    assert Result(**json.loads(result.to_json())) == result


def test_a_number_that_is_not_finite_is_never_written(vectors: Path, own_test: Path) -> None:
    result = measured(vectors, own_test)
    result.metrics["d"] = float("nan")
    with pytest.raises(ValueError, match="metric d is nan"):
        result.to_json()
