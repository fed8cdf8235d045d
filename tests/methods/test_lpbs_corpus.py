"""LPBS on sentences of a corpus, and within CEAT: whole cells on small language models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cell import Cell, compatible, fingerprint
from harness.contexts import PairContext
from harness.contexts.pairs_corpus import CorpusPair
from harness.corpus.build import Settings, build
from harness.corpus.patterns import compile_patterns
from harness.corpus.readers import Reading
from harness.encoders.torch_setup import import_torch, import_transformers
from harness.likelihoods_corpus import counterpart
from harness.runner import Encoders, run
from harness.stimuli import Concept
from tests.conftest import WORDS
from tests.encoders.likelihood_tiny import REVERSED, TEMPLATES
from tests.methods.probability_cells import Make, measured


def corpus(folder: Path, templates: tuple[str, ...]) -> dict[str, Any]:
    """Every target beside every second attribute of both sets, in the words that the small models know."""
    targets = [*WORDS["X"], *WORDS["Y"]]
    attributes = [*WORDS["A"], *WORDS["B"]]
    lines = [
        template.format(target=target, attribute=attribute)
        for template in templates
        for i, target in enumerate(targets)
        for j, attribute in enumerate(attributes)
        if (i + j) % 4 == 0
    ]
    path = folder / "planted.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    concepts = [Concept(name=slot.lower(), words=tuple(words)) for slot, words in WORDS.items()]
    settings = Settings(reading=Reading(layout="lines"))
    build("planted", [path], compile_patterns(concepts), folder / "corpora", settings=settings)
    return {"name": "pairs_corpus", "corpus": "planted", "folder": str(folder / "corpora"), "window": 0}


@pytest.fixture
def natural(tmp_path: Path) -> dict[str, Any]:
    return corpus(tmp_path, (*TEMPLATES, *REVERSED))


def test_a_masked_model_finds_the_plant_in_a_corpus(
    masked: Path, cell: Make, runs: Path, natural: dict[str, Any]
) -> None:
    result = measured(cell(masked, context=natural), runs)
    assert result.labels["name"] == "LPBS, corpus sentences"
    assert result.factors["context"] == "pairs_corpus/planted/gap18/window0"
    assert result.metrics["d"] > 1 and result.metrics["p_stimulus"] < 0.01
    assert result.metrics["sentences"] == len(result.tables["sentences"]) == 4 * 64
    for row in result.tables["sentences"]:
        own = "X" if row["target"] in WORDS["X"] else "Y"
        assert row["counterpart"] in WORDS["Y" if own == "X" else "X"]
        assert row["attribute"] in WORDS[row["set"]] and row["attribute"] in row["text"]


def test_every_sentence_agrees_with_a_loop(masked: Path, cell: Make, runs: Path, natural: dict[str, Any]) -> None:
    torch, transformers = import_torch(), import_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(masked)
    model = transformers.AutoModelForMaskedLM.from_pretrained(masked).eval()

    def log_p(text: str, word: str, *hidden: str) -> float:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        place = text.split().index(word) + 1
        for other in hidden:
            ids[0, text.split().index(other) + 1] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0, place].double()
        return float(torch.log_softmax(logits, -1)[tokenizer.convert_tokens_to_ids(word)])

    for row in measured(cell(masked, context=natural), runs).tables["sentences"][::20]:
        lifts = []
        for word in (row["target"], row["counterpart"]):
            text = row["text"].replace(row["target"], word)
            lifts.append(log_p(text, word, word) - log_p(text, word, word, row["attribute"]))
        sign = 1 if row["target"] in WORDS["X"] else -1
        assert row["bs"] == pytest.approx(sign * (lifts[0] - lifts[1]), abs=1e-5)


def test_the_gap_is_recorded_and_the_widest_is_the_cell(masked: Path, cell: Make, runs: Path, tmp_path: Path) -> None:
    from harness.plots.lpbs_gaps import figure

    context = corpus(tmp_path, (*TEMPLATES, "here the {target} now is like {attribute}"))
    result = measured(cell(masked, context=context), runs)
    rows = result.tables["gaps"]
    assert [row["gap"] for row in rows] == list(range(19))
    assert [row["sentences"] for row in rows] == [0, 0, 128, *[192] * 16] and rows[3]["at_gap"] == 64
    narrow = measured(cell(masked, context={**context, "gap": 2}), runs)
    for row, one in ((rows[-1], result), (rows[2], narrow)):
        for by in ("item", "stimulus"):
            assert (row[f"d_{by}"], row[f"p_{by}"]) == (one.metrics[f"d_{by}"], one.metrics[f"p_{by}"])
    assert rows[1]["d_item"] is None and rows[2]["d_item"] != rows[3]["d_item"]
    axes = figure(result).axes
    assert list(axes[0].lines[0].get_xdata()) == list(range(2, 19)) and "at most" in axes[1].get_xlabel()


@pytest.mark.parametrize("estimator", ["sentence", "left"])
def test_a_causal_model_finds_the_plant_in_a_corpus(
    causal: Path, cell: Make, runs: Path, natural: dict[str, Any], estimator: str
) -> None:
    result = measured(cell(causal, context=natural, stats={"lpbs_causal": estimator}), runs)
    assert result.metrics["d"] > 1 and result.metrics["p_stimulus"] < 0.01
    assert result.metrics["sentences"] == (256 if estimator == "sentence" else 128)


def test_the_titles_of_the_figures_fit(causal: Path, cell: Make, runs: Path, natural: dict[str, Any]) -> None:
    from harness.plots import lpbs, lpbs_gaps

    made = cell(causal, context=natural, stats={"lpbs_causal": "left"}, model={"name": "bert-base-uncased"})
    result = measured(made, runs)
    for drawing in (lpbs.figure(result), lpbs_gaps.figure(result)):
        assert drawing.get_tightbbox().x1 <= drawing.get_figwidth()


def test_a_left_context_without_any_attribute_is_refused(causal: Path, cell: Make, runs: Path, tmp_path: Path) -> None:
    after = corpus(tmp_path, TEMPLATES)
    result = run(cell(causal, context=after, stats={"lpbs_causal": "left"}), Encoders(runs))
    assert result.status == "failed"
    assert "has 0 attributes of A (garden/a) in sentences that can be scored; at least 2 are needed." in result.reason


def test_counterparts_follow_the_seed_and_no_other_word(
    masked: Path, cell: Make, runs: Path, natural: dict[str, Any]
) -> None:
    def drawn(seed: int) -> list[str]:
        return [r["counterpart"] for r in measured(cell(masked, context=natural, seed=seed), runs).tables["sentences"]]

    assert drawn(0) == drawn(0) != drawn(1)
    assert set(drawn(0)) == {*WORDS["X"], *WORDS["Y"]}
    pair = CorpusPair(PairContext("a rose is love", 2, 6, 10, 14), "X", "rose", "A", "love", 1)
    chosen = counterpart(pair, WORDS["Y"], seed=4)
    for word in set(WORDS["Y"]) - {chosen}:
        assert counterpart(pair, [w for w in WORDS["Y"] if w != word], seed=4) == chosen


def test_attributes_that_no_sentence_holds_are_left_out_or_refused(
    masked: Path, cell: Make, runs: Path, natural: dict[str, Any], own_test: Path
) -> None:
    own_test.write_text(own_test.read_text().replace("'heaven'", "'paradise'"), encoding="utf-8")
    result = measured(cell(masked, context=natural), runs)
    assert result.words["A"]["dropped"] == ["paradise"]
    assert any("too few sentences with a target and paradise (A): left out." in note for note in result.notes)
    refused = run(cell(masked, context=natural, missing="error"), Encoders(runs))
    assert refused.status == "failed" and "choose missing=drop" in refused.reason


def test_the_fingerprint_follows_the_sentences(masked: Path, cell: Make, natural: dict[str, Any]) -> None:
    prints = {
        fingerprint(cell(masked, context={**natural, **change}).identity())
        for change in ({}, {"gap": 1}, {"window": 1}, {"contexts": 1})
    }
    assert len(prints) == 4
    # What lets in the same sentences is the same cell.
    same = [fingerprint(cell(masked, context={**natural, **change}).identity()) for change in ({"gap": 17}, {})]
    assert same[0] == same[1]


CEAT = {"name": "ceat"}


def test_ceat_combines_lpbs_over_templates_and_over_a_corpus(
    masked: Path, cell: Make, runs: Path, natural: dict[str, Any]
) -> None:
    stats = {"ceat_samples": 100}
    for context in ({}, natural):
        result = measured(cell(masked, method=CEAT, context=context, stats=stats), runs)
        assert result.labels["name"] == "CEAT of LPBS" and result.factors["ceat_samples"] == 100
        assert result.metrics["ces"] > 1 and result.metrics["p"] < 1e-3 and result.metrics["p_stimulus"] < 0.01
        by_itself = measured(cell(masked, context=context), runs)
        sentences = [len(row["items"]) for row in by_itself.tables["attribute_scores"]]
        assert result.metrics["contexts_min"] == result.metrics["n_effective"] == min(sentences) > 1
        means = {row["word"]: row["bs"] for row in by_itself.tables["attribute_scores"]}
        spread = max(row["spread"] for row in by_itself.tables["attribute_scores"])
        for row in result.tables["attribute_scores"]:
            assert row["bs"] == pytest.approx(means[row["word"]], abs=0.5 * spread)
        d = np.array([row["d"] for row in result.tables["samples"]])
        assert d.size == 100 and d.mean() == pytest.approx(result.metrics["d_mean"])


def test_ceat_by_probability_draws_its_figures(masked: Path, cell: Make, runs: Path, tmp_path: Path) -> None:
    from harness.plots import draw

    result = measured(cell(masked, method=CEAT, stats={"ceat_samples": 100}), runs)
    drawn = {path.stem for path in draw(result, tmp_path)}
    assert drawn == {"lpbs", "ceat_distribution", "convergence"}


def test_options_of_both_methods_move_the_cell(masked: Path, cell: Make) -> None:
    def print_of(**stats: object) -> str:
        return fingerprint(cell(masked, method=CEAT, stats=stats).identity())

    assert len({print_of(), print_of(ceat_samples=7), print_of(lpbs_aggregate="mean_log_ratio")}) == 3
    assert print_of(alternative="less") == print_of()


def test_ceat_by_probability_needs_sentences_with_two_slots(masked: Path, cell: Make) -> None:
    made = cell(masked, method=CEAT, context={"name": "bare"})
    assert "choose context=pairs or context=pairs_corpus" in str(compatible(made))


def test_a_model_without_probabilities_is_not_sent_for_a_larger_corpus(
    masked: Path, cell: Make, natural: dict[str, Any]
) -> None:
    made = cell(masked, context={**natural, "gap": 0})
    assert "use a larger corpus" in str(compatible(made))
    config = {**made.config, "model": {**made.config["model"], "head": "none"}}
    assert "gives none: choose a masked or a causal language model" in str(compatible(Cell.from_config(config)))


def test_lpbs_takes_no_projection(masked: Path, cell: Make) -> None:
    made = cell(masked, method={"name": "lpbs"})
    config = {**made.config, "association": {**made.config["association"], "name": "projection"}}
    assert "lpbs measures by probability, not by projection" in str(compatible(Cell.from_config(config)))
