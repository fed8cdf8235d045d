"""Sentences that hold a target and an attribute, for LPBS, and those with a neutral word in the attribute's place."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from harness.contexts.context import ATTRIBUTES, TARGETS, Contexts, PairContext
from harness.contexts.pairs_corpus import CorpusPair, PairCorpusSource
from harness.errors import HarnessError
from harness.stimuli.adjectives import adjectives_of
from harness.stimuli.grammar import part_of
from harness.stimuli.render import Article
from harness.stimuli.schema import Concept
from harness.stimuli.templates import PairTemplateSet

NEUTRAL = {
    "thing": "thing",
    "things": "things",
    "mass": "something",
    "person": "person",
    "persons": "people",
    "name": "someone",
    "subject": "someone",
    "object": "someone",
    "possessive": "someone's",
    "adjective": "so",
    "verb": "do",
    "time": "now",
}
"""What a causal model reads in the attribute's place for its prior, by the attribute's part of speech."""

ANYTHING = "something"

KEPT_PAIRS = 20_000

UNREAD_ATTRIBUTE = (
    "the target stands before the attribute, which a causal model has not read by then: choose "
    "context.templates=lpbs_attribute_first, or stats.lpbs_causal=sentence"
)


def neutral_word(attribute: str, attributes: Concept) -> str:
    """Return a word of the attribute's part of speech that says nothing."""
    return NEUTRAL.get(part_of(attribute, attributes), ANYTHING)


