"""SEAT counts every sentence, or every word once; both are always told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.methods.base import Inputs, VectorSet
from harness.methods.seat import LARGEST_BOOTSTRAP, measure, seat
from harness.methods.weat import weat
from harness.options import StatsOptions
from harness.stats.effect import weat_d
from harness.stimuli import load_test

STATS = StatsOptions(ci_resamples=0)
TEST = load_test("h-c6")


def planted(
    *, shift: float, words: int = 6, sentences: int = 5, spread: float = 0.3, seed: int = 0, dim: int = 16
) -> dict[str, VectorSet]:
    """Sentences around the vector of their word; X leans to A and Y to B by ``shift``."""
    rng = np.random.default_rng(seed)
    lean = {"X": shift, "Y": -shift, "A": 2.0, "B": -2.0}
    sets = {}
    for slot, towards in lean.items():
        centres = rng.normal(size=(words, dim)) + towards * np.eye(dim)[0]
        rows = np.repeat(centres, sentences, axis=0) + spread * rng.normal(size=(words * sentences, dim))
        names = tuple(f"{slot}{i}" for i in range(words) for _ in range(sentences))
        sets[slot] = VectorSet(slot.lower(), names, rows)
    return sets


def inputs(sets: dict[str, VectorSet], *, encoding: str = "word", unit: str | None = "item", **stats: object) -> Inputs:
    options = StatsOptions(**{"ci_resamples": 0, **stats})  # type: ignore[arg-type]
    return Inputs(TEST, sets, options, 0, encoding=encoding, unit=unit)


def test_by_item_it_is_the_weat_of_all_sentences() -> None:
    sets = planted(shift=0.3, words=3, sentences=3)
    found = seat(sets, by="item", stats=STATS)
    expected = weat(*(vectors.vectors for vectors in sets.values()), stats=STATS)
    assert found.d == pytest.approx(expected.d, abs=1e-12)
    assert found.p.p == pytest.approx(expected.p.p, abs=1e-12)


def test_by_stimulus_it_equals_a_plain_loop_over_words() -> None:
    sets = planted(shift=0.3, words=4, sentences=3)
    unit = {slot: v.vectors / np.linalg.norm(v.vectors, axis=1, keepdims=True) for slot, v in sets.items()}
    per_word = {
        slot: {word: unit[slot][[w == word for w in v.words]] for word in dict.fromkeys(v.words)}
        for slot, v in sets.items()
    }
    s = {
        slot: [
            np.mean([np.mean([(row @ rows.T).mean() for rows in per_word["A"].values()]) for row in sentences])
            - np.mean([np.mean([(row @ rows.T).mean() for rows in per_word["B"].values()]) for row in sentences])
            for sentences in per_word[slot].values()
        ]
        for slot in "XY"
    }
    d = (np.mean(s["X"]) - np.mean(s["Y"])) / np.std(s["X"] + s["Y"], ddof=1)
    found = seat(sets, by="stimulus", stats=STATS)
    assert found.d == pytest.approx(d, abs=1e-12)
    np.testing.assert_allclose(found.s_x, s["X"], atol=1e-12)


def test_a_word_with_many_sentences_counts_once_by_stimulus() -> None:
    sets = planted(shift=0.3, words=5, sentences=2)
    repeated = sets["X"].words.index("X0")
    many = VectorSet(
        "x",
        (*sets["X"].words, *["X0"] * 20),
        np.vstack([sets["X"].vectors, *[sets["X"].vectors[repeated : repeated + 2]] * 10]),
    )
    once, again = (seat(s, by="stimulus", stats=STATS) for s in (sets, sets | {"X": many}))
    assert again.d == pytest.approx(once.d, abs=1e-12)
    assert seat(sets | {"X": many}, by="item", stats=STATS).d != pytest.approx(seat(sets, by="item", stats=STATS).d)


def test_copies_of_a_sentence_make_p_smaller_by_item_and_leave_it_by_stimulus() -> None:
    """What pretending that sentences are independent does: the same words, copied, become ever more significant."""
    once = planted(shift=0.15, words=6, sentences=1, seed=3)
    copied = {
        slot: VectorSet(v.name, tuple(np.repeat(v.words, 8).tolist()), np.repeat(v.vectors, 8, axis=0))
        for slot, v in once.items()
    }
    first, second = measure(inputs(once)).metrics, measure(inputs(copied)).metrics
    assert second["p_stimulus"] == pytest.approx(first["p_stimulus"], abs=1e-12)
    assert second["p_item"] < first["p_item"] / 3
    assert first["p_item"] == pytest.approx(first["p_stimulus"])


@pytest.mark.parametrize(("encoding", "name"), [("sentence", "s-SEAT"), ("word", "w-SEAT")])
def test_tables_call_it_by_its_encoding(encoding: str, name: str) -> None:
    assert measure(inputs(planted(shift=0.5), encoding=encoding)).labels["name"] == name


@pytest.mark.parametrize("unit", ["item", "stimulus"])
def test_d_and_p_follow_the_unit_and_both_are_told(unit: str) -> None:
    metrics = measure(inputs(planted(shift=0.5), unit=unit)).metrics
    assert metrics["d"] == metrics[f"d_{unit}"]
    assert metrics["p"] == metrics[f"p_{unit}"]
    assert metrics["d_item"] != metrics["d_stimulus"]
    assert {metrics[f"n_stimuli_{slot}"] for slot in "xyab"} == {6.0}


def test_the_table_has_a_row_a_word_with_the_spread_of_its_sentences() -> None:
    sets = planted(shift=0.5)
    rows = measure(inputs(sets)).tables["associations"]
    assert [row["word"] for row in rows[:2]] == ["X0", "X1"]
    assert len(rows) == 12
    assert all(row["texts"] == 5 and row["spread"] > 0 for row in rows)
    s = seat(sets, by="item", stats=STATS).s_x[:5]
    assert rows[0]["s"] == pytest.approx(s.mean())
    assert rows[0]["spread"] == pytest.approx(s.std())


def test_an_interval_is_given_up_to_a_size_that_memory_bears() -> None:
    small = measure(inputs(planted(shift=0.5), ci_resamples=200))
    assert small.metrics["ci_low"] < small.metrics["d"] < small.metrics["ci_high"]
    sentences = LARGEST_BOOTSTRAP // 12 + 1
    large = inputs(planted(shift=0.5, sentences=sentences, dim=4), ci_resamples=200, null="normal")
    assert "ci_low" not in measure(large).metrics
    assert measure(large).labels["ci_method"] == "none"


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), by=st.sampled_from(["item", "stimulus"]))
def test_swapping_sets_flips_the_sign_and_scaling_changes_nothing(seed: int, by: str) -> None:
    sets = planted(shift=0.2, words=3, sentences=2, seed=seed, dim=5)
    d = seat(sets, by=by, stats=STATS).d
    assert seat(sets | {"X": sets["Y"], "Y": sets["X"]}, by=by, stats=STATS).d == pytest.approx(-d, abs=1e-9)
    assert seat(sets | {"A": sets["B"], "B": sets["A"]}, by=by, stats=STATS).d == pytest.approx(-d, abs=1e-9)
    lengths = np.random.default_rng(seed).uniform(0.1, 10, size=(len(sets["X"]), 1))
    scaled = VectorSet("x", sets["X"].words, sets["X"].vectors * lengths)
    assert seat(sets | {"X": scaled}, by=by, stats=STATS).d == pytest.approx(d, abs=1e-9)


def test_one_sentence_a_word_is_the_weat() -> None:
    sets = planted(shift=0.4, sentences=1)
    expected = weat_d(*(vectors.vectors for vectors in sets.values()))
    metrics = measure(inputs(sets, unit=None)).metrics
    assert metrics["d"] == metrics["d_item"] == pytest.approx(expected)
    assert metrics["d_stimulus"] == pytest.approx(expected)
