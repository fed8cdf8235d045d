"""The window is symmetric, and shorter only where the sentence ends."""

from __future__ import annotations

import pytest

from harness.contexts import Context
from harness.contexts.window import windowed

TEXT = "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11"


def around(text: str, stimulus: str, words: int) -> tuple[str, str]:
    start = text.index(stimulus)
    cut = windowed(Context(text, start, start + len(stimulus)), words=words)
    return cut.text, cut.stimulus


@pytest.mark.parametrize(
    ("stimulus", "text"),
    [
        ("w1 ", "w1 w2 w3 w4 w5"),
        ("w2", "w1 w2 w3 w4 w5 w6"),
        ("w5", "w1 w2 w3 w4 w5 w6 w7 w8 w9"),
        ("w6", "w2 w3 w4 w5 w6 w7 w8 w9 w10"),
        ("w10", "w6 w7 w8 w9 w10 w11"),
        ("w11", "w7 w8 w9 w10 w11"),
    ],
)
def test_four_words_on_each_side_and_fewer_only_at_the_edges(stimulus: str, text: str) -> None:
    assert around(TEXT, stimulus.strip(), 4) == (text, stimulus.strip())


def test_a_phrase_counts_as_one_word() -> None:
    text = "a b c d e a person with epilepsy f g h i j"
    assert around(text, "a person with epilepsy", 4)[0] == "b c d e a person with epilepsy f g h i"


def test_what_clings_to_the_stimulus_is_no_word_of_its_own() -> None:
    assert around('x a - b ("rose\'s"), c -- d y', "rose", 2) == ('a - b ("rose\'s"), c -- d', "rose")


def test_zero_is_the_whole_sentence() -> None:
    assert around(TEXT, "w6", 0) == (TEXT, "w6")


@pytest.mark.parametrize("words", range(1, 8))
def test_both_sides_always_have_the_same_number(words: int) -> None:
    text = " ".join(["l"] * 10 + ["rose"] + ["r"] * 10)
    cut, _ = around(text, "rose", words)
    assert (cut.count("l"), cut.count("r") - 1) == (words, words)