class PairSource:
    """Sentences with two slots, in the agreement that target and attribute need."""

    def __init__(self, templates: PairTemplateSet, *, label: str, article: Article) -> None:
        self.label = label
        self._templates = templates
        self._article: Article = article
        self._filled = lru_cache(maxsize=KEPT_PAIRS)(self._fill)

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Refuse: these sentences are about two stimuli."""
        raise HarnessError(
            f"{self.label} writes sentences with a target and an attribute, which lpbs measures; methods that read "
            "vectors need one stimulus a sentence, such as context=templates"
        )

    def _fill(self, target: str, attribute: str, target_part: str, attribute_part: str) -> tuple[PairContext, ...]:
        return self._templates.fill(
            target, attribute, target_part=target_part, attribute_part=attribute_part, article=self._article
        )

    def pairs(
        self, targets: Concept, target: str, attributes: Concept, attribute: str, *, neutral: bool = False
    ) -> tuple[PairContext, ...]:
        """Return the sentences of a target and an attribute, one a template.

        Parameters
        ----------
        targets, attributes
            The concepts that the two belong to, for their parts of speech.
        target, attribute
            The stimuli.
        neutral
            Put a word in the attribute's place that says nothing, in the same agreement.
        """
        part = part_of(attribute, attributes)
        shown = neutral_word(attribute, attributes) if neutral else attribute
        return self._filled(target, shown, part_of(target, targets), part)


def as_adjectives(concepts: Mapping[str, Concept]) -> tuple[dict[str, Concept], dict[str, list[str]]]:
    """Return the concepts with attributes in their adjective form, and the attributes that have none (husse2022, B.2).

    An adjective that both A and B would hold stands in neither.
    """
    found = {slot: adjectives_of(concepts[slot]) for slot in ATTRIBUTES}
    shared = set(found["A"].words) & set(found["B"].words)
    changed = dict(concepts)
    for slot, forms in found.items():
        words = tuple(word for word in forms.words if word not in shared)
        changed[slot] = Concept(name=concepts[slot].name, words=words, part="adjective")
    return changed, {slot: [*forms.dropped, *sorted(shared & set(forms.words))] for slot, forms in found.items()}


def every_pair(concepts: Mapping[str, Concept]) -> Iterator[tuple[Concept, str, Concept, str]]:
    """Yield each attribute beside each target, with their concepts."""
    for attributes in (concepts[slot] for slot in ATTRIBUTES):
        for attribute in attributes.words:
            for targets in (concepts[slot] for slot in TARGETS):
                for target in targets.words:
                    yield targets, target, attributes, attribute


@dataclass(frozen=True)
class PairSupply:
    """What a cell scores: its concepts, the attributes that have no adjective, and the digest of every sentence.

    ``sentences`` is how many an attribute has at most. ``corpus`` are those of a corpus, None where they are written
    for every pair of words; ``without_sentence`` names the attributes that too few of them hold.
    """

    concepts: dict[str, Concept]
    without_adjective: dict[str, list[str]]
    digest: str
    sentences: int
    attribute_first: bool
    corpus: tuple[CorpusPair, ...] | None = None
    without_sentence: Mapping[str, list[str]] = field(default_factory=dict)


def pair_supply(
    source: object, concepts: Mapping[str, Concept], *, adjectives: bool, least: int = 1, share: float = 0.0
) -> PairSupply:
    """Return the sentences of a test; a source that writes none with two slots raises one sentence.

    Parameters
    ----------
    source
        The cell's source of texts.
    concepts
        Targets X, Y and attributes A, B.
    adjectives
        Read attributes in their adjective form.
    least
        An attribute with fewer sentences of a corpus is left out.
    share
        Of its attributes, a set has to keep so many.
    """
    if not isinstance(source, PairSource | PairCorpusSource):
        raise HarnessError(
            "lpbs measures sentences with a target and an attribute: choose context=pairs or context=pairs_corpus"
        )
    for slot in (*TARGETS, *ATTRIBUTES):
        if slot not in concepts or concepts[slot].kind == "images":
            raise HarnessError("lpbs measures words: targets X and Y, attributes A and B")
    kept, without = as_adjectives(concepts) if adjectives else (dict(concepts), {})
    for slot in ATTRIBUTES:
        if len(kept[slot].words) < 2:
            raise HarnessError(
                f"{len(kept[slot].words)} of the {len(concepts[slot].words)} attributes of {concepts[slot].name} have "
                "an adjective form, and at least two are needed: choose stats.lpbs_attributes=listed"
            )
    if isinstance(source, PairCorpusSource):
        return _corpus_supply(source, kept, without, least=least, share=share)
    first = source.pairs(*next(every_pair(kept)))
    before = all(sentence.attribute_end <= sentence.start for sentence in first)
    return PairSupply(kept, without, pairs_digest(source, kept), len(first), before)


def _corpus_supply(
    source: PairCorpusSource,
    concepts: Mapping[str, Concept],
    without_adjective: dict[str, list[str]],
    *,
    least: int,
    share: float,
) -> PairSupply:
    """Return the sentences of a corpus whose attribute has enough of them."""
    pairs = source.sentences(concepts)
    counts = Counter((pair.attribute_slot, pair.attribute) for pair in pairs)
    kept = dict(concepts)
    short: dict[str, list[str]] = {}
    for slot in ATTRIBUTES:
        listed = concepts[slot].words
        words = tuple(word for word in listed if counts[slot, word] >= least)
        short[slot] = [word for word in listed if word not in words]
        needed = max(2, math.ceil(share * len(listed)))
        if len(words) < needed:
            enough = "in a sentence" if least == 1 else f"in at least {least} sentences"
            remedies = ["use a larger corpus", "a wider context.gap"]
            remedies += ["a smaller stats.ceat_min_share"] if len(words) >= 2 else []
            raise HarnessError(
                f"{source.label} has {len(words)} of the {len(listed)} attributes of {concepts[slot].name} {enough} "
                f"with a target, and at least {needed} are needed: {', or '.join(remedies)}"
            )
        kept[slot] = concepts[slot].model_copy(update={"words": words})
    pairs = tuple(pair for pair in pairs if counts[pair.attribute_slot, pair.attribute] >= least)
    total = hashlib.sha256()
    for pair in pairs:
        names = (pair.target_slot, pair.target, pair.attribute_slot, pair.attribute, pair.gap)
        total.update(pair_key(pair.sentence) + repr(names).encode())
    for slot in (*TARGETS, *ATTRIBUTES):
        # A counterpart may be any target, and the neutral word follows an attribute's part of speech.
        total.update(repr([(word, part_of(word, kept[slot])) for word in kept[slot].words]).encode())
    most = max(counts[slot, word] for slot in ATTRIBUTES for word in kept[slot].words)
    return PairSupply(kept, without_adjective, total.hexdigest(), most, True, pairs, short)


def pairs_digest(source: PairSource, concepts: Mapping[str, Concept]) -> str:
    """Return the digest of a test's sentences, their spans, and those with a neutral attribute.

    A sentence follows from the parts of speech of its two words and from how each is written in it. So each target is
    read beside one attribute of every part, and each attribute beside one target of every part; thousands of other
    pairs then hold nothing new.
    """
    total = hashlib.sha256()
    for pair in _telling_pairs(concepts):
        for neutral in (False, True):
            for sentence in source.pairs(*pair, neutral=neutral):
                total.update(pair_key(sentence))
    return total.hexdigest()


def _telling_pairs(concepts: Mapping[str, Concept]) -> Iterator[tuple[Concept, str, Concept, str]]:
    def one_a_part(slots: tuple[str, ...]) -> list[tuple[Concept, str]]:
        words = [(concepts[slot], word) for slot in slots for word in concepts[slot].words]
        return list({part_of(word, concept): (concept, word) for concept, word in reversed(words)}.values())

    for slot in TARGETS:
        for target in concepts[slot].words:
            for attributes, attribute in one_a_part(ATTRIBUTES):
                yield concepts[slot], target, attributes, attribute
    for slot in ATTRIBUTES:
        for attribute in concepts[slot].words:
            for targets, target in one_a_part(TARGETS):
                yield targets, target, concepts[slot], attribute


def pair_key(sentence: PairContext) -> bytes:
    """Return 16 bytes that tell a sentence with its spans from every other."""
    spans = f"{sentence.start}:{sentence.end}:{sentence.attribute_start}:{sentence.attribute_end}"
    return hashlib.sha256(f"{spans}:{sentence.text}".encode()).digest()[:16]
