"""What a corpus holds for each stimulus and each test, as rows and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.cell import slots
from harness.corpus.manifest import Manifest
from harness.corpus.patterns import is_cased, pattern_key
from harness.errors import HarnessError
from harness.stimuli import Test


@dataclass(frozen=True)
class StimulusCount:
    """How often a stimulus was found, and how many distinct contexts of it are kept."""

    stimulus: str
    cased: bool
    found: int
    kept: int


def stimulus_counts(manifest: Manifest) -> list[StimulusCount]:
    """Return a row for each stimulus, in the order of the sample."""
    rows = zip(manifest.patterns, manifest.tally.hits, manifest.kept, strict=True)
    return [StimulusCount(pattern.key, pattern.cased, hits, kept) for pattern, hits, kept in rows]


@dataclass(frozen=True)
class SlotCount:
    """How well a corpus carries one concept of a test."""

    slot: str
    concept: str
    stimuli: int
    none: tuple[str, ...]
    few: tuple[str, ...]
    median: int


def test_counts(manifest: Manifest, test: Test, *, needed: int) -> Iterator[SlotCount]:
    """Yield, for each concept of a test, which stimuli have no context and which have fewer than are needed."""
    kept = {(row.stimulus, row.cased): row.kept for row in stimulus_counts(manifest)}
    for slot, concept in slots(test):
        if concept.kind == "images":
            continue
        cased = is_cased(concept)
        counts = {}
        for word in concept.words:
            key = pattern_key(word, cased=cased), cased
            if key not in kept:
                raise HarnessError(f"{manifest.name} was not searched for {word!r} ({concept.name}); build it again.")
            counts[word] = kept[key]
        none = tuple(word for word, count in counts.items() if not count)
        few = tuple(word for word, count in counts.items() if 0 < count < needed)
        yield SlotCount(slot, concept.name, len(counts), none, few, sorted(counts.values())[len(counts) // 2])


def summary(manifest: Manifest) -> Iterator[str]:
    """Yield the lines that a build ends with."""
    tally, kept = manifest.tally, manifest.kept
    yield (
        f"{manifest.name}: {len(manifest.files):,} file{'s' if len(manifest.files) != 1 else ''}, "
        f"{tally.documents:,} documents, {tally.sentences:,} sentences, {tally.text_bytes / 1e6:,.1f} MB of text"
    )
    yield f"{sum(tally.hits):,} stimuli found, {sum(kept):,} distinct contexts kept (at most {manifest.k:,} a stimulus)"
    absent = sum(not count for count in kept)
    short = sum(0 < count < manifest.k for count in kept)
    yield (
        f"of {len(kept):,} stimuli, {len(kept) - absent - short:,} have all {manifest.k:,} contexts, "
        f"{short:,} have fewer, {absent:,} have none"
    )
    if tally.blank:
        yield f"{tally.blank:,} document{'s' if tally.blank != 1 else ''} held no text after cleaning"
    yield from tally.skipped.sentences()
