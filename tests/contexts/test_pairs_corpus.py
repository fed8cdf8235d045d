"""Sentences of a corpus that hold one target and one attribute: found whole, cut, counted, and replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contexts import PairContext
from harness.contexts.pairs import pair_supply
from harness.contexts.pairs_corpus import CorpusPair, PairCorpusSource, replaced, written_like
from harness.contexts.sources import context_source
from harness.contexts.window import words_between
from harness.corpus.build import Settings, build
from harness.corpus.patterns import compile_patterns
from harness.corpus.readers import Reading
from harness.errors import HarnessError
from harness.stimuli import Concept

CONCEPTS = {
    "X": Concept(name="own/flowers", words=("rose", "tulip")),
    "Y": Concept(name="own/insects", words=("ant", "wasp")),
    "A": Concept(name="own/good", words=("love", "peace")),
    "B": Concept(name="own/bad", words=("hatred", "war")),
}
LINES = (
    "The rose is love",
    "Of love and the Wasp",
    "An antique rose of wares",  # neither an ant nor a war
    "The rose and the wasp at war",  # two targets
    "Love is a rose and peace",  # two attributes
    "A café's naïve tulip, peace",
    "ant " + "so " * 18 + "hatred",
    "wasp " + "so " * 19 + "hatred",
    "one two three four five six rose at war seven eight nine ten eleven",
)


def built(folder: Path, *lines: str, words: bool = True) -> Path:
    (folder / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    concepts = CONCEPTS.values() if words else [CONCEPTS["X"], CONCEPTS["Y"]]
    settings = Settings(reading=Reading(layout="lines"))
    build("own", [folder / "a.txt"], compile_patterns(concepts), folder / "corpora", settings=settings)
    return folder / "corpora"


def source(folder: Path, **options: object) -> PairCorpusSource:
    found = context_source({"name": "pairs_corpus", "corpus": "own", "folder": str(folder), **options})
    assert isinstance(found, PairCorpusSource)
    return found


def shown(pair: CorpusPair) -> tuple[str, str, int, str]:
    sentence = pair.sentence
    assert sentence.target.stimulus.lower() == pair.target and sentence.attribute.stimulus.lower() == pair.attribute
    return pair.target, pair.attribute, pair.gap, sentence.text


def test_one_target_and_one_attribute_at_most_so_many_words_apart(tmp_path: Path) -> None:
    folder = built(tmp_path, *LINES)
    found = {shown(pair) for pair in source(folder, window=0).sentences(CONCEPTS)}
    assert found == {
        ("rose", "love", 1, LINES[0]),
        ("wasp", "love", 2, LINES[1]),
        ("tulip", "peace", 0, LINES[5]),
        ("ant", "hatred", 18, LINES[6].strip()),
        ("rose", "war", 1, LINES[8]),
    }
    assert {pair.gap for pair in source(folder, gap=19, window=0).sentences(CONCEPTS)} == {0, 1, 2, 18, 19}
    assert {pair.gap for pair in source(folder, gap=1, window=0).sentences(CONCEPTS)} == {0, 1}


def test_the_window_stands_outside_of_both(tmp_path: Path) -> None:
    (pair,) = source(built(tmp_path, LINES[8]), window=2).sentences(CONCEPTS)
    assert shown(pair) == ("rose", "war", 1, "five six rose at war seven eight")
    assert (pair.target_slot, pair.attribute_slot, pair.attribute_first) == ("X", "B", False)


def test_words_that_were_not_searched_are_found_beside_a_target(tmp_path: Path) -> None:
    folder = built(tmp_path, *LINES, words=False)
    changed = {**CONCEPTS, "A": Concept(name="own/good", words=("naïve", "love"))}
    assert {pair.attribute for pair in source(folder).sentences(changed)} == {"love", "naïve", "war", "hatred"}


def test_fewer_sentences_a_pair_are_the_first_of_more(tmp_path: Path) -> None:
    folder = built(tmp_path, *(f"number {n} the rose is love" for n in range(9)), "the wasp is love")
    every, some = (source(folder, window=0, contexts=n).sentences(CONCEPTS) for n in (None, 4))
    assert len(every) == 10 and len(some) == 5 and sum(pair.target == "wasp" for pair in some) == 1
    assert [p for p in every if p.target == "rose"][:4] == [p for p in some if p.target == "rose"]


def test_attributes_without_a_sentence_are_named(tmp_path: Path) -> None:
    folder = built(tmp_path, "a rose is love", "a rose is peace", "an ant at war", "an ant in agony")
    with pytest.raises(HarnessError, match=r"has 1 of the 2 attributes of own/bad in a sentence with a target"):
        pair_supply(source(folder), CONCEPTS, adjectives=False)
    wider = {**CONCEPTS, "B": Concept(name="own/bad", words=("war", "hatred", "agony"))}
    supply = pair_supply(source(folder), wider, adjectives=False)
    assert supply.without_sentence == {"A": [], "B": ["hatred"]}
    assert supply.concepts["B"].words == ("war", "agony") and len(supply.corpus or ()) == 4


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"gap": -1}, "context.gap=-1"),
        ({"window": -1}, "context.window=-1"),
        ({"contexts": 0}, "context.contexts=0"),
        ({"corpus": None}, "context=pairs_corpus has no corpus"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(HarnessError, match=complaint):
        source(built(tmp_path, *LINES), **options)


def test_vectors_refuse_sentences_about_two_stimuli(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="context=corpus"):
        source(built(tmp_path, *LINES)).contexts(CONCEPTS["X"], "rose")


WORD = st.text(alphabet="aé b-", min_size=1, max_size=6)


@given(WORD, WORD, WORD, WORD, WORD, st.booleans(), WORD, WORD)
def test_replacing_moves_nothing_but_the_two_words(
    before: str, one: str, between: str, two: str, after: str, target_first: bool, x: str, w: str
) -> None:
    text = before + one + between + two + after
    first = (len(before), len(before + one))
    second = (len(before + one + between), len(before + one + between + two))
    spans = (*first, *second) if target_first else (*second, *first)
    found = replaced(PairContext(text, *spans), target=x, attribute=w)
    assert found.text == before + (x if target_first else w) + between + (w if target_first else x) + after
    assert found.target.stimulus == x and found.attribute.stimulus == w
    assert replaced(PairContext(text, *spans)) == PairContext(text, *spans)


def test_words_between_are_those_of_neither() -> None:
    text = '"rose\'s, - they say - of (love)"'
    rose, love = (1, 5), (text.index("love"), text.index("love") + 4)
    assert words_between(text, rose, love) == 3
    assert words_between("rose-love", (0, 4), (5, 9)) == 0


def test_a_counterpart_is_written_as_the_word_that_it_replaces() -> None:
    assert [written_like("wasp", model) for model in ("rose", "Rose", "ROSE")] == ["wasp", "Wasp", "WASP"]
    assert written_like("Emily", "john") == "Emily"
