"""What husse2022 draws from its scores: correlations of methods, runtimes, reductions and figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.audit.husse2022 import METHODS, STUDIES, Score, correlations, published_scores
from harness.audit.meeting import Met, StandIns
from harness.audit.needs import Need, needs_of, own_numbers
from harness.audit.paper_grid import OURS, PUBLISHED, entries_of
from harness.audit.replicate import lines_met
from harness.audit.vocabulary import Retained, in_vocabulary, reduced_to_vocabulary
from harness.config import ModelConfig
from harness.errors import HarnessError
from harness.plots import choice_scores, gap_choice, method_scatter, retained_words, word_sets
from harness.published import load_published
from harness.result import Result
from tests.encoders.likelihood_tiny import save_masked

Cli = Callable[..., tuple[int, str, str]]

ROUNDED = 0.0075
"""Half a digit of the printed r, and what half a digit of each of sixteen printed scores does to it."""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A masked language model of one's own, by its config file."""
    folder = save_masked(tmp_path / "weights")
    (tmp_path / "conf" / "model").mkdir(parents=True)
    text = f"name: tiny\nkind: transformer\npath: {folder}\n"
    (tmp_path / "conf" / "model" / "tiny.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HARNESS_CONF", str(tmp_path / "conf"))
    return {**vars(ModelConfig()), "name": "tiny", "kind": "transformer", "path": str(folder)}


def score(test: str, method: str, d: float, *, p: float = 0.001, model: str = "m", **more: str) -> Score:
    return Score(model, test, method, more.get("targets", "names"), more.get("context", "templates"), d, p)


def met(need: Need, model: str, d: float, p: float = 0.5, *, context: str = "templates/seat") -> Met:
    factors = {"model": model, "test": need.test, "method": need.method, "target": need.variant, "context": context}
    return Met(need, model, {}, Result(f"{need}{model}", "finished", {}, factors, {"d": d, "p": p}))


def test_the_papers_own_scores_give_the_papers_correlations() -> None:
    ours = {
        (found.model, f"{found.first}|{found.second}"): found.r
        for found in correlations(published_scores())
        if found.scores == "all" and found.r is not None
    }
    table = load_published("husse2022.table5")
    printed = {
        (row.model, row.choice.split(";")[0].removeprefix("methods=")): row.value
        for row in table.itertuples()
        if "scores=all" in row.choice
    }
    assert ours.keys() == printed.keys()
    assert max(abs(ours[key] - printed[key]) for key in printed) < ROUNDED


def test_scores_that_are_not_significant_leave_the_correlation_of_significant_ones() -> None:
    rng = np.random.default_rng(0)
    scores = [score(f"t{i}", name, rng.normal()) for i in range(6) for name in ("s-seat", "ceat")]
    noisy = [*scores, score("t6", "s-seat", 9.0), score("t6", "ceat", -9.0, p=0.01)]
    before, after = (
        {f.scores: f.r for f in correlations(found) if (f.first, f.second) == ("s-seat", "ceat")}
        for found in (scores, noisy)
    )
    assert after["significant"] == before["significant"]
    assert after["all"] != before["all"]


def test_two_scores_are_too_few_for_a_correlation() -> None:
    scores = [score(f"t{i}", name, i + len(name)) for i in range(2) for name in ("w-seat", "lpbs")]
    assert {found.r for found in correlations(scores)} == {None}


def test_every_number_of_table_3_meets_its_own_cell_of_the_same_choices() -> None:
    table = own_numbers(load_published("husse2022.table3"))
    values = dict(zip((need for need in needs_of(table)), table["value"], strict=True))
    lines = lines_met([met(need, need.model, value) for need, value in values.items()], table)
    assert len(lines) == len(table)
    assert all(line.agrees for line in lines)
    assert {line.choice for line in lines if (line.test, line.model) == ("h-c9", "gpt2")} == {
        "terms templates sentence",
        "terms templates word mean",
        "terms reddit word mean",
    }


def test_a_number_cited_of_another_paper_gives_way_to_the_papers_own() -> None:
    table = load_published("husse2022.table3")
    own = own_numbers(table)
    assert own["choice"].str.contains("reported=husse2022").all()
    assert len(own) < len(table)
    simplified = own_numbers(load_published("husse2022.table4"))
    assert simplified["choice"].str.contains("reported=kurita2019").any()


