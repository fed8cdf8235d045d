"""Which words ELMo reads, and where the stimulus stands among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contexts import Context
from harness.encoders.elmo_characters import character_table, tokenise
from harness.errors import HarnessError


@pytest.mark.parametrize(
    ("text", "stimulus", "before", "inside", "after"),
    [
        ("This is a rose.", "rose", "This is a", "rose", "."),
        ("Jamal's bag", "Jamal", "", "Jamal", "'s bag"),
        ("They don't know the female male", "male", "They don 't know the female", "male", ""),
        ("(short-term) pain", "short-term", "(", "short-term", ") pain"),
        ("a person who is deaf, here", "a person who is deaf", "", "a person who is deaf", ", here"),
        ("In the U.S. 1,000.50 people, not 3rd", "people", "In the U.S. 1,000.50", "people", ", not 3rd"),
        ("😀 Jose\u0301 smiled", "Jose\u0301", "😀", "Jose\u0301", "smiled"),
        ("unhappyness", "happy", "un", "happy", "ness"),
        ("say «fried-chicken»!", "fried-chicken", "say «", "fried-chicken", "» !"),
    ],
)
def test_words_are_cut_at_signs_and_at_both_ends_of_the_stimulus(text, stimulus, before, inside, after):
    start = text.rindex(stimulus)
    found = tokenise(Context(text, start, start + len(stimulus)))
    tokens = list(found.tokens)
    assert " ".join(tokens[: found.first]) == before
    assert " ".join(tokens[found.first : found.stop]) == inside
    assert " ".join(tokens[found.stop :]) == after


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), st.data())
def test_no_character_is_lost_and_the_stimulus_keeps_its_own(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    inside = "".join(text[start:end].split())
    if not inside:
        with pytest.raises(HarnessError, match="is white space"):
            tokenise(Context(text, start, end))
        return
    tokens, first, stop = tokenise(Context(text, start, end))
    assert "".join(tokens[:first]) == "".join(text[:start].split())
    assert "".join(tokens[first:stop]) == inside
    assert "".join(tokens[stop:]) == "".join(text[end:].split())


def test_a_word_is_its_bytes_between_two_signs_all_one_higher():
    padding, begin, end, word, long = character_table(["né", "o" * 60], 50)
    assert set(padding) == {0}
    assert list(begin[:4]) == [259, 257, 260, 261]
    assert list(end[:4]) == [259, 258, 260, 261]
    assert list(word[:6]) == [259, ord("n") + 1, 0xC3 + 1, 0xA9 + 1, 260, 261]
    assert list(long) == [259, *[ord("o") + 1] * 48, 260]
