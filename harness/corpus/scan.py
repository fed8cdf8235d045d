"""One worker's share: blocks are read, cleaned, searched and sampled, and what is done is written down."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.corpus.clean import SEPARATOR, clean
from harness.corpus.desk import Desk, collector_paused
from harness.corpus.matcher import Matcher, counted_before, padded, shadow_of
from harness.corpus.patterns import Pattern
from harness.corpus.readers import Batch, Reading, batches, is_read_whole
from harness.corpus.sampler import Coded, Found, Keys, Sampler, context_keys, pattern_salts, text_hashes
from harness.corpus.sentences import PAD, Bytes, Positions, sentence_ends
from harness.corpus.skips import Skips
from harness.progress import Advance

_CHECKPOINT_SECONDS = 30.0
_SOURCE_SEED = 0


@dataclass
class Tally:
    """What a share of a corpus held: documents with text and without, bytes of it, sentences, hits, skips."""

    documents: int = 0
    blank: int = 0
    text_bytes: int = 0
    sentences: int = 0
    hits: list[int] = field(default_factory=list)
    skipped: Skips = field(default_factory=Skips)

    def update(self, other: Tally) -> None:
        """Add another share."""
        self.documents += other.documents
        self.blank += other.blank
        self.text_bytes += other.text_bytes
        self.sentences += other.sentences
        self.hits = [a + b for a, b in zip(self.hits, other.hits, strict=True)] if self.hits else list(other.hits)
        self.skipped.update(other.skipped)

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "skipped": self.skipped.as_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tally:
        """Return what `as_json` wrote."""
        return cls(**{**data, "skipped": Skips.from_json(data["skipped"])})


class Scanner:
    """Finds contexts in batches of documents and hands those to a sampler that may be in the sample."""

    def __init__(self, patterns: tuple[Pattern, ...], *, k: int, seed: int, known: Keys | None = None) -> None:
        self.matcher = Matcher(patterns)
        self.sampler = Sampler(len(patterns), k=k, known=known)
        self._salts, self._seed = pattern_salts(patterns, seed=seed), seed

    def scan(self, batch: Batch, tally: Tally) -> None:
        """Take one batch in."""
        tally.skipped.update(batch.skipped)
        texts = clean(batch.texts, markdown=batch.markdown) if batch.texts else []
        documents = [text for text in texts if text]
        names = [name for text, name in zip(texts, batch.ids, strict=True) if text]
        tally.documents += len(documents)
        tally.blank += batch.blank + len(texts) - len(documents)
        if not documents:
            return
        block = padded(SEPARATOR.encode().join(documents))
        shadow = shadow_of(block)
        raw = np.frombuffer(block, dtype=np.uint8)
        ends = sentence_ends(raw, np.frombuffer(shadow, dtype=np.uint8))
        tally.text_bytes += len(block) - 2 * PAD
        tally.sentences += len(ends)
        hits = self.matcher.find(block, shadow, ends)
        tally.hits = (np.array(tally.hits or 0) + np.bincount(hits.pattern, minlength=len(self._salts))).tolist()
        if not len(hits.pattern):
            return
        place, sentence = _each_once(counted_before(ends, hits.start))
        begins = np.where(place > 0, ends[place - 1] + 1, PAD)
        sentences = [block[a:b] for a, b in zip(begins.tolist(), ends[place].tolist(), strict=True)]
        offset = hits.start - begins[sentence]
        keys = context_keys(sentences, sentence, offset, self._salts[hits.pattern], seed=self._seed)
        rows = np.flatnonzero(self.sampler.candidates(hits.pattern, keys))
        if not len(rows):
            return
        start, end = _in_characters(raw, begins[sentence[rows]], hits.start[rows], hits.end[rows], block.isascii())
        self.sampler.add(
            Found(
                pattern=hits.pattern[rows],
                key=keys[rows],
                start=start,
                end=end,
                text=Coded(sentence, sentences).take(rows),
                source=_sources(documents, names, hits.start[rows]),
            )
        )


def _each_once(ordered: Positions) -> tuple[Positions, Positions]:
    """Return the different numbers of an ordered array, and for each of its places which of them stands there."""
    new = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return ordered[new], np.cumsum(new) - 1


def _in_characters(
    raw: Bytes, begin: Positions, start: Positions, end: Positions, ascii_only: bool
) -> tuple[Positions, Positions]:
    """Return spans of bytes as spans of characters of the sentences that begin at ``begin``."""
    if ascii_only:
        return start - begin, end - begin
    continuing = np.flatnonzero((raw & 0xC0) == 0x80)  # bytes that only continue a character
    before, until, after = (np.searchsorted(continuing, place) for place in (begin, start, end))
    return start - begin - (until - before), end - begin - (after - before)


def _sources(documents: list[bytes], names: list[str], places: Positions) -> Coded:
    """Return where contexts come from: the document's own id, or a hash of its text, which no cut of files moves."""
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    used, numbers = _each_once(counted_before(PAD - 1 + np.cumsum(lengths + 1), places))
    own = used.tolist()
    digests = text_hashes([documents[number] for number in own], _SOURCE_SEED).tolist()
    return Coded(numbers, [(names[n] or f"{digest:016x}").encode() for n, digest in zip(own, digests, strict=True)])


