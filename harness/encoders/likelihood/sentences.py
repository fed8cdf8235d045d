"""Sentences with a target and an attribute as tokens, with the places of both, and what is asked of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.contexts import PairContext
from harness.encoders.tokens import ContextTokenizer, Row
from harness.errors import HarnessError


@dataclass(frozen=True, slots=True)
class TokenPair:
    """A sentence's tokens, and the places among them of the target's and of the attribute's pieces."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    target: tuple[int, ...]
    attribute: tuple[int, ...]

    @property
    def target_ids(self) -> tuple[int, ...]:
        """The target's pieces."""
        return tuple(self.ids[place] for place in self.target)

    @property
    def attribute_ids(self) -> tuple[int, ...]:
        """The attribute's pieces."""
        return tuple(self.ids[place] for place in self.attribute)


@dataclass(frozen=True, slots=True)
class Request:
    """What goes through the model, and which log-probabilities are read and summed: (place, token).

    ``shared`` tokens at the beginning are those that a causal model reads once for all requests that begin so.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]
    shared: int = 0


def tokenised(tokens: ContextTokenizer, pairs: Sequence[PairContext]) -> list[TokenPair]:
    """Return the tokens of sentences; where target and attribute are follows from their spans alone."""
    both = [context for pair in pairs for context in (pair.target, pair.attribute)]
    found: dict[int, tuple[Row, tuple[int, ...]]] = {}
    for row in tokens.rows(both):
        for number, pieces in row.read:
            found[number] = (row, pieces)
    sentences = []
    for place, pair in enumerate(pairs):
        (row, target), (same, attribute) = found[2 * place], found[2 * place + 1]
        if row is not same:
            raise HarnessError(f"{tokens.name} takes {tokens.limit} tokens, and {pair.text[:60]!r}… has more.")
        if set(target) & set(attribute):
            raise HarnessError(
                f"The tokenizer of {tokens.name} puts target and attribute of {pair.text!r} into one piece."
            )
        sentences.append(TokenPair(tuple(row.ids), tuple(row.types), target, attribute))
    return sentences
