"""All texts of a test, and the digest that stands for them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from harness.contexts.context import Contexts
from harness.contexts.mixed import ImageSource, part_of_source
from harness.contexts.sources import ContextSource
from harness.errors import HarnessError
from harness.stimuli.schema import Concept


def stimulus_contexts(source: ContextSource, concept: Concept, word: str) -> Contexts:
    """Return the texts of one stimulus, or its image; one that has none raises one sentence.

    A source that writes texts has none of an image.
    """
    if concept.kind == "images" and not isinstance(part_of_source(source, concept), ImageSource):
        raise HarnessError(f"{concept.name} holds images, and {source.label} writes texts about words")
    found = source.contexts(concept, word)
    if not found:
        raise HarnessError(f"{source.label} has no text with {word!r} ({concept.name})")
    return found


def texts_digest(source: ContextSource, concepts: Iterable[Concept]) -> str:
    """Return the digest of every text of some concepts: what a source contributes to a cell's identity.

    It follows the templates, the grammar that agreement is read from, the part of speech that a concept states, and
    the order of the words; it does not follow the name of the source.
    """
    total = hashlib.sha256()
    for concept in concepts:
        for word in concept.words:
            total.update(stimulus_contexts(source, concept, word).digest.encode())
        total.update(b"|")
    return total.hexdigest()


def most_contexts(source: ContextSource, concepts: Iterable[Concept]) -> int:
    """Return the largest number of texts that a stimulus has."""
    return max((len(source.contexts(concept, word)) for concept in concepts for word in concept.words), default=0)