@dataclass
class Share:
    """What one worker has read of a file: the numbers of the blocks, and the runs that hold their contexts."""

    folder: Path

    def __post_init__(self) -> None:
        self.blocks, self.done, self.runs, self.tally = list[tuple[int, int]](), False, list[str](), Tally()
        if self.record.is_file():
            data = json.loads(self.record.read_text(encoding="utf-8"))
            self.blocks, self.done, self.runs = [(a, b) for a, b in data["blocks"]], data["done"], data["runs"]
            self.tally = Tally.from_json(data["tally"])

    @property
    def record(self) -> Path:
        """Where the state is kept."""
        return self.folder / "share.json"

    def save(self) -> None:
        """Write the state in one step."""
        data = {"blocks": self.blocks, "done": self.done, "runs": self.runs, "tally": self.tally.as_json()}
        fresh = self.record.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(data), encoding="utf-8")
        fresh.replace(self.record)

    def add(self, block: int) -> None:
        """Note that a block was read; neighbours are one span."""
        if self.blocks and self.blocks[-1][1] == block:
            self.blocks[-1] = self.blocks[-1][0], block + 1
        else:
            self.blocks.append((block, block + 1))

    def checkpoint(self, scanner: Scanner, *, done: bool = False) -> None:
        """Write the contexts found so far, then what is done: killed in between, the blocks are read again."""
        run = f"run-{len(self.runs):05}.arrow"
        if scanner.sampler.flush(self.folder / run):
            self.runs.append(run)
        self.done = done
        self.save()


def shares_of(scratch: Path, number: int) -> list[Share]:
    """Return what all workers have read of a file."""
    return [Share(record.parent) for record in sorted(scratch.glob(f"share-{number:05}-*/share.json"))]


def scan_files(files: Sequence[Path], desk: Desk, scanner: Scanner, reading: Reading, advance: Advance) -> None:
    """Scan whatever of some files is not read yet and that no other worker claims."""
    with collector_paused():
        for number, path in enumerate(files):
            shares = shares_of(desk.scratch, number)
            if (shares and all(share.done for share in shares)) or not desk.open(number):
                continue
            counts = desk.slot == 0 or desk.whole or not is_read_whole(path)
            claim = desk.claim(number, [span for share in shares for span in share.blocks])
            share = Share(desk.scratch / f"share-{number:05}-{desk.slot:03}")
            read = batches(path, reading, claim=claim, advance=advance if counts else lambda _: None)
            _scan_share(share, read, scanner)


def _scan_share(share: Share, read: Iterable[Batch], scanner: Scanner) -> None:
    share.folder.mkdir(parents=True, exist_ok=True)
    share.done = False
    share.save()  # before any block is claimed: a file is not done while one who claimed has not said so
    last = time.monotonic()
    for batch in read:
        scanner.scan(batch, share.tally)
        share.add(batch.index)
        if scanner.sampler.full or time.monotonic() - last > _CHECKPOINT_SECONDS:
            share.checkpoint(scanner)
            last = time.monotonic()
    share.checkpoint(scanner, done=True)