def test_the_verdict_of_this_paper_is_at_one_per_cent() -> None:
    table = own_numbers(load_published("husse2022.table3"))
    need = needs_of(table)[0]
    assert table["significant"].iloc[0]
    verdicts = [lines_met([met(need, need.model, 1.0, p)], table)[0].same_verdict for p in (0.009, 0.02)]
    assert verdicts == [True, False]


def test_stand_ins_take_the_place_of_models_and_of_the_reddit_dump_only() -> None:
    stand_ins = StandIns(("minilm", "smollm2"), "gutenberg")
    templates, reddit, pairs = (
        Need("bert-base-cased", "h-c1", method, "names", choices)
        for method, choices in (
            ("seat", (("context", "templates"), ("encoding", "word"))),
            ("ceat", (("context", "reddit"), ("encoding", "word"))),
            ("lpbs", (("context", "reddit"), ("association", "probability"))),
        )
    )
    assert [need.model for need in stand_ins.of(templates)] == ["minilm", "smollm2"]
    assert stand_ins.of(templates)[0].choices == templates.choices
    contexts = [dict(stand_ins.of(need)[0].choices) for need in (reddit, pairs)]
    assert [found["context"] for found in contexts] == ["corpus", "pairs_corpus"]
    assert {found["context.corpus"] for found in contexts} == {"gutenberg"}


def test_samples_and_fixed_sentences_of_ceat_are_passed_on() -> None:
    samples = {dict(need.choices)["stats.ceat_samples"] for need in needs_of(load_published("guo2021.table2"))}
    assert samples == {"1000"}
    modes = [
        {dict(need.choices).get("stats.ceat_mode") for need in needs_of(load_published(f"guo2021.table{number}"))}
        for number in (3, 4)
    ]
    assert modes == [{None}, {"fixed"}]


def test_reduced_targets_are_another_cell_than_full_ones() -> None:
    table = load_published("husse2022.table14")
    assert len(needs_of(table)) == len(table)


def test_a_grid_shows_ours_beside_the_papers_and_tells_why_a_number_is_missing() -> None:
    table = own_numbers(load_published("husse2022.table11"))
    first, second = needs_of(table)[:2]
    found = entries_of(table, [met(first, "minilm", 0.25, 0.001), Met(second, "minilm", None, None, "no such weights")])
    ours = [entry for entry in found if entry.source == OURS]
    assert [(entry.value, entry.significant, entry.reason) for entry in ours] == [
        (0.25, True, ""),
        (None, None, "no such weights"),
    ]
    assert sum(entry.source == PUBLISHED for entry in found) == len(table)


