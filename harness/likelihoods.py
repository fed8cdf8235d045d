"""Probabilities of targets beside attributes for a cell: words that the model knows, their sentences, their scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.balance import evened
from harness.cell import Cell
from harness.contexts import PairContext
from harness.contexts.context import ATTRIBUTES, TARGETS
from harness.contexts.pairs import UNREAD_ATTRIBUTE, PairSource, PairSupply
from harness.contexts.pairs_corpus import CorpusPair, PairCorpusSource
from harness.encoders.likelihood import PairScorer, likelihood_identity, open_scorer
from harness.errors import HarnessError
from harness.likelihoods_corpus import score_corpus, shown_targets, usable
from harness.methods.base import PairLikelihoods, PairSentences
from harness.progress import Progress, silent
from harness.result import Result
from harness.scores import ScoreStore
from harness.stimuli import Concept

Used = dict[str, dict[str, list[str]]]

Example = tuple[str, str, PairContext]
"""A slot, a word of it, and a sentence that holds the word in that role."""


class Likelihoods:
    """The scorer that is open, one at a time, and the scores on disk."""

    def __init__(self, runs: Path, *, progress: Progress = silent) -> None:
        self._store = runs / "store"
        self._progress = progress
        self._open: tuple[str, PairScorer, ScoreStore] | None = None

    def _opened(self, cell: Cell) -> tuple[PairScorer, ScoreStore]:
        causal, multi_token = cell.stats.lpbs_causal, cell.stats.lpbs_multi_token
        key = json.dumps([cell.model, causal, multi_token], sort_keys=True)
        if self._open is None or self._open[0] != key:
            self._open = None
            scorer = open_scorer(cell.model, causal=causal, multi_token=multi_token)
            stated = cell.model.get("head")
            if stated not in (None, scorer.head):
                raise HarnessError(f"model.head={stated}: {scorer.name} is a {scorer.head} language model.")
            identity = likelihood_identity(cell.model, causal=causal, multi_token=multi_token)
            scores = ScoreStore(self._store, identity)
            self._open = (key, scorer, scores)
        return self._open[1], self._open[2]

    def measure(self, cell: Cell, result: Result) -> tuple[PairLikelihoods | PairSentences, Used]:
        """Return the log-probabilities of a cell, and which words were used; what was left out is noted."""
        source, supply = cell.source, cell.pairs
        if supply is None:
            raise ValueError("this cell has no sentences with a target and an attribute")
        scorer, store = self._opened(cell)
        if scorer.estimator == "left" and not supply.attribute_first:
            raise HarnessError(f"{UNREAD_ATTRIBUTE}.")
        if isinstance(source, PairCorpusSource):
            return self._measure_corpus(cell, supply, source, result)
        if not isinstance(source, PairSource):
            raise TypeError(f"{source.label} writes no sentences with a target and an attribute")
        concepts, lost = _known_words(cell, supply, scorer, _examples(source, supply.concepts), result)
        given: dict[str, NDArray[np.float64]] = {}
        prior: dict[str, NDArray[np.float64]] = {}
        neutral = scorer.head == "causal"
        # All sentences of a cell are scored together: the more there are, the more they share.
        for scores, is_prior in ((given, False), (prior, True)):
            texts = {slot: _sentences(source, concepts, slot, neutral=neutral and is_prior) for slot in TARGETS}
            together = [sentence for slot in TARGETS for sentence in texts[slot][0]]
            found = store.scores(scorer, together, prior=is_prior, progress=self._progress)
            ends = np.cumsum([len(texts[slot][0]) for slot in TARGETS])[:-1]
            for slot, values in zip(TARGETS, np.split(found, ends), strict=True):
                scores[slot] = values.reshape(texts[slot][1])
        used = {slot: concept.words for slot, concept in concepts.items()}
        return PairLikelihoods(scorer.estimator, used, given, prior), _words(concepts, lost)

    def _measure_corpus(
        self, cell: Cell, supply: PairSupply, source: PairCorpusSource, result: Result
    ) -> tuple[PairSentences, Used]:
        """Score the sentences of a corpus, each with its target and with a counterpart drawn by the cell's seed."""
        scorer, store = self._opened(cell)
        pairs = list(supply.corpus or ())
        for slot, absent in supply.without_sentence.items():
            if absent:
                sentence = f"{source.label} has too few sentences with a target and {', '.join(absent)} ({slot})"
                if cell.missing == "error":
                    raise HarnessError(f"{sentence}; use a larger corpus, or choose missing=drop.")
                result.notes.append(f"{sentence}: left out.")
        examples = shown_targets(pairs, supply.concepts)
        known, lost = _known_words(cell, supply, scorer, examples, result)
        left = scorer.estimator == "left"
        pairs = usable(pairs, known, attribute_first=left)
        concepts = {**known, **{slot: _with_sentences(known[slot], slot, pairs) for slot in ATTRIBUTES}}
        for slot in ATTRIBUTES:
            absent = [word for word in known[slot].words if word not in set(concepts[slot].words)]
            lost[slot] = [*supply.without_sentence.get(slot, ()), *lost[slot], *absent]
            if absent:
                why = "before a target that can be scored" if left else "with a target that can be scored"
                result.notes.append(f"No sentence is left {why} for {', '.join(absent)} ({slot}).")
            if len(concepts[slot].words) < 2:
                raise HarnessError(
                    f"{source.label} has {len(concepts[slot].words)} attributes of {slot} ({concepts[slot].name}) in "
                    "sentences that can be scored; at least 2 are needed."
                )
        found = score_corpus(
            pairs,
            concepts,
            lambda texts, prior: store.scores(scorer, texts, prior=prior, progress=self._progress),
            estimator=scorer.estimator,
            neutral=scorer.head == "causal",
            seed=cell.seed,
            widest=source.gap,
        )
        return found, _words(concepts, lost)


