"""Texts and images as stimuli of one test: an image stands for itself, a context is put on texts."""

from __future__ import annotations

from collections.abc import Mapping

from harness.contexts.context import Contexts, ImageContext
from harness.contexts.sources import BareSource, ContextSource
from harness.stimuli.schema import Concept

SLOTS = ("attributes", "all")
"""Where a context is put in a test that holds images: on its text attributes (wolfe2024), or on every text."""

_ATTRIBUTES = frozenset({"A", "B"})


class ImageSource:
    """The image itself, known by the digest of its bytes."""

    label = "images"

    def __init__(self, concept: Concept) -> None:
        self._found = {
            picture.word: Contexts((ImageContext(picture.word, 0, len(picture.word), picture.path, picture.sha256),))
            for picture in concept.pictures
        }

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the one image that a word stands for."""
        return self._found[word]


class MixedSource:
    """Gives images for image concepts, and texts for the others: in context, or alone where no context is put.

    ``label`` is that of the context; ``part`` tells which source serves a concept, so that an image or a bare word is
    the same stored block whatever the prompt of the attributes is.
    """

    def __init__(self, inner: ContextSource, concepts: Mapping[str, Concept], *, slots: str) -> None:
        self.label = inner.label
        self._parts: dict[str, ContextSource] = {}
        for slot, concept in concepts.items():
            text = inner if slots == "all" or slot in _ATTRIBUTES else BareSource()
            self._parts[concept.name] = ImageSource(concept) if concept.kind == "images" else text

    def part(self, concept: Concept) -> ContextSource:
        """Return the source that serves a concept."""
        return self._parts[concept.name]

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the image or the texts of one stimulus."""
        return self.part(concept).contexts(concept, word)


def part_of_source(source: ContextSource, concept: Concept) -> ContextSource:
    """Return the source that serves a concept: of texts and images together, the one that it belongs to."""
    return source.part(concept) if isinstance(source, MixedSource) else source