def test_a_word_is_kept_if_it_is_one_piece_of_the_vocabulary(tiny: dict[str, Any]) -> None:
    vocabulary = json.loads((Path(tiny["path"]) / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    whole = [word for word in vocabulary if re.fullmatch("[a-z]{4,}", word)][:5]
    assert whole
    assert in_vocabulary([*whole, "zzqqzzq", *(f"{word} {word}" for word in whole)], tiny) == whole


def test_a_reduced_test_holds_the_words_of_the_vocabulary_and_says_when_too_few_are_left(tiny: dict[str, Any]) -> None:
    config = {"model": tiny, "test": {"name": "h-dis"}, "target": "terms", "paths": {}, "unequal": "error"}
    with pytest.raises(HarnessError, match=r"0 of the 23 targets of h-dis, X, are one piece of the vocabulary of tiny"):
        reduced_to_vocabulary(config)


def test_runtimes_are_measured_and_what_cannot_be_is_said(cli: Cli, runs: Path, tiny: dict[str, Any]) -> None:
    arguments = ["--models", "tiny", "--repeats", 2, "--runs", runs, "--set", "tracking=none"]
    status, out, _ = cli("replicate", "husse2022.table8", *arguments)
    assert status == 0
    found = pd.read_csv(runs / "replications" / "husse2022.table8.csv")
    ours = found[found["source"] == OURS].set_index("method")
    assert set(ours.index[ours["value"] > 0]) == {"s-seat", "w-seat", "lpbs"}
    assert "context reddit is not on this machine" in ours.loc["ceat", "reason"]
    assert "mean of 2 measurements" in out
    assert "not run: 1 cell (" in out
    published = found[found["source"] == PUBLISHED]
    assert len(published) == len(load_published("husse2022.table8"))


def test_the_share_of_words_is_counted_without_measuring(cli: Cli, runs: Path, tiny: dict[str, Any]) -> None:
    status, out, _ = cli("replicate", "husse2022.figure2", "--models", "tiny", "--runs", runs)
    assert status == 0
    assert (runs / "replications" / "husse2022.figure2.png").is_file()
    assert (runs / "replications" / "husse2022.figure2.svg").is_file()
    shares = pd.read_csv(runs / "replications" / "husse2022.figure2.csv")
    assert set(shares["test"]) == {f"h-{name}" for name in ("c1", "c3", "c6", "c9", "dis", "occ", "i1", "i2")}
    assert shares["value"].between(0, 1).all()
    assert "from 0 cells" in out


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "husse2022.figure2"])
def test_without_the_papers_models_every_cell_has_a_reason(name: str, cli: Cli, runs: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
        status, out, _ = cli("replicate", name, "--runs", runs)
    assert status == 0
    counted = sum(int(number) for number in re.findall(r"not run: (\d+) cells? \(", out))
    assert counted == len({replace(need, numbers=0) for need in STUDIES[name].needs()})
    assert "there is no number of ours" in out
    assert not (runs / "replications").exists()


def test_figure_1_draws_every_score_and_counts_the_significant_ones() -> None:
    scores = [
        score(f"t{i}", method, i / 4, p=0.001 if i else 0.5, targets=targets, model=model)
        for i in range(3)
        for method in METHODS
        for targets in ("names", "terms")
        for model in ("m", "n")
    ]
    drawing = choice_scores.figure({"targets": scores, "context": []}, level=0.01)
    left, right = drawing.axes
    assert sum(len(points.get_offsets()) for points in left.collections) == len(scores)
    assert right.get_title(loc="left") == "p < 0.01: 32 of 48"


def test_figure_2_has_a_bar_for_each_set_as_high_as_its_share() -> None:
    shares = [Retained(test, "m", slot, "c", 8, kept) for test in ("t", "u") for slot, kept in (("X", 2), ("Y", 8))]
    (axes,) = retained_words.figure(shares).axes
    assert sorted(patch.get_height() for patch in axes.patches) == [0.25, 0.25, 1.0, 1.0]


def test_figure_3_says_where_nothing_was_measured() -> None:
    rows = [{"low": i / 2, "high": (i + 1) / 2, "count": i + 1, "mean_p": 0.1} for i in range(4)]
    result = Result("f", "finished", {}, {"context": "corpus/books/n9"}, {"ces": 0.7}, tables={"histogram": rows})
    found = [
        word_sets.Distribution("m", "cosine", "full", result),
        word_sets.Distribution("m", "probability", "reduced", result),
        word_sets.Distribution("n", "cosine", "full", result),
    ]
    axes = word_sets.figure(found).axes
    assert [[text.get_text() for text in panel.texts] for panel in axes] == [[], [], [], ["not measured"]]
    titles = [panel.get_title(loc="left") for panel in axes]
    assert titles == ["cosine, m in books", "cosine, n in books", "probability, m in books", "probability, n"]
    (density,) = [patch for patch in axes[0].patches]
    values, edges, _ = density.get_data()
    assert [value * 4 for value in values] == [row["count"] for row in rows]
    assert list(edges) == [0, 0.5, 1, 1.5, 2]


def test_figure_4_has_a_panel_a_test_and_a_point_a_gap() -> None:
    rows = [{"gap": gap, "d_item": gap / 10, "p_item": 0.001 * gap} for gap in range(1, 19)]
    results = [
        Result("f", "finished", {}, {"test": test, "model": "m", "context": context}, tables={"gaps": rows})
        for test, context in (("h-c1", "pairs"), ("h-c9", "pairs_corpus/books/gap18"))
    ]
    axes = gap_choice.figure(results, level=0.01).axes
    assert [panel.get_title(loc="left") for panel in axes] == ["h-c1", "h-c9 in books"]
    assert [len(panel.collections[0].get_offsets()) for panel in axes] == [len(rows)] * 2


def test_figure_5_sets_each_two_methods_against_each_other_on_the_tests_they_share() -> None:
    scores = [score(f"t{i}", method, i) for method in METHODS[:3] for i in range(5)]
    scores = [one for one in scores if (one.test, one.method) != ("t0", "ceat")]
    axes = method_scatter.figure(scores, METHODS).axes
    counts = [sum(len(points.get_offsets()) for points in panel.collections) for panel in axes]
    assert counts == [0, 5, 4, 5, 0, 4, 4, 4, 0]
    off_diagonal = [panel for i, panel in enumerate(axes) if i % 4]
    assert len({panel.get_xlim() for panel in axes} | {panel.get_ylim() for panel in off_diagonal}) == 1
