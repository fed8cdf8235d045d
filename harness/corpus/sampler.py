"""For each stimulus, the k contexts with the smallest keyed hash.

The key of a context is a hash of the sentence, the place of the stimulus in it and the stimulus, keyed by the seed: a
property of the text alone. Whatever the order of documents, the cut into files or the number of workers, the k
smallest keys are the same, and those of a union are the k smallest of the k smallest of its parts. It is a uniform
sample of *distinct* contexts: a sentence pasted a thousand times is one context, with ``copies`` = 1000.

The hash is SipHash-2-4 (``pandas.util.hash_array``), mixed with place and stimulus by the finaliser of splitmix64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pandas.util import hash_array

from harness.corpus.patterns import Pattern
from harness.corpus.sentences import Positions

Keys = NDArray[np.uint64]

SCHEMA = pa.schema(
    [
        ("key", pa.uint64()),
        ("text", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("source", pa.string()),
        ("copies", pa.int64()),
    ]
)
_RUN_SCHEMA = SCHEMA.append(pa.field("pattern", pa.int32()))
_FULL_ROWS = 150_000
_FULL_BYTES = 48_000_000
_LAST = np.uint64(2**64 - 1)


def mixed(values: Keys) -> Keys:
    """Return the finaliser of splitmix64 on each number: a bijection without visible structure."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def text_hashes(values: list[bytes], seed: int) -> Keys:
    """Return the keyed hash of each text."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    key = hashlib.sha256(f"corpus {seed}".encode()).hexdigest()[:16]
    return np.asarray(hash_array(array, hash_key=key, categorize=False), dtype=np.uint64)


def pattern_salts(patterns: tuple[Pattern, ...], *, seed: int) -> Keys:
    """Return a number for each pattern, so that the keys of two stimuli in one sentence are unrelated."""
    return mixed(text_hashes([f"{p.key}\x00{p.cased}".encode() for p in patterns], seed))


def context_keys(sentences: list[bytes], sentence: Positions, offset: Positions, salt: Keys, *, seed: int) -> Keys:
    """Return the key of each context: its sentence (by number), the byte where its stimulus begins, its salt."""
    return mixed(mixed(text_hashes(sentences, seed)[sentence] ^ salt) + offset.astype(np.uint64))


class Coded(NamedTuple):
    """Values of which many are the same: each once, and the number of the one that is meant."""

    numbers: Positions
    values: list[bytes]

    @classmethod
    def joined(cls, parts: Iterable[Coded]) -> Coded:
        """Return several as one."""
        numbers: list[Positions] = []
        values: list[bytes] = []
        for part in parts:
            numbers.append(part.numbers + len(values))
            values.extend(part.values)
        return cls(np.concatenate(numbers), values)

    def take(self, rows: Positions) -> Coded:
        """Return some rows, with no value that they do not use."""
        numbers = self.numbers[rows]
        used = np.zeros(len(self.values), dtype=bool)
        used[numbers] = True
        return Coded((np.cumsum(used) - 1)[numbers], [self.values[n] for n in np.flatnonzero(used).tolist()])

    def as_arrow(self, rows: Positions) -> pa.StringArray:
        """Return some rows as a column, written out one after the other; the values are UTF-8 already."""
        ends = np.cumsum(np.fromiter(map(len, self.values), np.int64, len(self.values)))
        offsets = pa.py_buffer(np.append(0, ends).astype(np.int32))
        values = pa.StringArray.from_buffers(len(self.values), offsets, pa.py_buffer(b"".join(self.values)))
        return values.take(pa.array(self.numbers[rows]))


@dataclass
class Found:
    """Contexts of one block: pattern, key, span in characters, and the numbers of their sentence and their source."""

    pattern: Positions
    key: Keys
    start: Positions
    end: Positions
    text: Coded
    source: Coded

    def __len__(self) -> int:
        return len(self.pattern)


class Sampler:
    """Holds back contexts that may be among the k smallest, and writes them as a sorted run when there are many.

    In memory stay the keys only; `threshold` falls as more is seen, so that ever fewer contexts are looked at.
    ``known`` are the thresholds of all workers, in shared memory: none of them is too low for any other.
    """

    def __init__(self, patterns: int, *, k: int, known: Keys | None = None) -> None:
        self.k, self._known = k, known
        self.threshold: Keys = np.full(patterns, _LAST, dtype=np.uint64)
        self._smallest: list[Keys] = [np.zeros(0, dtype=np.uint64) for _ in range(patterns)]
        self._unsorted: list[list[Keys]] = [[] for _ in range(patterns)]
        self._waiting: list[Found] = []
        self._rows = self._bytes = 0

    def candidates(self, pattern: Positions, key: Keys) -> NDArray[np.bool_]:
        """Tell which contexts can still be in the sample."""
        return np.asarray(key <= self.threshold[pattern], dtype=bool)

    def add(self, found: Found) -> None:
        """Take candidates in."""
        self._waiting.append(found)
        self._rows += len(found)
        self._bytes += sum(map(len, found.text.values))

    @property
    def full(self) -> bool:
        """Whether it is time to write a run."""
        return self._rows >= _FULL_ROWS or self._bytes >= _FULL_BYTES

    def flush(self, path: Path) -> bool:
        """Write what waits as a run sorted by pattern; tell whether there was anything."""
        waiting, self._waiting, self._rows, self._bytes = self._waiting, [], 0, 0
        if not any(map(len, waiting)):
            return False
        pattern = np.concatenate([found.pattern for found in waiting])
        key = np.concatenate([found.key for found in waiting])
        keep = np.flatnonzero(key <= self.threshold[pattern])
        keep = keep[np.argsort(pattern[keep].astype(np.min_scalar_type(len(self.threshold))), kind="stable")]
        pattern, key = pattern[keep], key[keep]
        bounds = np.flatnonzero(np.diff(pattern)) + 1
        for numbers, keys in zip(np.split(pattern, bounds), np.split(key, bounds), strict=True):
            self._learn(int(numbers[0]), keys)
        if self._known is not None:
            np.minimum(self._known, self.threshold, out=self.threshold)
            self._known[:] = (
                self.threshold
            )  # if another writes at the same time, a higher one stays: it costs only time
        near = key <= self.threshold[pattern]
        keep, pattern, key = keep[near], pattern[near], key[near]
        start = np.concatenate([found.start for found in waiting])[keep]
        end = np.concatenate([found.end for found in waiting])[keep]
        batch = pa.record_batch(
            [
                pa.array(key),
                Coded.joined(found.text for found in waiting).as_arrow(keep),
                pa.array(start.astype(np.int32)),
                pa.array(end.astype(np.int32)),
                Coded.joined(found.source for found in waiting).as_arrow(keep),
                pa.array(np.ones(len(keep), dtype=np.int64)),
                pa.array(pattern.astype(np.int32)),
            ],
            schema=_RUN_SCHEMA,
        )
        with pa.ipc.new_file(str(path), _RUN_SCHEMA) as writer:
            writer.write_batch(batch)
        return True

    def _learn(self, number: int, keys: Keys) -> None:
        """Lower the threshold of a pattern; not for every few keys, because a threshold too high costs only time."""
        unsorted = self._unsorted[number]
        unsorted.append(keys)
        fresh = sum(map(len, unsorted))
        if len(self._smallest[number]) + fresh < self.k or 4 * fresh < self.k:
            return
        smallest = np.sort(np.concatenate((self._smallest[number], *unsorted)))
        smallest = smallest[np.append(True, smallest[1:] != smallest[:-1])][: self.k]
        self._smallest[number] = smallest
        unsorted.clear()
        if len(smallest) == self.k:
            self.threshold[number] = min(self.threshold[number], smallest[-1])
