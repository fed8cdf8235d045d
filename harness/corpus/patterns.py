"""What is searched: every stimulus of every test, with the rule of case that it follows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.stimuli import Concept


@dataclass(frozen=True, order=True, slots=True)
class Pattern:
    """A stimulus as it is searched: a name in its own case, anything else in any case; hyphens are spaces.

    ``forms`` are its spellings, which differ in hyphens and spaces only. ``wordlike`` marks a name that is an ordinary
    word too; ``twin`` is the name that a word in any case must leave alone (*frank* is not *Frank*).
    """

    key: str
    cased: bool
    forms: tuple[str, ...]
    wordlike: bool = False
    twin: str | None = None


def pattern_key(word: str, *, cased: bool) -> str:
    """Return the form under which a stimulus is stored: *all-American* and *all-american* are one."""
    spaced = " ".join(word.replace("-", " ").split())
    return spaced if cased else spaced.lower()


def is_cased(concept: Concept) -> bool:
    """Tell whether the stimuli of a concept are searched in their own case."""
    return concept.kind == "names"


def all_concepts(*, stimuli: str | Path | None = None, tests: Sequence[str | Path] = ()) -> list[Concept]:
    """Return every concept of words: the stored ones, those written inside tests, and those of some test files."""
    from harness.cell import slots
    from harness.stimuli import concept_names, load_concept, load_test, test_names
    from harness.stimuli.load import read_test, variant_names

    found = {name: load_concept(name, stimuli=stimuli) for name in concept_names(stimuli)}
    for ref in [*test_names(stimuli), *tests]:
        data, _ = read_test(ref, stimuli=stimuli)
        for target in [None, *variant_names(data)]:
            for _, concept in slots(load_test(ref, target=target, stimuli=stimuli)):
                found.setdefault(f"{ref}:{concept.name}" if concept.name not in found else concept.name, concept)
    return [concept for concept in found.values() if concept.kind != "images"]


def compile_patterns(concepts: Iterable[Concept]) -> tuple[Pattern, ...]:
    """Return the patterns of all stimuli of some concepts, each once, in a fixed order."""
    spellings: dict[tuple[str, bool], set[str]] = {}
    for concept in concepts:
        cased = is_cased(concept)
        for word in concept.words:
            forms = spellings.setdefault((pattern_key(word, cased=cased), cased), set())
            for form in (word, *concept.fallbacks.get(word, ())):
                if _letters(form) == _letters(word):
                    forms.add(pattern_key(form, cased=cased))
    names = {key.lower(): key for key, cased in spellings if cased}
    return tuple(
        Pattern(
            key=key,
            cased=cased,
            forms=tuple(sorted(forms)),
            wordlike=cased and key.lower() in word_names(),
            twin=None if cased else names.get(key),
        )
        for (key, cased), forms in sorted(spellings.items())
    )


def patterns_digest(patterns: Iterable[Pattern]) -> str:
    """Return what identifies a set of patterns: samples merge only if they searched the same."""
    rows = [[p.key, p.cased, p.forms, p.wordlike, p.twin] for p in patterns]
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


def _letters(word: str) -> str:
    return word.replace("-", "").replace(" ", "").lower()


@cache
def word_names() -> frozenset[str]:
    """Return first names that are ordinary words too, lower case."""
    return read_list(Path(__file__).with_name("word_names.txt"))


def read_list(path: Path) -> frozenset[str]:
    """Return the lower-case entries of a file with one entry a line; # begins a comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip().lower() for line in lines if line.strip() and not line.startswith("#"))
