from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness.cell import Cell, compatible, fingerprint
from harness.config import Config
from harness.errors import HarnessError
from harness.options import StatsOptions


def config(vectors: Path, own_test: Path, **changes: Any) -> dict[str, Any]:
    base = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
    assert isinstance(base, dict)
    base["model"] |= {"name": "vectors", "kind": "static", "format": "text", "path": str(vectors)}
    base["test"] = {"path": str(own_test)}
    base["paths"]["runs"] = str(own_test.parent / "runs")
    base["stats"] |= changes.pop("stats", {})
    return {**base, **changes}


def print_of(vectors: Path, own_test: Path, **changes: Any) -> str:
    return fingerprint(Cell.from_config(config(vectors, own_test, **changes)).identity())


def test_fingerprint_survives_json(vectors: Path, own_test: Path) -> None:
    identity = Cell.from_config(config(vectors, own_test)).identity()
    assert fingerprint(json.loads(json.dumps(identity))) == fingerprint(identity)


def test_fingerprint_follows_the_words_and_not_only_the_name(vectors: Path, own_test: Path) -> None:
    before = print_of(vectors, own_test)
    own_test.write_text(own_test.read_text().replace("'tulip'", "'crocus'"))
    assert print_of(vectors, own_test) != before


def test_fingerprint_follows_the_vectors_and_not_their_place(vectors: Path, own_test: Path, tmp_path: Path) -> None:
    before = print_of(vectors, own_test)
    elsewhere = tmp_path / "copy.txt"
    elsewhere.write_bytes(vectors.read_bytes())
    assert print_of(elsewhere, own_test) == before
    elsewhere.write_text(vectors.read_text().replace("rose ", "rosa ", 1))
    assert print_of(elsewhere, own_test) != before


def test_a_preset_is_its_options_and_not_its_name(vectors: Path, own_test: Path) -> None:
    assert print_of(vectors, own_test, stats={"name": "other"}) == print_of(vectors, own_test)
    assert print_of(vectors, own_test, stats={"ddof": 0}) != print_of(vectors, own_test)


@pytest.mark.parametrize(("key", "value"), [("pooling", "last"), ("layer", 3), ("unit", "stimulus")])
def test_a_choice_without_effect_on_static_vectors_makes_no_new_cell(
    vectors: Path, own_test: Path, key: str, value: object
) -> None:
    assert print_of(vectors, own_test, **{key: value}) == print_of(vectors, own_test)


@pytest.mark.parametrize(("key", "value"), [("seed", 7), ("missing", "error"), ("unequal", "keep")])
def test_a_choice_with_effect_makes_a_new_cell(vectors: Path, own_test: Path, key: str, value: object) -> None:
    assert print_of(vectors, own_test, **{key: value}) != print_of(vectors, own_test)


def test_sentence_encoding_of_static_vectors_has_no_meaning(vectors: Path, own_test: Path) -> None:
    cell = Cell.from_config(config(vectors, own_test, encoding="sentence"))
    assert "cannot encode sentences" in (compatible(cell) or "")


def test_a_variant_that_a_test_lacks_is_a_reason_and_not_the_base_cell(vectors: Path, own_test: Path) -> None:
    cell = Cell.from_config(config(vectors, own_test, target="terms"))
    assert "has no variant 'terms'" in (compatible(cell) or "")
    assert fingerprint(cell.identity()) != print_of(vectors, own_test)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"missing": "dorp"}, "missing=dorp: is one of error, drop, drop_balanced. Did you mean drop"),
        ({"stats": {"null": "exakt"}}, "stats.null=exakt.*Did you mean exact"),
        ({"stats": {"ddof": 2}}, "stats.ddof=2: is 0 or 1"),
        ({"stats": {"confidence": 1.5}}, "must lie between 0 and 1"),
        ({"stats": {"resamples": 0}}, "must be 1 or more"),
        ({"test": {"name": "c99"}}, "There is no test named 'c99'"),
        ({"test": {}}, "No test was chosen"),
    ],
)
def test_an_impossible_value_is_one_sentence(
    vectors: Path, own_test: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(HarnessError, match=sentence):
        Cell.from_config(config(vectors, own_test, **changes))


def test_every_convention_is_part_of_the_identity() -> None:
    names = {field.name for field in dataclasses.fields(StatsOptions)}
    assert set(StatsOptions().identity()) == names - {"name", "description"}


def test_factors_fit_into_mlflow_params(vectors: Path, own_test: Path) -> None:
    assert len(Cell.from_config(config(vectors, own_test)).factors()) <= 20
