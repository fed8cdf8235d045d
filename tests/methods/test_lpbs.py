"""LPBS: equations (10) and (11) on known numbers, and whole cells on small language models."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cell import Cell, compatible, fingerprint, slots
from harness.contexts.pairs import PairSource, as_adjectives, every_pair
from harness.contexts.sources import context_source
from harness.encoders.torch_setup import import_torch, import_transformers
from harness.methods.lpbs import log_ratio, lpbs, scores
from harness.options import LPBS_MULTI_TOKEN, StatsOptions
from harness.plots.lpbs import figure
from harness.runner import Encoders, run
from harness.stimuli import Concept, load_test
from tests.conftest import WORDS
from tests.encoders.likelihood_tiny import REVERSED, TEMPLATES, save_masked
from tests.methods.probability_cells import Make, measured

STATS = StatsOptions(ci_resamples=0)


def test_the_ratio_of_sums_is_equation_10() -> None:
    given, prior = np.array([[0.2, 0.05], [0.1, 0.3]]), np.array([[0.1, 0.1], [0.2, 0.2]])
    found = log_ratio(np.log(given), np.log(prior), aggregate="ratio_of_sums")
    assert found == pytest.approx(np.log(given.sum(axis=1) / prior.sum(axis=1)))
    mean = log_ratio(np.log(given), np.log(prior), aggregate="mean_log_ratio")
    assert mean == pytest.approx([np.log(2 * 0.5) / 2, np.log(0.5 * 1.5) / 2])


def test_equation_11_and_the_enumerated_p() -> None:
    a, b = np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 0.5, 0.25]])
    found = lpbs(a, b, by="item", stats=STATS)
    together = np.concatenate([a.ravel(), b.ravel()])
    assert found.d == pytest.approx((a.mean() - b.mean()) / together.std(ddof=1))
    assert found.p.p == pytest.approx(2 / 20) and found.p.null == "exact"


def test_by_stimulus_an_attribute_counts_once() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, size=(4, 5)), rng.normal(0, 1, size=(4, 5))
    by = lpbs(a, b, by="stimulus", stats=STATS)
    assert by.bs_a == pytest.approx(a.mean(axis=0))
    assert by.p.smallest_p > lpbs(a, b, by="item", stats=STATS).p.smallest_p


def test_swapping_targets_or_attributes_flips_the_sign() -> None:
    rng = np.random.default_rng(1)
    given = {slot: rng.normal(-9, 2, size=(3, 8, 4)) for slot in "XY"}
    prior = {slot: rng.normal(-9, 2, size=(3, 8, 4)) for slot in "XY"}
    bs = scores(given, prior, aggregate="ratio_of_sums")
    swapped = scores({"X": given["Y"], "Y": given["X"]}, {"X": prior["Y"], "Y": prior["X"]}, aggregate="ratio_of_sums")
    assert swapped == pytest.approx(-bs)
    one, other = lpbs(bs[:, :4], bs[:, 4:], by="item", stats=STATS), lpbs(bs[:, 4:], bs[:, :4], by="item", stats=STATS)
    assert one.d == pytest.approx(-other.d) and one.p.p == pytest.approx(other.p.p)


def test_sums_of_probabilities_that_underflow_are_finite_in_logarithms() -> None:
    given = {slot: np.full((1, 4, 3), -400.0) - np.arange(4)[None, :, None] for slot in "XY"}
    prior = {slot: np.full((1, 4, 3), -410.0) for slot in "XY"}
    with np.errstate(divide="ignore", invalid="ignore"):
        published = np.log(
            np.exp(given["X"].astype(np.float32)).sum(-1) / np.exp(prior["X"].astype(np.float32)).sum(-1)
        )
    assert np.isnan(published).all()
    assert log_ratio(given["X"], prior["X"], aggregate="ratio_of_sums") == pytest.approx(np.array([[10, 9, 8, 7]]))


def test_adjectives_drop_and_name_what_has_none() -> None:
    concepts = {slot: Concept(name=slot.lower(), words=tuple(words)) for slot, words in WORDS.items()}
    changed, without = as_adjectives(concepts)
    assert "lovable" in changed["A"].words or "loving" in changed["A"].words
    assert "honest" in changed["A"].words and changed["A"].part == "adjective"
    for slot in "AB":
        assert len(changed[slot].words) + len(without[slot]) >= len(WORDS[slot])
    assert changed["X"] is concepts["X"]


@pytest.mark.parametrize("name", ["c6", "c7", "c8", "h-occ", "h-c1", "h-c9", "h-i1"])
def test_every_pair_has_four_sentences_with_the_attribute_first_too(name: str) -> None:
    concepts = dict(slots(load_test(name)))
    for templates, first in (("lpbs", False), ("lpbs_attribute_first", True)):
        source = context_source({"name": "pairs", "templates": templates})
        assert isinstance(source, PairSource)
        for pair in every_pair(concepts):
            for neutral in (False, True):
                sentences = source.pairs(*pair, neutral=neutral)
                assert len(sentences) == 4
                assert all(sentence.target.stimulus == pair[1] for sentence in sentences)
                assert all((sentence.attribute_end <= sentence.start) is first for sentence in sentences)


def test_a_planted_association_is_found_by_a_masked_model(masked: Path, cell: Make, runs: Path) -> None:
    result = measured(cell(masked), runs)
    assert result.labels["name"] == "LPBS"
    assert result.metrics["d"] > 1
    assert result.metrics["p_item"] < 0.01 and result.metrics["p_stimulus"] < 0.01
    assert {row["word"] for row in result.tables["attribute_scores"]} == {*WORDS["A"], *WORDS["B"]}
    assert len(result.tables["attribute_scores"][0]["items"]) == len(TEMPLATES)


@pytest.mark.parametrize(("estimator", "templates"), [("sentence", TEMPLATES), ("left", REVERSED)])
def test_a_planted_association_is_found_by_a_causal_model(
    causal: Path, cell: Make, runs: Path, estimator: str, templates: tuple[str, ...]
) -> None:
    result = measured(cell(causal, templates=templates, stats={"lpbs_causal": estimator}), runs)
    assert result.labels["name"].startswith("causal LPBS")
    assert result.metrics["d"] > 1 and result.metrics["p_stimulus"] < 0.01


SEVERAL = {
    "X": ["rose", "theatrerose"],
    "Y": ["Michael", "otherheather", "nurse"],
    "A": ["male", "illiteratenurse", "hello"],
    "B": ["people", "rosewoodtest", "chicken"],
}


@pytest.mark.parametrize("lowercase", [True, False], ids=["uncased", "cased"])
@pytest.mark.parametrize("how", LPBS_MULTI_TOKEN)
def test_a_cell_is_equations_8_to_11_in_plain_probabilities(
    cell: Make, runs: Path, tmp_path: Path, how: str, lowercase: bool
) -> None:
    """Masks written into the text, products and sums of probabilities, and every exchange of attributes."""
    torch, transformers = import_torch(), import_transformers()
    folder = save_masked(tmp_path / "model", lowercase=lowercase)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    own = tmp_path / "own.yaml"
    own.write_text("name: own\n" + "".join(f"{slot}: {words}\n" for slot, words in SEVERAL.items()))

    def pieces(word: str) -> list[int]:
        return list(tokenizer(word, add_special_tokens=False)["input_ids"])

    def probability(template: str, target: str, beside: str) -> float:
        hidden = pieces(target) if how == "masks" else pieces(target)[:1]
        text = template.format(target=" ".join(["[MASK]"] * len(hidden)), attribute=beside)
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        places = (ids[0] == tokenizer.mask_token_id).nonzero().ravel().tolist()[: len(hidden)]
        with torch.no_grad():
            at = model(input_ids=ids).logits[0].double().softmax(-1)
        if how == "product":
            return math.prod(float(at[places[0], piece]) for piece in pieces(target))
        return math.prod(float(at[place, piece]) for place, piece in zip(places, hidden, strict=True))

    def bs(template: str, attribute: str) -> float:
        masked = " ".join(["[MASK]"] * len(pieces(attribute)))
        sums = {
            (slot, beside): sum(probability(template, target, beside) for target in SEVERAL[slot])
            for slot in "XY"
            for beside in (attribute, masked)
        }
        x, y = (math.log(sums[slot, attribute] / sums[slot, masked]) for slot in "XY")
        return x - y

    assert {len(pieces(word)) for words in SEVERAL.values() for word in words} >= {1, 3}
    items = {slot: [bs(template, word) for template in TEMPLATES for word in SEVERAL[slot]] for slot in "AB"}
    every = np.array([*items["A"], *items["B"]])
    border = len(items["A"])
    gaps = [
        every[list(chosen)].mean() - np.delete(every, chosen).mean()
        for chosen in combinations(range(every.size), border)
    ]
    stats = {"lpbs_multi_token": how}
    result = measured(cell(folder, test={"path": str(own)}, unequal="keep", stats=stats), runs)
    for row in result.tables["attribute_scores"]:
        expected = [bs(template, row["word"]) for template in TEMPLATES]
        assert row["items"] == pytest.approx(expected, abs=1e-5)
    gap = every[:border].mean() - every[border:].mean()
    assert result.metrics["d_item"] == pytest.approx(gap / every.std(ddof=1), abs=1e-5)
    assert result.metrics["p_item"] == pytest.approx(np.mean(np.abs(gaps) >= abs(gap) - 1e-9), abs=1e-12)


def test_a_sentence_is_scored_once_whatever_asks_for_it(masked: Path, cell: Make, runs: Path) -> None:
    encoders = Encoders(runs)
    first = run(cell(masked), encoders)
    scorer = encoders.likelihoods._opened(cell(masked))[0]
    passes = scorer.passes
    assert 0 < passes <= 2 * len(TEMPLATES) * (len(WORDS["A"]) + len(WORDS["B"]))
    run(cell(masked, stats={"lpbs_aggregate": "mean_log_ratio"}), encoders)
    assert scorer.passes == passes
    fresh = Encoders(runs)
    again = run(cell(masked), fresh)
    assert fresh.likelihoods._opened(cell(masked))[0].passes == 0
    assert again.metrics == first.metrics


def test_a_damaged_file_of_scores_is_computed_again(masked: Path, cell: Make, runs: Path) -> None:
    before = measured(cell(masked), runs)
    files = list((runs / "store").glob("*/scores/*.safetensors"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:-3] + b"xyz")
    assert measured(cell(masked), runs).metrics == before.metrics


def test_scores_are_looked_after_as_vectors_are(masked: Path, cell: Make, runs: Path) -> None:
    from harness.store import BlockStore

    measured(cell(masked), runs)
    measured(cell(masked, stats={"lpbs_aggregate": "mean_log_ratio"}), runs)
    store = BlockStore(runs / "store")
    (encoder,) = store.encoders()
    assert (store.description(encoder) or {})["name"] == "tiny"
    # Each target beside each attribute, in sight and masked.
    sentences = 2 * len(TEMPLATES) * 16 * 16
    assert store.texts_encoded(encoder) == store.distinct_texts(encoder) == sentences
    stored = list(store.blocks())
    assert [wrong for _, wrong in store.verify()] == [None] * len(stored) and stored
    path = stored[0].path
    path.write_bytes(path.read_bytes()[:-3] + b"xyz")
    assert [block.path for block, wrong in store.verify() if wrong] == [path]
    assert len(store.prune(encoder=encoder)) == len(stored) - 1 and not list(store.blocks())


def test_the_left_context_needs_the_attribute_first(causal: Path, cell: Make, runs: Path) -> None:
    stats = {"lpbs_causal": "left"}
    result = run(cell(causal, stats=stats), Encoders(runs))
    assert result.status == "failed" and "choose context.templates=lpbs_attribute_first" in result.reason
    assert "has not read by then" in str(compatible(cell(causal, stats=stats, model={"head": "causal"})))


def test_an_unknown_word_is_named_and_left_out_or_refused(masked: Path, cell: Make, runs: Path, own_test: Path) -> None:
    own_test.write_text(own_test.read_text().replace("'iris'", "'snapdragon'"), encoding="utf-8")
    result = measured(cell(masked), runs)
    assert result.words["X"]["dropped"] == ["snapdragon"]
    assert "The vocabulary of tiny holds nothing of snapdragon (X): left out." in result.notes
    refused = run(cell(masked, missing="error"), Encoders(runs))
    assert refused.status == "failed" and "correct the words, or choose missing=drop" in refused.reason


def test_reduced_targets_are_reported(masked: Path, cell: Make, runs: Path) -> None:
    result = measured(cell(masked, stats={"lpbs_targets": "reduced"}), runs)
    assert "Reduced to the vocabulary of tiny: 8 of 8 stimuli of X are left." in result.notes


def test_one_target_a_side_is_enough(masked: Path, cell: Make, runs: Path, own_test: Path) -> None:
    text = own_test.read_text().replace(str(WORDS["X"]), "[rose]").replace(str(WORDS["Y"]), "[wasp]")
    own_test.write_text(text, encoding="utf-8")
    assert measured(cell(masked), runs).metrics["n_x"] == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context": {"name": "bare"}}, "choose context=pairs"),
        ({"association": {"name": "cosine"}}, "lpbs measures by probability, not by cosine"),
        ({"model": {"head": "none"}}, "tiny gives none"),
        ({"model": {"kind": "elmo"}}, "gives none"),
    ],
)
def test_a_cell_without_meaning_says_why(cell: Make, tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    assert reason in str(compatible(cell(tmp_path, **changes)))


@pytest.mark.parametrize(
    ("head", "option", "same"),
    [
        ("masked", {"lpbs_causal": "left"}, True),
        ("causal", {"lpbs_multi_token": "first"}, True),
        ("masked", {"lpbs_multi_token": "first"}, False),
        ("causal", {"lpbs_causal": "left"}, False),
        (None, {"alternative": "less"}, True),
        (None, {"lpbs_attributes": "adjectives"}, False),
    ],
)
def test_options_of_the_other_head_make_no_new_cell(
    masked: Path, cell: Make, head: str | None, option: dict[str, str], same: bool
) -> None:
    prints = [fingerprint(cell(masked, model={"head": head}, stats=stats).identity()) for stats in ({}, option)]
    assert (prints[0] == prints[1]) is same


@pytest.mark.parametrize(
    "changed",
    [
        ("'rose'", "'aster'"),
        ("'love'", "'friendship'"),
        ("A: [", "A: {part: adjective, words: ["),
        ("X: [", "X: {part: person, words: ["),
    ],
)
def test_the_fingerprint_follows_words_and_parts_of_speech(
    cell: Make, masked: Path, own_test: Path, changed: tuple[str, str]
) -> None:
    before = cell(masked, context={"templates": "lpbs"})
    text = own_test.read_text()
    lines = [
        line.replace(*changed) + ("}" if changed[1].endswith("[") and changed[0] in line else "")
        for line in text.splitlines()
    ]
    own_test.write_text("\n".join(lines), encoding="utf-8")
    after = cell(masked, context={"templates": "lpbs"})
    assert after.pairs is not None and before.pairs is not None
    assert after.pairs.digest != before.pairs.digest


def test_vectors_refuse_sentences_with_two_slots(cell: Make, tmp_path: Path) -> None:
    config = {**cell(tmp_path).config, "method": {"name": "seat"}}
    config["association"] = {**config["association"], "name": "cosine"}
    assert "one stimulus a sentence" in str(compatible(Cell.from_config(config)))


def test_the_figure_has_a_row_for_every_attribute(masked: Path, cell: Make, runs: Path) -> None:
    axes = figure(measured(cell(masked), runs)).axes[0]
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert sorted(labels) == sorted([*WORDS["A"], *WORDS["B"]])
    assert "0" in axes.get_xlabel()


def test_the_figure_of_a_causal_model_shows_no_zero(causal: Path, cell: Make, runs: Path) -> None:
    axes = figure(measured(cell(causal), runs)).axes[0]
    assert "0" not in axes.get_xlabel()
    assert not any(list(line.get_xdata()) == [0, 0] for line in axes.lines)


@pytest.mark.parametrize("unit", ["item", "stimulus"])
def test_the_figure_shows_the_means_of_what_was_exchanged(masked: Path, cell: Make, runs: Path, unit: str) -> None:
    result = measured(cell(masked, unit=unit), runs)
    # As a corpus would have it: one attribute in fewer sentences than the others.
    rows = result.tables["attribute_scores"]
    rows[0]["items"] = rows[0]["items"][:1]
    rows[0]["bs"] = rows[0]["items"][0]
    own = [row for row in rows if row["set"] == "A"]
    exchanged = [row["bs"] for row in own] if unit == "stimulus" else [bs for row in own for bs in row["items"]]
    dashed = [line.get_xdata() for line in figure(result).axes[0].lines if line.get_linestyle() == "--"]
    assert dashed[0][0] == pytest.approx(np.mean(exchanged))
