"""Whole stimuli only, in the case that each follows."""

from __future__ import annotations

import numpy as np
import pytest

from harness.corpus.clean import SEPARATOR
from harness.corpus.matcher import Matcher, padded, shadow_of
from harness.corpus.patterns import Pattern, all_concepts, compile_patterns, pattern_key
from harness.corpus.sentences import PAD, sentence_ends
from harness.stimuli import Concept


def found_in(text: str, patterns: tuple[Pattern, ...]) -> list[tuple[str, str]]:
    """The stimuli of a text, each with the characters that it covers."""
    block = padded(text.encode())
    shadow = shadow_of(block)
    ends = sentence_ends(np.frombuffer(block, np.uint8), np.frombuffer(shadow, np.uint8))
    hits = Matcher(patterns).find(block, shadow, ends)
    assert all(start >= PAD for start in hits.start)
    return [
        (patterns[number].key, block[start:end].decode())
        for number, start, end in zip(*map(np.ndarray.tolist, hits), strict=True)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "the female there",
        "A males team, xmale, male2.",
        "a shorted stock",
        "short-termism is a disease",
        "self-love, love-hate, love_me, @love, love@example.org, love.com, r/love and u/rose",
        "she-male lover's clover",
        "O'Frank d'rose",
        "She won't; Will't",
        "African, American; African. American; African / American",
        "Emily-Rose",
    ],
)
def test_a_part_of_a_longer_word_is_no_stimulus(text: str, patterns: tuple[Pattern, ...]) -> None:
    assert found_in(text, patterns) == []


@pytest.mark.parametrize(
    ("text", "stimuli"),
    [
        ("A MALE (male), “male” – male's …male!", ["MALE", "male", "male", "male", "male"]),
        ("I love🚀 love—love’s Love", ["love", "love", "love", "Love"]),
        ("he'll and he’d and he's", ["he", "he", "he"]),
        ("rose", ["rose"]),
        ("nasa or NASA", ["nasa", "NASA"]),
        ("It is short term or short-term", ["short", "short term", "short-term"]),
        ("rednecks, a redneck, a red-neck, a Red Neck, a peasant", ["redneck", "red-neck", "Red Neck"]),
        ("An African-American or African American", ["African-American", "African American"]),
        ("met A Person with Epilepsy there", ["A Person with Epilepsy"]),
        ("so José met Jose", ["José"]),
    ],
)
def test_stimuli_are_found_in_every_form(text: str, stimuli: list[str], patterns: tuple[Pattern, ...]) -> None:
    assert [covered for _, covered in found_in(text, patterns)] == stimuli


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I will go, and Will will too.", ["Will"]),
        ("Will you go?", []),
        ("“Will you?” he asked.", []),
        ("Everything That Will Be Great", []),
        ("I WILL GO", []),
        ("So said Will.", ["Will"]),
        ("Emily came.", ["Emily"]),
        ("emily EMILY", []),
    ],
)
def test_will_the_verb_is_not_will_the_name(text: str, names: list[str], patterns: tuple[Pattern, ...]) -> None:
    assert [covered for key, covered in found_in(text, patterns) if key in ("Will", "Emily")] == names


def test_a_word_leaves_its_name_alone(patterns: tuple[Pattern, ...]) -> None:
    assert found_in("To be frank, I like Frank.", patterns) == [("frank", "frank"), ("Frank", "Frank")]


def test_no_phrase_reaches_from_one_document_to_the_next(patterns: tuple[Pattern, ...]) -> None:
    assert found_in(f"an African{SEPARATOR}American flag", patterns) == []
    assert found_in("an African\nAmerican flag", patterns) == []


def test_every_stimulus_of_every_test_is_found_where_it_stands_alone() -> None:
    patterns = compile_patterns(all_concepts())
    assert len(patterns) > 1000
    for pattern in patterns:
        text = f"that is {pattern.forms[0]} again"
        assert (pattern.key, pattern.forms[0]) in found_in(text, (pattern,))


def test_hyphens_and_case_of_words_make_one_pattern() -> None:
    assert pattern_key("all-American", cased=False) == pattern_key("all-american", cased=False) == "all american"
    names = Concept(name="own/n", kind="names", words=("Bobbie-Sue",))
    assert [p.key for p in compile_patterns([names])] == ["Bobbie Sue"]


def test_a_file_of_ones_own_adds_its_words(tmp_path) -> None:
    path = tmp_path / "pets.yaml"
    path.write_text("name: pets\nX: [tomcat]\nY: [poodle]\nA: [aloof]\nB: [obedient]\n", encoding="utf-8")
    keys = {pattern.key for pattern in compile_patterns(all_concepts(tests=[path]))}
    assert {"tomcat", "poodle", "aloof", "obedient"} <= keys
