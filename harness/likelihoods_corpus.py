"""Probabilities in sentences of a corpus: each with the target that it holds, and with a counterpart in its place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.contexts import PairContext
from harness.contexts.context import ATTRIBUTES, TARGETS
from harness.contexts.pairs import neutral_word, pair_key
from harness.contexts.pairs_corpus import CorpusPair, replaced, written_like
from harness.methods.base import PairSentences
from harness.stimuli import Concept

Score = Callable[[Sequence[PairContext], bool], NDArray[np.float64]]
"""Gives the log-probabilities of sentences, or with True those of their priors."""


def shown_targets(pairs: Sequence[CorpusPair], concepts: Mapping[str, Concept]) -> list[tuple[str, str, PairContext]]:
    """Return a sentence for every target and every attribute, from which its pieces are known."""
    first = pairs[0].sentence
    asked = [(slot, word, replaced(first, target=word)) for slot in TARGETS for word in concepts[slot].words]
    seen = {(pair.attribute_slot, pair.attribute): pair.sentence for pair in reversed(pairs)}
    return asked + [(slot, word, seen[slot, word]) for slot in ATTRIBUTES for word in concepts[slot].words]


def counterpart(pair: CorpusPair, words: Sequence[str], *, seed: int) -> str:
    """Return a word of the other set of targets: drawn for each sentence, and the same one if others are left out."""
    key = pair_key(pair.sentence)
    return min(words, key=lambda word: hashlib.sha256(f"{seed}\x1f{word}\x1f".encode() + key).digest())


def usable(pairs: Sequence[CorpusPair], concepts: Mapping[str, Concept], *, attribute_first: bool) -> list[CorpusPair]:
    """Return the sentences whose words are measured; with ``attribute_first`` those that a causal model can use."""
    words = {slot: set(concept.words) for slot, concept in concepts.items()}
    return [
        pair
        for pair in pairs
        if pair.target in words[pair.target_slot]
        and pair.attribute in words[pair.attribute_slot]
        and (pair.attribute_first or not attribute_first)
    ]


def score_corpus(
    pairs: Sequence[CorpusPair],
    concepts: Mapping[str, Concept],
    score: Score,
    *,
    estimator: str,
    neutral: bool,
    seed: int,
    widest: int,
) -> PairSentences:
    """Score every sentence with a word of X and with one of Y.

    Parameters
    ----------
    pairs
        The sentences.
    concepts
        The words that are measured.
    score
        The scorer.
    estimator
        What a probability is: ``masked``, ``sentence`` or ``left``.
    neutral
        The prior is that of the sentence with a neutral word for the attribute, as causal models need it.
    seed
        Seed of the counterparts.
    widest
        Words between target and attribute at most, as asked for.
    """
    drawn = [counterpart(pair, concepts[_other(pair)].words, seed=seed) for pair in pairs]
    sentences: list[PairContext] = []
    priors: list[PairContext] = []
    for pair, other in zip(pairs, drawn, strict=True):
        beside = replaced(pair.sentence, target=written_like(other, pair.sentence.target.stimulus))
        both = (pair.sentence, beside) if pair.target_slot == "X" else (beside, pair.sentence)
        sentences += both
        word = written_like(
            neutral_word(pair.attribute, concepts[pair.attribute_slot]), pair.sentence.attribute.stimulus
        )
        priors += [replaced(sentence, attribute=word) if neutral else sentence for sentence in both]
    used = {slot: concept.words for slot, concept in concepts.items()}
    places = {("A", word): number for number, word in enumerate(used["A"])}
    places |= {("B", word): len(used["A"]) + number for number, word in enumerate(used["B"])}
    return PairSentences(
        estimator=estimator,
        words=used,
        given=score(sentences, False).reshape(-1, 2),
        prior=score(priors, True).reshape(-1, 2),
        attribute=np.array([places[pair.attribute_slot, pair.attribute] for pair in pairs]),
        target=tuple(pair.target for pair in pairs),
        counterpart=tuple(drawn),
        gap=np.array([pair.gap for pair in pairs]),
        texts=tuple(pair.sentence.text for pair in pairs),
        widest=widest,
    )


def _other(pair: CorpusPair) -> str:
    return {"X": "Y", "Y": "X"}[pair.target_slot]
