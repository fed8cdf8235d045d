"""What a static model reads otherwise than written is told in one line."""

from __future__ import annotations

from collections.abc import Callable

from harness.read_as import warnings
from harness.result import Result


def result(words: dict[str, list[str]], forms: dict[str, str]) -> Result:
    used = {slot: {"used": own, "dropped": []} for slot, own in words.items()}
    return Result("f", "finished", {}, {"test": "t", "model": "m"}, words=used, forms=forms)


def test_two_stimuli_that_are_one_word_in_lower_case_are_named() -> None:
    found = warnings(result({"X": ["Rose", "Joy"], "A": ["rose", "joy", "love"]}, {"Rose": "rose", "Joy": "joy"}))
    assert found == [
        "t on m: Rose (X) and rose (A) are read as one word, rose; Joy (X) and joy (A) are read as one word, joy"
    ]


def test_phrases_read_as_a_mean_are_named_and_other_forms_are_not() -> None:
    forms = {"mentally ill": "mean of mentally, ill", "Amy": "amy"}
    assert warnings(result({"X": ["mentally ill", "Amy"]}, forms)) == [
        "t on m: read as the mean of several words: mentally ill"
    ]
    assert warnings(result({"X": ["Amy"]}, {"Amy": "amy"})) == []


def test_the_terminal_tells(cli: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = cli("run", "model=glove-6b-100d", "test=h-dis", "target=terms", "tracking=none", "unequal=keep")
    assert status == 0
    assert "h-dis on glove-6b-100d: read as the mean of several words: " in out.replace("\n", " ")
