"""Attributes in their adjective form (husse2022, Appendix B.2)."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.paths import stimuli_dir
from harness.stimuli.grammar import part_of
from harness.stimuli.schema import Concept, Source
from harness.stimuli.yaml_file import explain, read_yaml


class AdjectiveLexicon(BaseModel):
    """The adjective of each noun, verb or adverb that has one: ``stimuli/lexica/adjectives.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    version: int
    source: Source
    licence: str
    note: str = ""
    adjectives: dict[str, str]


class Adjectives(NamedTuple):
    """The adjectives of a concept's words in their order, and the words that have none."""

    words: tuple[str, ...]
    dropped: tuple[str, ...]


@cache
def load_adjectives() -> AdjectiveLexicon:
    """Return the shipped lexicon."""
    path = stimuli_dir() / "lexica" / "adjectives.yaml"
    try:
        return AdjectiveLexicon.model_validate(read_yaml(path))
    except ValidationError as error:
        raise explain(error, path) from None


def adjectives_of(concept: Concept) -> Adjectives:
    """Return the adjective form of each word; an adjective stays, a word without one is dropped and named."""
    lexicon = load_adjectives().adjectives
    forms = {word: word if part_of(word, concept) == "adjective" else lexicon.get(word, "") for word in concept.words}
    kept = tuple(dict.fromkeys(form for form in forms.values() if form))
    return Adjectives(kept, tuple(word for word, form in forms.items() if not form))
