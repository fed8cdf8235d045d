"""Sentences that people wrote and that hold a target and an attribute of a test, for LPBS (husse2022, B.5, Figure 4).

Whatever a corpus keeps for a target or an attribute of the test is searched again for the other one, by the rules that
the corpus was searched by. A sentence counts if it holds exactly one target and one attribute, with at most so many
words between them: a second target would stand beside the mask, and give away what it hides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.contexts.context import ATTRIBUTES, TARGETS, Context, Contexts, PairContext
from harness.contexts.corpus import corpus_folder
from harness.contexts.window import windowed, words_between
from harness.errors import HarnessError
from harness.stimuli.schema import Concept

if TYPE_CHECKING:
    from harness.corpus.patterns import Pattern

LARGEST_GAP = 18
"""Words between target and attribute at most, as in husse2022."""

KEPT_TESTS = 16


@dataclass(frozen=True, slots=True)
class CorpusPair:
    """A sentence with its two stimuli, the sets that they belong to, and the number of words between them."""

    sentence: PairContext
    target_slot: str
    target: str
    attribute_slot: str
    attribute: str
    gap: int

    @property
    def attribute_first(self) -> bool:
        """Whether the attribute stands before the target."""
        return self.sentence.attribute_end <= self.sentence.start


def replaced(sentence: PairContext, *, target: str | None = None, attribute: str | None = None) -> PairContext:
    """Return the sentence with other words in its two places; all else stays as it was written.

    Examples
    --------
    >>> replaced(PairContext("A rose is lovely.", 2, 6, 10, 16), target="wasp", attribute="so").text
    'A wasp is so.'
    """
    text = sentence.text
    changes = [("target", sentence.target, target), ("attribute", sentence.attribute, attribute)]
    spans: dict[str, tuple[int, int]] = {}
    pieces: list[str] = []
    done = length = 0
    for name, place, word in sorted(changes, key=lambda change: change[1].start):
        shown = place.stimulus if word is None else word
        pieces += [text[done : place.start], shown]
        length += place.start - done
        spans[name] = (length, length + len(shown))
        length += len(shown)
        done = place.end
    return PairContext("".join([*pieces, text[done:]]), *spans["target"], *spans["attribute"])


def written_like(word: str, model: str) -> str:
    """Return a word with a capital, or in capitals, where another word in its place is written so.

    Examples
    --------
    >>> written_like("wasp", "Rose"), written_like("wasp", "ROSE"), written_like("Emily", "john")
    ('Wasp', 'WASP', 'Emily')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


