"""What every reader yields, and how the wanted rows are picked from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from harness.errors import HarnessError

FloatRow = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]

_CASED_SHARE = 0.001
"""A vocabulary counts as lower case although a few marks such as UNK stand in it."""


class Entry(NamedTuple):
    """One word of a file: its line (or place, from 1), its bytes, and the bytes that hold its numbers."""

    number: int
    word: bytes
    data: bytes


class Entries(Protocol):
    """A file of vectors as a sequence of entries, read once; ``dim`` is known after the first."""

    path: Path
    unit: str
    dim: int

    def __iter__(self) -> Iterator[Entry]:
        """Go through the file."""

    def vector(self, entry: Entry) -> FloatRow:
        """Return the numbers of an entry."""


@dataclass(frozen=True)
class Rows:
    """The rows of a file that were asked for, and what was seen of the whole vocabulary on the way."""

    words: tuple[str, ...]
    matrix: Matrix
    vocabulary_size: int
    cased: bool


class Batch(NamedTuple):
    """Some consecutive words of a vocabulary with their vectors."""

    words: list[str]
    matrix: Matrix


def select(entries: Entries, wanted: Set[str]) -> Rows:
    """Keep the rows of ``wanted``; no other line's numbers are parsed. A wanted word that comes twice is an error."""
    keys = {word.encode() for word in wanted}
    found: dict[str, tuple[int, FloatRow]] = {}
    size = upper = 0
    for entry in entries:
        size += 1
        word = entry.word
        upper += word != word.lower()
        if word in keys:
            text = word.decode()
            if text in found:
                raise _duplicate(entries.path, entries.unit, text, found[text][0], entry.number)
            found[text] = (entry.number, entries.vector(entry))
    matrix = np.array([row for _, row in found.values()], dtype=np.float32).reshape(len(found), entries.dim)
    return Rows(tuple(found), matrix, size, upper > _CASED_SHARE * size)


def batches(entries: Entries, *, rows: int) -> Iterator[Batch]:
    """Parse the whole file, ``rows`` words at a time."""
    words: list[str] = []
    vectors: list[FloatRow] = []
    for entry in entries:
        words.append(entry.word.decode())
        vectors.append(entries.vector(entry))
        if len(words) == rows:
            yield Batch(words, np.array(vectors, dtype=np.float32))
            words, vectors = [], []
    if words:
        yield Batch(words, np.array(vectors, dtype=np.float32))


@dataclass(frozen=True)
class Table:
    """A vocabulary and a matrix that can be sliced by rows, in memory or mapped from a file."""

    path: Path
    words: Sequence[str]
    matrix: Any
    dim: int

    def select(self, wanted: Set[str]) -> Rows:
        """Keep the rows of ``wanted``; a wanted word that comes twice is an error."""
        places: dict[str, int] = {}
        upper = 0
        for place, word in enumerate(self.words):
            upper += word != word.lower()
            if word in wanted:
                if word in places:
                    raise _duplicate(self.path, "row", word, places[word] + 1, place + 1)
                places[word] = place
        matrix = self._rows(places)
        return Rows(tuple(places), matrix, len(self.words), upper > _CASED_SHARE * len(self.words))

    def _rows(self, places: Mapping[str, int]) -> Matrix:
        matrix = np.empty((len(places), self.dim), dtype=np.float32)
        for target, (word, place) in enumerate(places.items()):
            matrix[target] = self.matrix[place : place + 1][0]
            if not np.isfinite(matrix[target]).all():
                raise HarnessError(
                    f"{self.path}, row {place + 1}: the vector of {word!r} holds a value that is no number."
                )
        return matrix

    def batches(self, *, rows: int) -> Iterator[Batch]:
        """Give the whole table, ``rows`` words at a time."""
        for start in range(0, len(self.words), rows):
            end = min(start + rows, len(self.words))
            yield Batch(list(self.words[start:end]), np.asarray(self.matrix[start:end], dtype=np.float32))


def _duplicate(path: Path, unit: str, word: str, first: int, second: int) -> HarnessError:
    return HarnessError(
        f"{path}, {unit} {second}: {word!r} stands on {unit} {first} already; which vector is meant is not clear."
    )
