"""Cells on models that read texts: what identifies them, what they need, and that each text is read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from harness.cell import Cell, compatible, fingerprint
from harness.config import Config
from harness.contexts import Context
from harness.errors import HarnessError
from harness.methods.weat import weat
from harness.options import StatsOptions
from harness.result import Result, ResultStore
from harness.runner import Encoders, run
from harness.sweep import plans_of, run_plan, survey
from tests.conftest import WORDS
from tests.fake_encoder import FakeEncoder, fake_vector
from tests.test_cell import config as static_config

Cli = Callable[..., tuple[int, str, str]]
PLAIN = "{word}"


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    fake = FakeEncoder()
    monkeypatch.setitem(__import__("harness.models").models.CONTEXTUAL, "fake", fake.kind())
    return fake


@pytest.fixture
def config(encoder: FakeEncoder, own_test: Path, runs: Path) -> Callable[..., dict[str, Any]]:
    def make(**changes: Any) -> dict[str, Any]:
        base: Any = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
        base["model"] |= {"name": "fake", "kind": "fake", **changes.pop("model", {})}
        base["test"] = {"path": str(own_test)}
        base["method"] = {"name": changes.pop("method", "seat")}
        base["context"] |= changes.pop("context", {"name": "templates", "templates": "seat"})
        base["paths"]["runs"] = str(runs)
        base["store"] |= changes.pop("store", {})
        base["stats"] |= {"ci_resamples": 0, **changes.pop("stats", {})}
        return {**base, **changes}

    return make


@pytest.fixture
def cell(config: Callable[..., dict[str, Any]]) -> Callable[..., Cell]:
    return lambda **changes: Cell.from_config(config(**changes))


@pytest.fixture
def print_of(cell: Callable[..., Cell]) -> Callable[..., str]:
    return lambda **changes: fingerprint(cell(**changes).identity())


@pytest.fixture
def measured(cell: Callable[..., Cell], runs: Path) -> Callable[..., Result]:
    return lambda **changes: run(cell(**changes), Encoders(runs))


@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "last"},
        {"encoding": "sentence"},
        {"layer": 1},
        {"unit": "stimulus"},
        {"context": {"name": "bare"}},
        {"context": {"name": "templates", "templates": "seat", "number": "plural"}},
        {"model": {"postprocess": "zscore"}},
        {"store": {"dtype": "float16"}},
    ],
)
def test_a_choice_with_effect_makes_a_new_cell(print_of: Callable[..., str], changes: dict[str, Any]) -> None:
    assert print_of(**changes) != print_of()


@pytest.mark.parametrize(
    ("changes", "common"),
    [
        ({"pooling": "last"}, {"encoding": "sentence"}),
        ({"unit": "stimulus"}, {"context": {"name": "bare"}}),
        ({"unit": "stimulus"}, {"method": "weat"}),
        ({"missing": "error"}, {}),
        ({"layer": 3}, {"model": {"layers": 3}}),
        ({"store": {"cap_gb": 3.0}}, {}),
        ({"model": {"device": "cpu", "token_budget": 64}}, {}),
    ],
)
def test_a_choice_without_effect_makes_no_new_cell(
    print_of: Callable[..., str], changes: dict[str, Any], common: dict[str, Any]
) -> None:
    assert print_of(**{**common, **changes}) == print_of(**common)


def test_sources_that_write_the_same_texts_are_the_same_cell(print_of: Callable[..., str]) -> None:
    assert print_of(context={"name": "prompt", "template": PLAIN}) == print_of(context={"name": "bare"})


def test_the_fingerprint_follows_the_content_of_a_template_file(print_of: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text('templates: ["This is {word}."]')
    before = print_of(context={"name": "templates", "templates": str(path)})
    path.write_text('templates: ["That is {word}."]')
    assert print_of(context={"name": "templates", "templates": str(path)}) != before


def test_the_fingerprint_follows_the_part_of_speech(print_of: Callable[..., str], own_test: Path) -> None:
    before = print_of()
    own_test.write_text(own_test.read_text().replace(f"X: {WORDS['X']}", f"X: {{words: {WORDS['X']}, part: mass}}"))
    assert print_of() != before


def test_factors_tell_the_source_and_fit_into_mlflow_params(cell: Callable[..., Cell]) -> None:
    factors = cell(model={"postprocess": "all_but_the_top", "components": 2}).factors()
    assert factors["context"] == "templates/seat"
    assert factors["postprocess"] == "all_but_the_top/2"
    assert len(factors) <= 20


def test_seat_on_static_vectors_has_no_meaning(vectors: Path, own_test: Path) -> None:
    cell = Cell.from_config(static_config(vectors, own_test, method={"name": "seat"}))
    assert "seat measures texts, and vectors holds one vector a word" in (compatible(cell) or "")


def test_a_word_without_a_sentence_is_a_reason_and_not_an_error(cell: Callable[..., Cell], own_test: Path) -> None:
    own_test.write_text(own_test.read_text().replace(f"X: {WORDS['X']}", f"X: {{words: {WORDS['X']}, part: noise}}"))
    assert "have no sentences for 'rose' as 'noise'" in (compatible(cell()) or "")


@pytest.mark.parametrize("layer", ["first", -1, 1.5, True, None])
def test_a_layer_that_is_none_is_one_sentence(cell: Callable[..., Cell], layer: object) -> None:
    with pytest.raises(HarnessError, match="is last, all, or the number of a layer"):
        cell(layer=layer)


def test_a_layer_beyond_the_model_fails_and_says_which_there_are(measured: Callable[..., Result]) -> None:
    result = measured(layer=9)
    assert result.status == "failed"
    assert "fake has the layers 0 (the embeddings) to 3" in result.reason


def test_a_layer_beyond_what_the_config_states_is_a_reason_to_skip(
    cell: Callable[..., Cell], encoder: FakeEncoder
) -> None:
    reason = compatible(cell(layer=9, model={"layers": 3}))
    assert reason == "fake has the layers 0 (the embeddings) to 3, and no layer 9"
    assert compatible(cell(layer=2, model={"layers": 3})) is None
    assert not encoder.opened


def test_a_config_that_states_another_number_of_layers_is_refused(measured: Callable[..., Result]) -> None:
    assert "model.layers=4: the last layer of fake is 3" in measured(model={"layers": 4}).reason


def test_an_unknown_kind_of_model_is_one_sentence(cell: Callable[..., Cell]) -> None:
    with pytest.raises(HarnessError, match=r"model.kind=transfomer: is one of .* Did you mean transformer"):
        cell(model={"kind": "transfomer"}).identity()


def test_seat_takes_every_sentence_and_names_its_stimuli(measured: Callable[..., Result]) -> None:
    result = measured()
    assert result.status == "finished", result.traceback
    assert result.metrics["n_x"] == 64
    assert result.metrics["n_stimuli_x"] == 8
    assert result.labels["name"] == "w-SEAT"
    assert result.words["X"] == {"used": WORDS["X"], "dropped": []}
    assert measured(encoding="sentence").labels["name"] == "s-SEAT"


def bare_vectors(words: list[str], layer: int = 3) -> np.ndarray:
    return np.stack([fake_vector(Context(word, 0, len(word)), "mean", layer) for word in words]).astype(float)


def test_weat_with_one_text_a_stimulus_takes_its_vector(measured: Callable[..., Result]) -> None:
    result = measured(method="weat", context={"name": "bare"})
    expected = weat(*(bare_vectors(words) for words in WORDS.values()), stats=StatsOptions(ci_resamples=0))
    assert result.metrics["d"] == pytest.approx(expected.d, abs=1e-12)
    assert result.metrics["p"] == pytest.approx(expected.p.p, abs=1e-12)


def test_weat_with_many_texts_takes_the_mean_over_them(
    measured: Callable[..., Result], cell: Callable[..., Cell]
) -> None:
    source = cell().source
    sets = [
        np.stack(
            [
                np.mean([fake_vector(c, "last", 3).astype(float) for c in source.contexts(concept, word)], axis=0)
                for word in concept.words
            ]
        )
        for concept in (getattr(cell().test, slot) for slot in "XYAB")
    ]
    result = measured(method="weat", pooling="last")
    assert result.metrics["n_x"] == 8
    assert result.metrics["d"] == pytest.approx(weat(*sets, stats=StatsOptions(ci_resamples=0)).d, abs=1e-12)


def test_mleat_measures_prompts_with_its_verdict_on_the_space(measured: Callable[..., Result]) -> None:
    result = measured(method="mleat", context={"name": "prompt", "templates": "this_is"}, pooling="last")
    assert result.status == "finished", result.traceback
    assert result.labels["anisotropy"] == "low"
    assert result.factors["context"] == "prompt/this_is"
    assert len(result.tables["cosines"]) == 4


@pytest.mark.parametrize(("unequal", "stimuli"), [("keep", (6, 8)), ("downsample", (6, 6))])
def test_unequal_targets_by_choice(
    measured: Callable[..., Result], own_test: Path, unequal: str, stimuli: tuple[int, int]
) -> None:
    own_test.write_text("name: garden\n" + "".join(f"{s}: {w[:6] if s == 'X' else w}\n" for s, w in WORDS.items()))
    result = measured(unequal=unequal)
    assert (result.metrics["n_stimuli_x"], result.metrics["n_stimuli_y"]) == stimuli
    assert result.metrics["n_dropped"] == 8 - stimuli[1]
    assert result.words == measured(unequal=unequal).words


def test_unequal_numbers_of_sentences_are_evened_out_too(measured: Callable[..., Result], own_test: Path) -> None:
    """A name has eight sentences in the plural as in the singular, a thing four of each."""
    own_test.write_text(own_test.read_text().replace(f"X: {WORDS['X']}", f"X: {{words: {WORDS['X']}, part: name}}"))
    source = {"name": "templates", "templates": "seat", "number": "plural"}
    kept = measured(context=source, unequal="keep")
    assert (kept.metrics["n_x"], kept.metrics["n_y"]) == (64, 32)
    even = measured(context=source, unequal="downsample")
    assert (even.metrics["n_x"], even.metrics["n_y"]) == (32, 32)
    assert "Left 32 of 64 texts of X out to even the sets." in even.notes


def test_postprocessing_changes_the_numbers_and_encodes_nothing(
    measured: Callable[..., Result], encoder: FakeEncoder
) -> None:
    plain = measured()
    read = encoder.read.total()
    changed = measured(model={"postprocess": "zscore"})
    assert changed.status == "finished", changed.traceback
    assert changed.metrics["d"] != plain.metrics["d"]
    assert encoder.read.total() == read


def test_all_layers_are_measured_from_one_pass(measured: Callable[..., Result], encoder: FakeEncoder) -> None:
    result = measured(layer="all")
    assert [row["layer"] for row in result.tables["layers"]] == [0, 1, 2, 3]
    assert result.tables["layers"][3]["d"] == result.metrics["d"] == measured(layer="last").metrics["d"]
    assert result.tables["layers"][1]["d"] == measured(layer=1).metrics["d"]
    assert set(encoder.read.values()) == {1}


def test_a_damaged_block_is_told_in_the_result(measured: Callable[..., Result], runs: Path) -> None:
    before = measured()
    path = next(iter(sorted((runs / "store").rglob("*.safetensors"))))
    path.write_bytes(path.read_bytes()[:-1])
    after = measured()
    assert after.metrics == before.metrics
    assert "were damaged (it has" in after.notes[0]
    assert not before.notes


def test_float16_vectors_give_nearly_the_same_numbers(measured: Callable[..., Result]) -> None:
    assert measured(store={"dtype": "float16"}).metrics["d"] == pytest.approx(measured().metrics["d"], abs=0.01)


@pytest.fixture
def overrides(encoder: FakeEncoder, own: list[str]) -> list[str]:
    kept = [argument for argument in own if not argument.startswith("model")]
    return [*kept, "model=vectors", "model.kind=fake", "model.name=fake", "context=templates", "stats.ci_resamples=0"]


def test_a_sweep_reads_each_text_once_and_says_so(
    cli: Cli, overrides: list[str], encoder: FakeEncoder, runs: Path
) -> None:
    axes = ["method=seat,weat", "encoding=word,sentence", "pooling=mean,first,last", "layer=last,1,2"]
    status, _, err = cli("run", "-m", *overrides, *axes, "target=null,terms")
    assert status == 0, err
    assert "72 cells asked, 48 distinct: 24 measured, 0 known, 24 skipped, 0 failed" in err
    assert "texts: 6,144 asked, 256 distinct, 256 encoded" in err
    assert "skipped: 24 × garden: Test garden has no variant 'terms'" in err
    assert set(encoder.read.values()) == {1}
    assert encoder.opened == 1


def test_the_same_sweep_again_opens_no_model(cli: Cli, overrides: list[str], encoder: FakeEncoder, runs: Path) -> None:
    command = ["run", "-m", *overrides, "method=seat", "encoding=word,sentence"]
    cli(*command)
    before = {result.fingerprint: result.metrics for result in ResultStore(runs)}
    assert "0 measured, 2 known" in cli(*command)[2]
    assert "2 measured" in cli(*command, "overwrite=always")[2]
    assert encoder.opened == 1
    assert set(encoder.read.values()) == {1}
    assert {result.fingerprint: result.metrics for result in ResultStore(runs)} == before


def test_a_text_that_cannot_be_read_fails_its_own_cells_alone(
    cli: Cli, overrides: list[str], encoder: FakeEncoder, runs: Path
) -> None:
    encoder.fails_on = "roses"
    axes = ["method=seat", "context.number=singular,plural"]
    status, _, err = cli("run", "-m", *overrides, *axes)
    assert status == 1
    assert "1 measured" in err
    assert "roses are here. cannot be read" in err
    assert {result.status for result in ResultStore(runs)} == {"finished", "failed"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_workers_that_share_a_model_encode_for_each_other(
    config: Callable[..., dict[str, Any]], encoder: FakeEncoder, runs: Path, tmp_path: Path, order: tuple[int, int]
) -> None:
    """One worker has layer 1, the other layer 2 and one that the model lacks: still one pass over each text."""
    found = survey([config(layer=layer) for layer in (1, 2, 9)], ResultStore(runs), overwrite="missing")
    plans = plans_of(
        found, runs=runs, folder=tmp_path / "plans", workers=2, figures="never", tracking=None, parent=None
    )
    assert len(plans) == 2
    statuses = [status["status"] for which in order for status in run_plan(plans[which])]
    assert sorted(statuses) == ["failed", "finished", "finished"]
    assert set(encoder.read.values()) == {1}


def test_a_single_run_prints_the_name_of_the_method(cli: Cli, overrides: list[str]) -> None:
    status, out, err = cli("run", *overrides, "method=seat", "encoding=sentence")
    assert status == 0, err
    assert "s-SEAT" in out
    assert "p_stimulus" in out
