"""English agreement: a or an, plurals, and which part of speech a stimulus is."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from harness.paths import stimuli_dir
from harness.stimuli.yaml_file import explain, read_yaml

if TYPE_CHECKING:
    from harness.stimuli.schema import Concept

# Vowel letters that begin with the sound of *you* or *one*, and the silent h.
_CONSONANT_SOUND = re.compile(r"eu|ewe|onc?e\b|uni(?![nmd])|unimo|u[bcfhjkqrst][aeiou]", re.IGNORECASE)
_SILENT_H = re.compile(r"hour|honest|honou?r|heir", re.IGNORECASE)
_SPELLED_OUT_VOWELS = frozenset("AEFHILMNORSX")
_SPELLED_OUT = re.compile(r"[A-Z]{1,3}\b")


class Part(BaseModel):
    """A part of speech, as templates see it, and the stimuli that belong to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    meaning: str
    words: tuple[str, ...] = ()


class Grammar(BaseModel):
    """The lexicon behind agreement, ``stimuli/lexica/grammar.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    version: int
    source: dict[str, str]
    licence: str
    note: str = ""
    parts: dict[str, Part]
    articles: dict[str, tuple[str, ...]]
    plurals: dict[str, str]

    @model_validator(mode="after")
    def _one_part_a_word(self) -> Grammar:
        seen: dict[str, str] = {}
        for name, part in self.parts.items():
            for word in part.words:
                if word in seen:
                    raise ValueError(f"{word} stands under {seen[word]} and under {name}")
                seen[word] = name
        return self


@cache
def load_grammar() -> Grammar:
    """Return the shipped lexicon."""
    path = stimuli_dir() / "lexica" / "grammar.yaml"
    try:
        return Grammar.model_validate(read_yaml(path))
    except ValidationError as error:
        raise explain(error, path) from None


@cache
def _part_by_word() -> dict[str, str]:
    return {word: name for name, part in load_grammar().parts.items() for word in part.words}


@cache
def _article_exceptions() -> dict[str, str]:
    return {word.lower(): article for article, words in load_grammar().articles.items() for word in words}


def article(text: str) -> str:
    """Return ``a`` or ``an``, by the sound of the first word.

    Examples
    --------
    >>> [article(word) for word in ("ant", "hour", "European American", "unicorn", "MRI", "unintelligent")]
    ['an', 'an', 'a', 'a', 'an', 'an']
    """
    first = text.split()[0]
    known = _article_exceptions().get(first.lower())
    if known:
        return known
    if _SPELLED_OUT.match(first):
        return "an" if first[0] in _SPELLED_OUT_VOWELS else "a"
    vowel_sound = _SILENT_H.match(first) or (first[0].lower() in "aeiou" and not _CONSONANT_SOUND.match(first))
    return "an" if vowel_sound else "a"


def plural(text: str) -> str:
    """Return the plural of a noun; of a phrase, its last word takes it.

    Examples
    --------
    >>> [plural(noun) for noun in ("ant", "fly", "axe", "crocus", "knife", "Irish American woman")]
    ['ants', 'flies', 'axes', 'crocuses', 'knives', 'Irish American women']
    """
    last = re.split(r"[\s-]+", text)[-1]
    irregular = load_grammar().plurals.get(last)
    if irregular:
        return text.removesuffix(last) + irregular
    if re.search(r"(s|x|z|ch|sh)$", last):
        return f"{text}es"
    if re.search(r"[^aeiou]y$", last):
        return f"{text[:-1]}ies"
    return f"{text}s"


def part_of(word: str, concept: Concept | None = None) -> str:
    """Return the part of speech of a stimulus: what its concept says, else the lexicon, else the concept's kind."""
    if concept is not None:
        stated = concept.parts.get(word) or concept.part
        if stated:
            return stated
        if concept.kind == "names":
            return "name"
        if concept.kind == "phrases":
            return "phrase"
    return _part_by_word().get(word, "thing")
