"""CEAT as a cell: which contexts it reads, what becomes of stimuli with few of them, and what makes a new cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from harness.cell import Cell, compatible, fingerprint
from harness.config import Config
from harness.contexts import Context, Contexts, sources
from harness.errors import HarnessError
from harness.methods.ceat_draws import draw_contexts
from harness.result import Result
from harness.runner import Encoders, run
from harness.stimuli import Concept
from tests.conftest import WORDS
from tests.fake_encoder import FakeEncoder

FEW = {"rose": 0, "tulip": 2, "war": 3}


class UnevenSource:
    """Thirty sentences a word, and fewer for some words, as a corpus has them."""

    label = "uneven"

    def __init__(self, few: Mapping[str, int]) -> None:
        self._few = dict(few)

    def contexts(self, concept: Concept, word: str) -> Contexts:
        texts = [f"{number} times {word} here" for number in range(self._few.get(word, 30))]
        return Contexts(Context(text, text.index(word), text.index(word) + len(word)) for text in texts)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch, own_test: Path, runs: Path) -> Callable[..., Cell]:
    fake = FakeEncoder()
    monkeypatch.setitem(__import__("harness.models").models.CONTEXTUAL, "fake", fake.kind())

    def make(*, few: Mapping[str, int] = FEW, name: str = "fake", **changes: Any) -> Cell:
        monkeypatch.setitem(sources.SOURCES, "uneven", lambda config, stimuli: UnevenSource(few))
        sources._made.cache_clear()
        fake.identity = {"kind": "fake", "name": name}
        base: Any = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
        base["model"] |= {"name": name, "kind": "fake"}
        base["test"] = {"path": str(own_test)}
        base["method"] = {"name": changes.pop("method", "ceat")}
        base["context"] |= {"name": "uneven"}
        base["paths"]["runs"] = str(runs)
        base["stats"] |= {"ceat_samples": 50, **changes.pop("stats", {})}
        return Cell.from_config({**base, **changes})

    return make


@pytest.fixture
def measured(cell: Callable[..., Cell], runs: Path) -> Callable[..., Result]:
    return lambda **changes: run(cell(**changes), Encoders(runs))


@pytest.mark.parametrize("method", ["ceat", "mlceat"])
def test_ceat_measures_a_test_in_its_contexts(measured: Callable[..., Result], method: str) -> None:
    result = measured(method=method, few={})
    assert (result.status, result.reason) == ("finished", "")
    assert result.metrics["n_x"] == 8
    assert result.metrics["n_samples"] == 50
    assert result.metrics["contexts_min"] == result.metrics["n_effective"] == 30
    assert result.factors["ceat_variance"] == "association"
    assert result.factors["missing"] is None


@pytest.mark.parametrize("method", ["ceat", "mlceat"])
def test_ceat_measures_by_projection_between_two_concepts(measured: Callable[..., Result], method: str) -> None:
    poles = ["caliskan2017/pleasant", "caliskan2017/unpleasant"]
    projection = {"name": "projection", "poles": poles, "permutations": 19}
    result = measured(method=method, few={}, association=projection)
    assert (result.status, result.reason) == ("finished", "")
    assert result.factors["association"] == "projection"
    assert 0.0 < result.metrics["pole_p"] <= 1.0
    cosine = measured(method=method, few={})
    assert result.fingerprint != cosine.fingerprint
    assert abs(result.metrics["ces"] - cosine.metrics["ces"]) > 1e-6


def test_stimuli_without_contexts_are_named_and_left_out(measured: Callable[..., Result]) -> None:
    result = measured()
    assert result.status == "finished"
    assert result.words["X"] == {"used": WORDS["X"][1:], "dropped": ["rose"]}
    assert (result.metrics["n_x"], result.metrics["n_dropped"], result.metrics["contexts_min"]) == (7, 1, 2)
    assert "uneven has no text with rose (0) (X)." in result.notes


def test_stimuli_with_too_few_contexts_count_as_missing(measured: Callable[..., Result]) -> None:
    result = measured(stats={"ceat_min_contexts": 3})
    assert result.dropped == ["rose", "tulip"]
    assert "uneven has fewer than 3 texts with rose (0), tulip (2) (X)." in result.notes
    assert result.metrics["contexts_min"] == 3


def test_drop_balanced_evens_each_pair_of_sets(measured: Callable[..., Result]) -> None:
    result = measured(missing="drop_balanced", stats={"ceat_min_contexts": 5})
    assert [result.metrics[f"n_{slot}"] for slot in "xyab"] == [6, 6, 7, 7]
    assert len(result.words["Y"]["dropped"]) == 2
    assert any(note.startswith("Left out of Y to even the sets") for note in result.notes)


def test_missing_error_refuses_and_names_them(measured: Callable[..., Result]) -> None:
    result = measured(missing="error")
    assert result.status == "failed"
    assert "uneven has no text with rose (0) (X)" in result.reason
    assert "missing=drop" in result.reason


def test_a_test_that_keeps_less_than_half_of_a_set_is_skipped_with_the_reason(cell: Callable[..., Cell]) -> None:
    few = dict.fromkeys(WORDS["Y"][:5], 4)
    assert compatible(cell(few=few)) is None
    reason = compatible(cell(few=few, stats={"ceat_min_contexts": 5}))
    assert reason is not None
    assert "fewer than 5 texts with ant (4), wasp (4)" in reason
    assert "3 of the 8 stimuli of" in reason
    assert compatible(cell(few=few, stats={"ceat_min_contexts": 5, "ceat_min_share": 0.25})) is None


@pytest.mark.parametrize("context", [{"name": "bare"}, {"name": "prompt", "template": "This is {word}."}])
def test_ceat_has_no_meaning_where_a_stimulus_has_one_text(
    cell: Callable[..., Cell], context: Mapping[str, str]
) -> None:
    config = cell().config
    alone = Cell.from_config({**config, "context": {**config["context"], **context}})
    assert "ceat draws among texts" in str(compatible(alone))
    seat = Cell.from_config({**alone.config, "method": {"name": "seat"}})
    assert compatible(seat) is None


def test_other_methods_drop_words_without_text_too(measured: Callable[..., Result]) -> None:
    result = measured(method="seat", stats={"ci_resamples": 0})
    assert result.dropped == ["rose"]
    assert result.metrics["n_stimuli_x"] == 7


def test_missing_is_a_choice_only_where_something_is_missing(cell: Callable[..., Cell]) -> None:
    def key(**changes: Any) -> str:
        return fingerprint(cell(**changes).identity())

    assert key(few={}, missing="drop_balanced") == key(few={}, missing="drop")
    assert key(missing="drop_balanced") != key(missing="drop")


@pytest.mark.parametrize(
    "option",
    [
        {"ceat_samples": 60},
        {"ceat_variance": "effect"},
        {"ceat_sampling": "with"},
        {"ceat_mode": "fixed"},
        {"ceat_alternative": "greater"},
        {"ceat_min_contexts": 4},
    ],
)
def test_every_option_makes_a_new_ceat_cell_and_no_new_seat_cell(
    cell: Callable[..., Cell], option: dict[str, Any]
) -> None:
    def key(method: str, stats: dict[str, Any]) -> str:
        return fingerprint(cell(method=method, stats=stats).identity())

    assert key("ceat", option) != key("ceat", {})
    assert key("seat", option) == key("seat", {})


def test_an_impossible_option_is_one_sentence(cell: Callable[..., Cell]) -> None:
    with pytest.raises(HarnessError, match=r"stats\.ceat_variance=asociation: is one of association, effect"):
        cell(stats={"ceat_variance": "asociation"})
    with pytest.raises(HarnessError, match="needs at least 2"):
        cell(stats={"ceat_samples": 1})


def test_static_vectors_have_no_contexts_to_draw(vectors: Path, own_test: Path) -> None:
    from tests.test_cell import config

    reason = compatible(Cell.from_config({**config(vectors, own_test), "method": {"name": "ceat"}}))
    assert reason is not None
    assert "one vector a word, whatever the text" in reason


def test_a_cell_in_fixed_mode_reads_the_contexts_of_every_other_model(
    cell: Callable[..., Cell], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[np.ndarray] = []

    def spy(*arguments: Any, **options: Any) -> Any:
        seen.append((drawn := draw_contexts(*arguments, **options)).x)
        return drawn

    monkeypatch.setattr("harness.methods.ceat.draw_contexts", spy)
    for mode in ("fixed", "random"):
        for name in ("one", "other"):
            result = run(cell(name=name, few={}, stats={"ceat_mode": mode}), Encoders(runs))
            assert result.status == "finished", result.reason
    assert (seen[0] == seen[1]).all()
    assert (seen[2] != seen[3]).any()


def test_postprocessing_is_done_over_all_contexts_of_all_stimuli(
    cell: Callable[..., Cell], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Mapping[str, Any]] = []

    def spy(sets: Mapping[str, Any], **options: Any) -> Any:
        seen.append(sets)
        return draw_contexts(sets, **options)

    monkeypatch.setattr("harness.methods.ceat.draw_contexts", spy)
    model = {**cell().config["model"], "postprocess": "zscore"}
    assert run(cell(model=model), Encoders(runs)).status == "finished"
    assert [len(block) for block in seen[0]["X"].blocks] == [2, *[30] * 6]
    rows = np.concatenate([block for blocks in seen[0].values() for block in blocks.blocks])
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-12)
