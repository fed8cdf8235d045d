"""SC-WEAT in intersectional contexts: matched pairs, planted effects, deciles, word order, and what a cell reads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

import harness.models
from harness.cell import Cell, compatible, fingerprint
from harness.config import Config
from harness.contexts.sources import IntersectionalSource, context_source
from harness.errors import HarnessError
from harness.methods.base import Design
from harness.methods.deciles import deciles
from harness.methods.sc_weat import category_effects, matched_pairs
from harness.options import StatsOptions
from harness.poles import design_of
from harness.result import Result
from harness.runner import Encoders, run
from harness.stimuli import load_concept
from harness.stimuli.categories import load_category_set
from harness.tracking import Tracker, TrackingSettings
from tests.planted_encoder import PlantedEncoder

PLEASANT, UNPLEASANT = (load_concept(f"caliskan2017/{name}") for name in ("pleasant", "unpleasant"))
POLES = {word: 3.0 for word in PLEASANT.words} | {word: -3.0 for word in UNPLEASANT.words}
TWELVE = {"name": "intersectional", "categories": "omrani2023_twelve"}
FIVE = {"name": "intersectional", "categories": "omrani2023_five"}

MakeCell = Callable[..., Cell]


def config(runs: Path, **changes: Any) -> dict[str, Any]:
    base: Any = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
    base["model"] |= {"name": "planted", "kind": "planted"}
    base["test"] = {"name": "valence"}
    base["method"] = {"name": changes.pop("method", "sc-weat")}
    base["context"] |= changes.pop("context", TWELVE)
    base["association"] |= {"name": "projection", "permutations": 9, **changes.pop("association", {})}
    base["lexicon"] |= changes.pop("lexicon", {})
    base["paths"]["runs"] = str(runs)
    base["stats"] |= changes.pop("stats", {})
    return {**base, **changes}


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PlantedEncoder]:
    def plant(**options: Any) -> PlantedEncoder:
        planted = PlantedEncoder(**{"poles": POLES, "noise": 0.3, **options})
        monkeypatch.setitem(harness.models.CONTEXTUAL, "planted", planted.kind())
        return planted

    return plant


@pytest.fixture
def measured(runs: Path) -> Callable[..., Result]:
    def measure(**changes: Any) -> Result:
        result = run(Cell.from_config(config(runs, **changes)), Encoders(runs))
        assert result.status == "finished", result.traceback
        return result

    return measure


def design(context: dict[str, Any]) -> Design:
    source = context_source(context)
    assert isinstance(source, IntersectionalSource)
    sentences = source.sentences("person")
    return Design(
        source.categories.categories,
        np.array([s.second for s in sentences]),
        np.array([s.order for s in sentences]),
        np.zeros(len(sentences), dtype=np.int64),
        tuple(s.context.text for s in sentences),
        shuffled=source.shuffles > 0,
    )


@pytest.mark.parametrize("article", ["agree", "fixed"])
def test_each_of_the_matched_pairs_differs_in_exactly_that_word(article: str) -> None:
    twelve = design({**TWELVE, "article": article})
    assert len(twelve.texts) == 4096
    for index, category in enumerate(twelve.categories):
        pairs = matched_pairs(twelve, index)
        assert pairs.shape == (2048, 2)
        assert len(np.unique(pairs)) == 4096
        for first, second in pairs.tolist():
            one, other = twelve.texts[first].split(), twelve.texts[second].split()
            differ = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
            article_too = [("a", "an")] if category.name == "age" and article == "agree" else []
            assert differ == [*article_too, (category.first, category.second)]


def test_pairs_of_permuted_sentences_keep_their_order() -> None:
    five = design({**FIVE, "orders": "all"})
    pairs = matched_pairs(five, 2)
    assert pairs.shape == (1920, 2)
    assert (five.order[pairs[:, 0]] == five.order[pairs[:, 1]]).all()
    assert (np.delete(five.second[pairs[:, 0]] == five.second[pairs[:, 1]], 2, axis=1)).all()


def test_a_planted_shift_is_the_effect_size_that_is_found(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    shifts = {"young": 0.5, "old": -0.5, "smart": 1.0, "stupid": -1.0, "christian": -0.25, "muslim": 0.25}
    encoder(terms=shifts, noise=0.0)
    result = measured()
    std = np.sqrt((0.5**2 + 1.0**2 + 0.25**2) * 4096 / 4095)
    for name, shift in (("age", 0.5), ("intelligence", 1.0), ("religion", -0.25), ("sex", 0.0)):
        assert result.metrics[f"{name}.d"] == pytest.approx(2 * shift / std, abs=1e-5)
        assert result.metrics[f"{name}.difference"] == pytest.approx(2 * shift, abs=1e-5)
    assert result.metrics["share_main"] == pytest.approx(1.0, abs=1e-5)


def test_planted_main_effects_and_interactions_are_recovered(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    encoder(terms={"male": 0.4}, together={("white", "male"): 0.8}, noise=0.0)
    rows = {(row["first"], row["second"]): row["effect"] for row in measured().tables["effects"]}
    # A shift of .8 when both first terms stand there is .2 for each main effect's half and for the interaction's.
    assert rows["sex", None] == pytest.approx(0.4 + 0.4, abs=1e-5)
    assert rows["race", None] == pytest.approx(0.4, abs=1e-5)
    assert rows["race", "sex"] == pytest.approx(0.4, abs=1e-5)
    others = [effect for key, effect in rows.items() if key not in {("sex", None), ("race", None), ("race", "sex")}]
    np.testing.assert_allclose(others, 0.0, atol=1e-5)


def test_4096_texts_are_read_once_each_and_another_measurement_reads_none(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    planted = encoder(terms={"male": 1.0})
    result = measured()
    assert result.metrics["n_sentences"] == 4096
    assert len(planted.read) == 4096 + 50
    assert set(planted.read.values()) == {1}
    measured(stats={"ddof": 0})
    measured(association={"C": 5.0})
    assert sum(planted.read.values()) == 4096 + 50


def test_no_p_value_is_zero_and_its_logarithm_is_finite(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    encoder(terms={"male": 1.0, "female": -1.0})
    result = measured()
    for row in result.tables["categories"]:
        assert row["p"] > 0 and row["paired_p"] > 0 and row["p_two_sided"] > 0
        assert np.isfinite(row["log10_p"]) and np.isfinite(row["paired_log10_p"])
    sex = next(row for row in result.tables["categories"] if row["category"] == "sex")
    assert sex["log10_p"] < -308
    assert sex["null"] == sex["paired_null"] == "saddlepoint"
    assert result.labels["null_used"] == "saddlepoint"


def test_the_paired_test_sees_what_the_published_one_drowns_in_other_categories() -> None:
    twelve = design(TWELVE)
    rng = np.random.default_rng(0)
    values = 5.0 * twelve.second[:, 3] + 0.05 * ~twelve.second[:, 0] + rng.normal(size=4096) * 0.2
    age = category_effects(values, twelve, stats=StatsOptions(alternative="two-sided"))[0]
    assert float(age.p.p) > 0.05
    assert age.paired is not None and age.paired.p < 1e-6


def test_decile_shares_equal_a_count_by_hand() -> None:
    five = design({**FIVE, "orders": "all"})
    values = np.random.default_rng(1).normal(size=3840) + 2.0 * five.second[:, 4]
    found = deciles(values, five)
    strongest = sorted(range(3840), key=lambda i: -values[i])
    for end, rows in (("top", strongest[:384]), ("bottom", strongest[-384:])):
        for term in [term for category in five.categories for term in (category.first, category.second)]:
            where = [five.texts[row].split()[1:-1] for row in rows]
            by_hand = [sum(words[place] == term for words in where) / 384 for place in range(5)]
            np.testing.assert_allclose(found[end].positions[term], by_hand)
            assert found[end].totals[term] == pytest.approx(sum(term in words for words in where) / 384)


def test_shares_carry_the_names_of_the_poles(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    encoder(terms={"homosexual": -5.0}, noise=0.05)
    result = measured(context={**FIVE, "orders": "all"})
    assert result.metrics["n_sentences"] == 3840
    assert result.metrics["unpleasant.homosexual.share"] == 1.0
    assert result.metrics["pleasant.homosexual.share"] == 0.0
    assert all(" homosexual " in row["text"] for row in result.tables["strongest"] if row["end"] == "bottom")


def test_drawn_orders_are_other_orders_and_leave_the_effect_of_the_own_order_alone(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    planted = encoder(terms={"male": 1.0})
    plain, shuffled = measured(context=FIVE), measured(context={**FIVE, "shuffles": 3})
    assert shuffled.metrics["sex.d"] == plain.metrics["sex.d"]
    assert shuffled.metrics["n_orders"] == 4
    assert [len(row["d"]) for row in shuffled.tables["orders"]] == [4] * 5
    assert shuffled.tables["orders"][1]["d"][0] == pytest.approx(plain.metrics["sex.d"])
    assert len(planted.read) == 50 + 4 * 32
    assert set(planted.read.values()) == {1}


def test_the_same_seed_draws_the_same_orders() -> None:
    texts = [design({**TWELVE, "shuffles": 2, "shuffle_seed": seed}).texts for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]
    assert len(set(texts[0])) == 3 * 4096


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize(("context", "size"), [(FIVE, 16), (FIVE, 32), (TWELVE, 32), (TWELVE, 256), (TWELVE, 4096)])
def test_a_part_of_an_order_crosses_every_three_categories(context: dict[str, Any], size: int, seed: int) -> None:
    chosen = load_category_set(context["categories"]).fraction(size, seed=seed)
    assert len(set(chosen)) == size
    levels = np.array(chosen)
    for three in combinations(range(levels.shape[1]), 3):
        _, counts = np.unique(levels[:, three], axis=0, return_counts=True)
        assert counts.tolist() == [size // 8] * 8


def test_a_part_of_an_order_finds_what_is_planted(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    planted = encoder(terms={"male": 1.0})
    result = measured(context={**FIVE, "shuffles": 3, "shuffle_size": 16})
    assert len(planted.read) == 50 + 32 + 3 * 16
    rows = {row["category"]: row["d"] for row in result.tables["orders"]}
    assert rows["sex"][0] == pytest.approx(result.metrics["sex.d"])
    assert min(rows["sex"]) > 1 > max(abs(d) for name in rows.keys() - {"sex"} for d in rows[name])


def test_so_few_sentences_that_no_p_can_be_small_are_stated(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result], runs: Path
) -> None:
    encoder(terms={"young": 1.0})
    path = runs.parent / "two.yaml"
    rows = ("name: age, first: young, second: old", "name: origin, first: local, second: foreign")
    path.write_text("categories:\n" + "".join(f"- {{{row}}}\n" for row in rows))
    few = measured(context={**FIVE, "categories": str(path)})
    assert "With 4 sentences no p is below 0.17, however strong a category is." in few.notes
    assert min(row["p"] for row in few.tables["categories"]) == pytest.approx(1 / 6)
    assert not any("no p is below" in note for note in measured(context=FIVE).notes)


def test_thirteen_categories_have_8192_sentences_and_all_their_interactions(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result], runs: Path
) -> None:
    encoder(terms={"a12": 1.0}, together={("a0", "a1"): 0.8}, noise=0.0)
    path = runs.parent / "thirteen.yaml"
    path.write_text("categories:\n" + "".join(f"- {{name: c{n}, first: a{n}, second: b{n}}}\n" for n in range(13)))
    result = measured(context={**FIVE, "categories": str(path)})
    assert result.metrics["n_sentences"] == 8192
    effects = {(row["first"], row["second"]): row["effect"] for row in result.tables["effects"]}
    assert len(effects) == 13 + 78
    assert effects["c12", None] == pytest.approx(1.0, abs=1e-5)
    assert effects["c0", "c1"] == pytest.approx(0.4, abs=1e-5)


@pytest.mark.parametrize("size", [3, 8, 64])
def test_a_part_that_is_not_balanced_is_refused(size: int) -> None:
    with pytest.raises(HarnessError, match="has 16, 32 sentences; 0 takes all of them"):
        design({**FIVE, "shuffles": 1, "shuffle_size": size})


def test_more_orders_than_there_are_is_refused() -> None:
    with pytest.raises(HarnessError, match="has 119 orders beside its own"):
        design({**FIVE, "shuffles": 120})


def test_any_two_concepts_can_be_poles(encoder: Callable[..., PlantedEncoder], runs: Path) -> None:
    encoder()
    math_arts = {"poles": ["caliskan2017/math", "caliskan2017/arts"]}
    one, other = (Cell.from_config(config(runs, association=a, context=FIVE)) for a in ({}, math_arts))
    assert other.poles is not None and other.poles[0].name == "caliskan2017/math"
    assert fingerprint(one.identity()) != fingerprint(other.identity())


@pytest.mark.parametrize(
    ("association", "sentence"),
    [
        ({"poles": ["caliskan2017/math"]}, "name two concepts"),
        ({"poles": ["caliskan2017/math", "caliskan2017/mathh"]}, "no concept named 'caliskan2017/mathh'"),
        ({"poles": ["caliskan2017/pleasant", "caliskan2017/pleasant_8"]}, "stands in both"),
    ],
)
def test_poles_that_span_nothing_are_a_mistake(
    encoder: Callable[..., PlantedEncoder], runs: Path, association: dict[str, Any], sentence: str
) -> None:
    encoder()
    with pytest.raises(HarnessError, match=sentence):
        Cell.from_config(config(runs, association=association))


def test_poles_without_a_direction_are_stated(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    encoder(poles={}, noise=1.0)
    notes = " ".join(measured(context=FIVE).notes)
    assert "are not separable along the direction found between them" in notes
    assert "no better than random splits of their words" in notes


@pytest.mark.parametrize(("splits", "stated"), [(9, True), (19, False)])
def test_too_few_random_splits_are_stated_and_are_no_verdict_on_the_poles(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result], splits: int, stated: bool
) -> None:
    encoder(terms={"male": 1.0})
    result = measured(context=FIVE, association={"permutations": splits})
    assert result.metrics["pole_accuracy_held_out"] == 1.0
    assert result.metrics["pole_p"] == pytest.approx(1 / (1 + splits))
    assert any("set association.permutations to 19 or more" in note for note in result.notes) == stated
    assert not any("no better than random" in note for note in result.notes)


def test_every_layer_that_sees_the_context_is_measured_and_the_others_are_named(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = encoder(terms={"male": 1.0}, noise=0.0)
    seen, blind = planted.vector, PlantedEncoder(poles=POLES)
    monkeypatch.setattr(planted, "vector", lambda context, layer: (seen if layer else blind.vector)(context, layer))
    result = measured(context=FIVE, layer="all")
    assert [row["layer"] for row in result.tables["layers"]] == [1, 2, 3]
    assert "Layer 0 is left out: there a stimulus does not see the words around it." in result.notes
    assert set(planted.read.values()) == {1}


def test_categories_may_have_any_name(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result], runs: Path
) -> None:
    encoder(terms={"old": -1.0}, noise=0.1)
    path = runs.parent / "own.yaml"
    path.write_text(
        "categories:\n- {name: 'âge (years) / 年', first: young, second: old}\n"
        "- {name: b, first: '§1', second: 'x+y'}\n- {name: c, first: quiet, second: loud}\n"
    )
    result = measured(context={**FIVE, "categories": str(path)})
    assert result.metrics["âge (years) / 年.d"] > 1
    tracker = Tracker(TrackingSettings(runs, f"sqlite:///{runs / 'mlflow.db'}", "own"))
    folder = runs / "empty"
    folder.mkdir(parents=True)
    logged = tracker.client.get_run(tracker.log(result, folder)).data.metrics
    assert len(logged) == len(result.metrics)
    assert sorted(logged.values()) == pytest.approx(sorted(result.metrics.values()))


@pytest.mark.parametrize(("token", "label"), [("", "nothing"), ("<s>", "<s>")])
def test_a_model_that_begins_texts_with_nothing_is_stated(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result], token: str, label: str
) -> None:
    encoder(begins_with=token)
    result = measured(context=FIVE)
    assert result.labels["texts_begin_with"] == label
    assert any("puts no token before a text" in note for note in result.notes) == (token == "")


def test_a_layer_that_sees_no_context_is_a_sentence(encoder: Callable[..., PlantedEncoder], runs: Path) -> None:
    encoder(noise=0.0)
    result = run(Cell.from_config(config(runs, context=FIVE)), Encoders(runs))
    assert "has the same vector in all 32 sentences" in result.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context": {"name": "bare"}}, "choose context=intersectional"),
        ({"association": {"name": "cosine"}}, "sc-weat measures by projection, not by cosine"),
        ({"test": {"name": "c1"}, "context": {"name": "bare"}}, "sc-weat measures tests of kind valence"),
        ({"method": "seat", "test": {"name": "c1"}, "context": {"name": "bare"}}, "seat measures by cosine"),
    ],
)
def test_a_combination_without_meaning_is_skipped(
    encoder: Callable[..., PlantedEncoder], runs: Path, changes: dict[str, Any], reason: str
) -> None:
    encoder()
    assert reason in str(compatible(Cell.from_config(config(runs, **changes))))


def test_the_design_has_a_row_for_every_sentence_of_the_cell(
    encoder: Callable[..., PlantedEncoder], runs: Path
) -> None:
    encoder()
    found = design_of(Cell.from_config(config(runs, context=FIVE)))
    assert found is not None
    assert found.texts[0] == "a white male christian cisgender heterosexual person"
    assert len(set(found.texts)) == 32
    assert all(len(set(row)) == 5 for row in found.order.tolist())
    assert not any((a == b).all() for a, b in combinations(found.second, 2))


def test_components_leave_a_word_out_whose_partner_the_model_lacks(vectors: Path, own_test: Path, runs: Path) -> None:
    whole = vectors.read_text().splitlines()
    asked = config(runs, method="weat", test={"name": str(own_test)}, context={"name": "bare"})
    asked["model"] |= {"name": "own", "kind": "static", "path": str(vectors)}
    asked["association"]["subspace"] = "pca"

    def measured_without(*words: str) -> Result:
        vectors.write_text("".join(f"{line}\n" for line in whole if line.split()[0] not in words))
        result = run(Cell.from_config(asked), Encoders(runs))
        assert result.status == "finished", result.traceback
        return result

    # peace and war are a pair, joy's partner is pain: whichever of them is lost, the same pairs are left.
    pairs, halves = measured_without("peace", "joy", "war", "pain"), measured_without("peace", "pain")
    assert halves.metrics["d"] == pytest.approx(pairs.metrics["d"], abs=1e-12)
    assert any(note.endswith("lacks the other of the pair: joy, war.") for note in halves.notes)
    assert not any("of the pair" in note for note in pairs.notes)


def test_the_weat_takes_a_projection_and_reads_poles_alone(
    encoder: Callable[..., PlantedEncoder], measured: Callable[..., Result]
) -> None:
    planted = encoder(terms={word: 1.0 for word in ("rose", "tulip", "daisy", "lily")})
    result = measured(method="weat", test={"name": "c1"}, context={"name": "prompt", "template": "this is {word}"})
    assert result.factors["association"] == "projection"
    assert result.factors["subspace"] == "svc/C=1/hinge"
    assert "love" in planted.read and "this is love" in planted.read
    assert result.metrics["d"] > 0
    assert result.metrics["pole_accuracy_held_out"] == 1.0