def _words(concepts: Mapping[str, Concept], lost: Mapping[str, list[str]]) -> Used:
    return {slot: {"used": list(concept.words), "dropped": lost[slot]} for slot, concept in concepts.items()}


def _with_sentences(concept: Concept, slot: str, pairs: Sequence[CorpusPair]) -> Concept:
    held = {pair.attribute for pair in pairs if pair.attribute_slot == slot}
    return _only(concept, [word for word in concept.words if word in held])


def _sentences(
    source: PairSource, concepts: Mapping[str, Concept], slot: str, *, neutral: bool
) -> tuple[list[PairContext], tuple[int, int, int]]:
    """Return the sentences of a set of targets in the order (sentence, attribute, target), and how many of each."""
    targets = concepts[slot]
    table = [
        [source.pairs(targets, target, attributes, word, neutral=neutral) for target in targets.words]
        for attributes in (concepts[slot] for slot in ATTRIBUTES)
        for word in attributes.words
    ]
    numbers = {len(texts) for row in table for texts in row}
    if len(numbers) != 1:
        raise HarnessError(f"{source.label} writes more sentences for some pairs of words than for others.")
    count = numbers.pop()
    flat = [texts[number] for number in range(count) for row in table for texts in row]
    return flat, (count, len(table), len(targets.words))


def _known_words(
    cell: Cell, supply: PairSupply, scorer: PairScorer, examples: Sequence[Example], result: Result
) -> tuple[dict[str, Concept], dict[str, list[str]]]:
    """Return the concepts with the words that the model can score, and those that were left out."""
    concepts = supply.concepts
    pieces = _pieces(scorer, examples)
    lost: dict[str, list[str]] = {slot: list(supply.without_adjective.get(slot, [])) for slot in concepts}
    for slot, words in lost.items():
        if words:
            result.notes.append(f"Without an adjective: {', '.join(words)} ({slot}).")
    kept = {slot: list(concept.words) for slot, concept in concepts.items()}
    for slot in kept:
        unknown = [word for word in kept[slot] if any(scorer.unknown(ids) for ids in pieces[slot, word])]
        if unknown:
            sentence = f"The vocabulary of {scorer.name} holds nothing of {', '.join(unknown)} ({slot})"
            if cell.missing == "error":
                raise HarnessError(f"{sentence}; correct the words, or choose missing=drop.")
            result.notes.append(f"{sentence}: left out.")
            _remove(slot, unknown, kept, lost)
    if cell.stats.lpbs_targets == "reduced":
        for slot in TARGETS:
            several = [word for word in kept[slot] if any(len(ids) > 1 for ids in pieces[slot, word])]
            share = f"{len(kept[slot]) - len(several)} of {len(concepts[slot].words)}"
            result.notes.append(f"Reduced to the vocabulary of {scorer.name}: {share} stimuli of {slot} are left.")
            _remove(slot, several, kept, lost)
    targets = {slot: kept[slot] for slot in TARGETS}
    even = evened(targets, lost, result.notes, missing=cell.missing, unequal=cell.unequal, seed=cell.seed)
    kept |= {slot: [kept[slot][place] for place in places] for slot, places in even.items()}
    for slot, words in kept.items():
        least = 1 if slot in TARGETS else 2
        if len(words) < least:
            raise HarnessError(
                f"{scorer.name} can score {len(words)} of the {len(concepts[slot].words)} stimuli of {slot} "
                f"({concepts[slot].name}); at least {least} {'is' if least == 1 else 'are'} needed. Left out: "
                f"{', '.join(lost[slot][:8])}."
            )
    return {slot: _only(concept, kept[slot]) for slot, concept in concepts.items()}, lost


def _remove(slot: str, words: Sequence[str], kept: dict[str, list[str]], lost: dict[str, list[str]]) -> None:
    kept[slot] = [word for word in kept[slot] if word not in set(words)]
    lost[slot] += words


def _only(concept: Concept, words: Sequence[str]) -> Concept:
    if tuple(words) == concept.words:
        return concept
    parts = {word: part for word, part in concept.parts.items() if word in set(words)}
    return Concept(name=concept.name, kind=concept.kind, words=tuple(words), part=concept.part, parts=parts)


def _examples(source: PairSource, concepts: Mapping[str, Concept]) -> list[Example]:
    """Return every word in each of its sentences, beside the first word of the other kind."""
    asked: list[Example] = []
    for slot in TARGETS:
        for word in concepts[slot].words:
            sentences = source.pairs(concepts[slot], word, concepts["A"], concepts["A"].words[0])
            asked += [(slot, word, sentence) for sentence in sentences]
    for slot in ATTRIBUTES:
        for word in concepts[slot].words:
            sentences = source.pairs(concepts["X"], concepts["X"].words[0], concepts[slot], word)
            asked += [(slot, word, sentence) for sentence in sentences]
    return asked


def _pieces(scorer: PairScorer, asked: Sequence[Example]) -> dict[tuple[str, str], list[tuple[int, ...]]]:
    """Return the pieces of every word in each of its sentences."""
    found: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    tokens = scorer.tokens([sentence for *_, sentence in asked])
    for (slot, word, _), sentence in zip(asked, tokens, strict=True):
        ids = sentence.target_ids if slot in TARGETS else sentence.attribute_ids
        found.setdefault((slot, word), []).append(ids)
    return found