class PairCorpusSource:
    """The sentences of a corpus that hold a target and an attribute of a test.

    Parameters
    ----------
    folder
        The corpus.
    gap
        Words between target and attribute at most.
    window
        Words to the left of the first and to the right of the second of them; 0: the whole sentence.
    contexts
        Sentences of a target and an attribute at most, a uniform sample; None: all.
    """

    def __init__(self, folder: Path, *, gap: int, window: int, contexts: int | None) -> None:
        from harness.corpus.manifest import SAMPLE, Manifest
        from harness.corpus.merge import sample_of

        manifest = Manifest.load(folder)
        self.gap = gap
        more = [] if contexts is None else [f"n{contexts}"]
        self.label = "/".join(["pairs_corpus", manifest.name, f"gap{gap}", f"window{window}", *more])
        self._window, self._limit = window, contexts
        self._patterns = {(pattern.key, pattern.cased): pattern for pattern in manifest.patterns}
        self._sample = sample_of(folder / SAMPLE, digest=manifest.digest)
        self._found = lru_cache(maxsize=KEPT_TESTS)(self._search)

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Refuse: these sentences are about two stimuli."""
        raise HarnessError(
            f"{self.label} gives sentences with a target and an attribute, whose probabilities are measured; methods "
            "that read vectors need one stimulus a sentence, such as context=corpus"
        )

    def sentences(self, concepts: Mapping[str, Concept]) -> tuple[CorpusPair, ...]:
        """Return the sentences of a test's targets X, Y and attributes A, B, in an order that is none of the text's."""
        words = {slot: [concepts[slot].kind, *concepts[slot].words] for slot in (*TARGETS, *ATTRIBUTES)}
        return self._found(json.dumps(words, ensure_ascii=False))

    def _search(self, listed: str) -> tuple[CorpusPair, ...]:
        from harness.contexts.pairs import pair_key

        owners = self._owners(json.loads(listed))
        # The digest of a sentence with its spans orders them: the first n are a uniform sample, whatever the corpus.
        found = {pair_key(pair.sentence): pair for pair in self._pairs(owners)}
        kept: Counter[tuple[str, ...]] = Counter()
        chosen = []
        for key in sorted(found):
            pair = found[key]
            both = (pair.target_slot, pair.target, pair.attribute_slot, pair.attribute)
            kept[both] += 1
            if self._limit is None or kept[both] <= self._limit:
                chosen.append(pair)
        return tuple(chosen)

    def _owners(self, listed: Mapping[str, list[str]]) -> dict[Pattern, tuple[str, str]]:
        """Return the pattern of every stimulus with its slot; one that the corpus was not searched for is a new one."""
        from harness.corpus.patterns import compile_patterns, pattern_key

        found: dict[Pattern, tuple[str, str]] = {}
        for slot, (kind, *words) in listed.items():
            for word in words:
                key = (pattern_key(word, cased=kind == "names"), kind == "names")
                one = Concept.model_validate({"name": slot.lower(), "kind": kind, "words": [word]})
                pattern = self._patterns.get(key) or compile_patterns([one])[0]
                found.setdefault(pattern, (slot, word))
        return found

    def _pairs(self, owners: Mapping[Pattern, tuple[str, str]]) -> Iterator[CorpusPair]:
        from harness.corpus.clean import SEPARATOR
        from harness.corpus.matcher import Matcher, padded, shadow_of
        from harness.corpus.sentences import PAD

        texts = self._texts(owners)
        if not texts:
            return
        block = padded(SEPARATOR.join(texts).encode())
        sizes = np.array([len(text.encode()) for text in texts])
        ends = PAD + np.cumsum(sizes + 1) - 1
        hits = Matcher(list(owners)).find(block, shadow_of(block), ends)
        where = np.searchsorted(ends, hits.start)
        slots = [slot for slot, _ in owners.values()]
        is_target = np.array([slot in TARGETS for slot in slots])[hits.pattern]
        one_each = [np.bincount(where[kind], minlength=len(texts)) == 1 for kind in (is_target, ~is_target)]
        chosen = np.flatnonzero((one_each[0] & one_each[1])[where])
        names = list(owners.values())
        # Two hits a sentence, in the order of sentences.
        for first, second in zip(chosen[::2].tolist(), chosen[1::2].tolist(), strict=True):
            target, attribute = (first, second) if is_target[first] else (second, first)
            number = int(where[first])
            begin = int(ends[number] - sizes[number])
            spans = [
                tuple(len(block[begin : int(at[hit])].decode()) for at in (hits.start, hits.end))
                for hit in (target, attribute)
            ]
            if spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]:
                continue
            sentence = PairContext(texts[number], *spans[0], *spans[1])
            gap = words_between(sentence.text, *sorted(spans))
            if gap <= self.gap:
                slot, word = names[int(hits.pattern[target])]
                other, beside = names[int(hits.pattern[attribute])]
                yield CorpusPair(self._cut(sentence), slot, word, other, beside, gap)

    def _texts(self, owners: Mapping[Pattern, tuple[str, str]]) -> list[str]:
        """Return every sentence that the corpus keeps for a stimulus, each once."""
        texts: dict[str, None] = {}
        for pattern in owners:
            rows = self._sample.contexts(pattern.key, cased=pattern.cased)
            if rows is not None:
                texts.update(dict.fromkeys(rows["text"].to_pylist()))
        return list(texts)

    def _cut(self, sentence: PairContext) -> PairContext:
        """Return the sentence with so many words outside of the two stimuli."""
        first = min(sentence.start, sentence.attribute_start)
        last = max(sentence.end, sentence.attribute_end)
        cut = windowed(Context(sentence.text, first, last), words=self._window)
        moved = first - cut.start
        spans = (sentence.start, sentence.end, sentence.attribute_start, sentence.attribute_end)
        return PairContext(cut.text, *(place - moved for place in spans))


def pair_corpus_source(config: Mapping[str, Any], stimuli: str | Path | None) -> PairCorpusSource:
    """Return the source of a config: ``corpus``, ``gap``, ``window`` (0: the sentence), ``contexts`` (of a pair)."""
    gap, window, contexts = config.get("gap"), config.get("window"), config.get("contexts")
    gap = LARGEST_GAP if gap is None else int(gap)
    if gap < 0:
        raise HarnessError(f"context.gap={gap}: is a number of words between target and attribute, 0 or more.")
    if window is not None and int(window) < 0:
        raise HarnessError(f"context.window={window}: is a number of words on each side, or 0 for the sentence.")
    if contexts is not None and int(contexts) < 1:
        raise HarnessError(f"context.contexts={contexts}: must be 1 or more, or null for all that are stored.")
    return PairCorpusSource(
        corpus_folder(config), gap=gap, window=int(window or 0), contexts=None if contexts is None else int(contexts)
    )
