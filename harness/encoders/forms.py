"""Which keys of a vocabulary may stand for a stimulus: case policy, phrase policy, other spellings."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import HarnessError, did_you_mean

CASES = ("auto", "exact", "lower")
PHRASES = ("underscore", "hyphen", "mean")
FUNCTION_WORDS = frozenset({"a", "an", "and", "of", "the", "to"})
"""Words that some vocabularies were stripped of (Google News has no *a*, *and*, *of*, *to*): a mean can do without."""


@dataclass(frozen=True)
class FormPolicy:
    """How a stimulus is looked up.

    Attributes
    ----------
    case
        ``exact``; ``lower``; or ``auto``: exact, then lower case where the vocabulary itself is lower case. In a cased
        vocabulary *Billy* that is missing stays missing: *billy* is another word.
    phrase
        What may stand for a stimulus of several words, in this order: ``underscore`` (``fried_chicken``), ``hyphen``
        (``fried-chicken``), ``mean`` (of the words parted by spaces, without function words that the vocabulary lacks).
    """

    case: str = "auto"
    phrase: tuple[str, ...] = PHRASES

    @classmethod
    def from_config(cls, model: Mapping[str, Any]) -> FormPolicy:
        """Read the keys ``case`` and ``phrase`` of a model."""
        case, phrase = str(model.get("case") or "auto"), tuple(model.get("phrase", PHRASES) or ())
        if case not in CASES:
            raise HarnessError(f"model.case={case}: is one of {', '.join(CASES)}.{did_you_mean(case, CASES)}")
        for form in phrase:
            if form not in PHRASES:
                raise HarnessError(f"model.phrase: {form!r} is not one of {', '.join(PHRASES)}.")
        return cls(case, phrase)

    def resolve(
        self, stimulus: str, fallbacks: Sequence[str], vocabulary: Container[str], *, cased: bool
    ) -> tuple[str, ...] | None:
        """Return the key that stands for a stimulus, several if their mean does, or None."""
        for text in (stimulus, *fallbacks):
            key = self._first(text, vocabulary, cased=cased)
            if key is not None:
                return (key,)
            keys = self._words(text, vocabulary, cased=cased) if "mean" in self.phrase else None
            if keys is not None:
                return keys
        return None

    def _words(self, text: str, vocabulary: Container[str], *, cased: bool) -> tuple[str, ...] | None:
        """Return the keys of all words of a phrase; None if one is missing that is not a mere function word."""
        words = text.split()
        found = {word: self._first(word, vocabulary, cased=cased) for word in words}
        lacking = {word.lower() for word, key in found.items() if key is None}
        keys = tuple(key for word in words if (key := found[word]) is not None)
        return keys if len(words) > 1 and keys and lacking <= FUNCTION_WORDS else None

    def _first(self, text: str, vocabulary: Container[str], *, cased: bool) -> str | None:
        return next((key for key in self._keys(text, cased=cased) if key in vocabulary), None)

    def _keys(self, text: str, *, cased: bool) -> Iterator[str]:
        for form in self._joined(text):
            if self.case != "lower":
                yield form
            if self.case == "lower" or (self.case == "auto" and not cased):
                yield form.lower()

    def _joined(self, text: str) -> Iterator[str]:
        yield text
        if "underscore" in self.phrase:
            yield text.replace(" ", "_")
            yield text.replace(" ", "_").replace("-", "_")
        if "hyphen" in self.phrase:
            yield text.replace(" ", "-").replace("_", "-")


def possible_keys(stimuli: Iterable[str]) -> frozenset[str]:
    """Return every key that any policy could look up for these stimuli: what a file is filtered to."""
    policy = FormPolicy()
    texts = {part for stimulus in stimuli for part in (stimulus, *stimulus.split())}
    return frozenset(key for text in texts for key in policy._keys(text, cased=False))
