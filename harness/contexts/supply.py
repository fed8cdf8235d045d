"""Which stimuli of a test a source of texts can serve, and which it has too few texts for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.contexts.sources import ContextSource
from harness.errors import HarnessError
from harness.stimuli.schema import Concept

SHOWN = 12
"""Stimuli that a sentence names before it only counts them."""


@dataclass(frozen=True)
class Supply:
    """The stimuli of every slot that have enough texts, and how many texts each of the others has.

    ``least`` is the number of texts that is enough, ``source`` the label of what gives them.
    """

    source: str
    least: int
    kept: dict[str, Concept]
    short: dict[str, dict[str, int]]

    def complaint(self, slot: str, *, shown: int | None = None) -> str:
        """Say which stimuli of a slot have too few texts, and how many each has."""
        words = list(self.short[slot].items())
        named = ", ".join(f"{word} ({count})" for word, count in words[:shown])
        more = f" and {len(words) - shown} more" if shown is not None and len(words) > shown else ""
        enough = "no text with" if self.least == 1 else f"fewer than {self.least} texts with"
        return f"{self.source} has {enough} {named}{more} ({slot})"

    def unmet(self, *, share: float) -> str | None:
        """Return why these texts cannot carry the test, or None if every slot keeps at least this share of stimuli."""
        for slot, concept in self.kept.items():
            kept, listed = len(concept.words), len(concept.words) + len(self.short.get(slot, ()))
            needed = max(2, math.ceil(share * listed))
            if kept < needed and slot in self.short:
                return (
                    f"{self.complaint(slot, shown=SHOWN)}: {kept} of the {listed} stimuli of {concept.name} are left, "
                    f"and at least {needed} are needed"
                )
        return None

    def refuse(self) -> None:
        """Raise one sentence if any stimulus has too few texts."""
        for slot in self.short:
            raise HarnessError(
                f"{self.complaint(slot)}; use a larger corpus, or choose missing=drop or missing=drop_balanced."
            )


def text_supply(source: ContextSource, concepts: Mapping[str, Concept], *, least: int = 1) -> Supply:
    """Sort the stimuli of a test by whether a source has at least so many texts for each."""
    kept: dict[str, Concept] = {}
    short: dict[str, dict[str, int]] = {}
    for slot, concept in concepts.items():
        counts = {word: len(source.contexts(concept, word)) for word in concept.words}
        few = {word: count for word, count in counts.items() if count < least}
        kept[slot] = concept
        if few:
            short[slot] = few
            words = [word for word in concept.words if word not in few]
            kept[slot] = concept.model_copy(update={"words": type(concept.words)(words)})
    return Supply(source.label, least, kept, short)
