"""The summaries of guo2021, computed from rows."""

from __future__ import annotations

import pytest

from harness.methods.ceat_summary import congruent_counts, ranked_models, summary_sentences
from harness.published import load_published


def published(sentences: str) -> list[dict[str, object]]:
    table = load_published("guo2021.table1")
    table = table[table["choice"].str.contains(f"sentences={sentences}")]
    wide = table.pivot_table(index=["model", "test"], columns="statistic", values="value", aggfunc="first")
    return [{**row, "method": "ceat"} for row in wide.reset_index().to_dict("records")]


def test_the_counts_of_table_1_are_those_that_guo2021_states() -> None:
    counts = {one.family: (one.congruent, one.instances) for one in congruent_counts(published("random"))}
    assert counts == {"intersectional": (13, 16), "gender": (9, 12), "race": (8, 12)}


def test_with_fixed_sentences_the_same_table_counts_otherwise() -> None:
    counts = {one.family: one.congruent for one in congruent_counts(published("fixed"))}
    assert counts == {"intersectional": 12, "gender": 10, "race": 8}


@pytest.mark.parametrize("sentences", ["random", "fixed"])
def test_elmo_ranks_first_and_gpt2_last(sentences: str) -> None:
    ranked = ranked_models(published(sentences))
    assert [one.model for one in ranked] == ["elmo", "bert-base-cased", "gpt", "gpt2"]
    assert {one.tests for one in ranked} == {14}


def test_models_are_ranked_on_the_tests_that_all_of_them_have() -> None:
    rows = [
        {"model": "one", "test": "c1", "d": 0.2, "p": 0.01},
        {"model": "one", "test": "c2", "d": 9.0, "p": 0.01},
        {"model": "other", "test": "c1", "d": 0.4, "p": 0.5},
        {"model": "other", "test": "c3", "d": None, "p": None},
    ]
    assert [(one.model, one.mean_d, one.congruent) for one in ranked_models(rows)] == [
        ("other", 0.4, 0),
        ("one", 0.2, 1),
    ]


def test_rows_of_other_methods_are_no_part_of_the_summary() -> None:
    assert summary_sentences([{"model": "one", "test": "c3", "method": "weat", "d": 1.0, "p": 0.01}]) == []
    assert summary_sentences(published("random"))[0].startswith(
        "mean CES over the 14 tests measured on all models: elmo"
    )


def test_an_instance_counts_once_in_each_setting() -> None:
    rows = [{**row, "ceat_mode": mode} for mode in ("random", "fixed") for row in published(mode)]
    found = summary_sentences(rows, factors=["model", "test", "ceat_mode"])
    assert [line for line in found if "race" in line] == [
        f"ceat_mode={mode}: race: 8 of 12 instances significant and stereotype-congruent, {against} significant and "
        "incongruent"
        for mode, against in (("random", 4), ("fixed", 2))
    ]
    assert sum("mean CES over the 14 tests" in line for line in found) == 2


def test_a_choice_that_goes_with_the_model_is_no_setting() -> None:
    rows = [{**row, "bos": row["model"] == "gpt"} for row in published("random")]
    assert summary_sentences(rows, factors=["bos"]) == summary_sentences(rows)


def test_of_many_settings_no_summary_is_made() -> None:
    rows = [{**row, "window": window} for window in range(9) for row in published("random")]
    (said,) = summary_sentences(rows, factors=["window"])
    assert said.startswith("CEAT in 9 settings (window)")
