"""word2vec's binary format: a header with the size, then each word, a space, and its float32 numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.encoders.readers.entries import Entry, FloatRow
from harness.encoders.readers.stream import ByteStream
from harness.errors import HarnessError

_LONGEST_WORD = 1 << 16


class Word2VecBinary:
    """The words of a binary file as entries, numbered from 1."""

    unit = "word"

    def __init__(self, stream: ByteStream) -> None:
        self.path = stream.path
        self._stream = stream
        self._buffer = stream.read()
        self._count, self.dim = self._header()

    def __iter__(self) -> Iterator[Entry]:
        width = 4 * self.dim
        data, position = self._buffer, self._buffer.find(b"\n") + 1
        for number in range(1, self._count + 1):
            space = data.find(b" ", position)
            while space < 0 or space + 1 + width > len(data):
                more = self._stream.read()
                if not more or (space < 0 and len(data) - position > _LONGEST_WORD):
                    raise self._truncated(number)
                data, position = data[position:] + more, 0
                space = data.find(b" ")
            word = data[position:space].lstrip(b"\n")
            if not word.isascii():
                self._check_utf8(number, word)
            start, position = space + 1, space + 1 + width
            yield Entry(number, word, data[start:position])

    def vector(self, entry: Entry) -> FloatRow:
        """Return the numbers of one word."""
        row = np.frombuffer(entry.data, dtype="<f4").astype(np.float32)
        if not np.isfinite(row).all():
            place = int(np.flatnonzero(~np.isfinite(row))[0]) + 1
            word = entry.word.decode()
            raise HarnessError(
                f"{self.path}, word {entry.number}: value {place} of the vector of {word!r} is not a number: "
                "the file is damaged or of another format."
            )
        return row

    def _header(self) -> tuple[int, int]:
        line = self._buffer[: max(self._buffer.find(b"\n", 0, 64), 0)]
        fields = line.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields) or int(fields[1]) < 1:
            raise HarnessError(
                f"{self.path}, line 1: a word2vec file begins with the number of words and of dimensions, "
                f"this one with {self._buffer[:20]!r}; set model.format."
            )
        return int(fields[0]), int(fields[1])

    def _check_utf8(self, number: int, word: bytes) -> None:
        try:
            word.decode("utf-8")
        except UnicodeDecodeError:
            raise HarnessError(
                f"{self.path}, word {number}: {word[:40]!r} is not UTF-8: the file is damaged, or its dimension "
                f"is not {self.dim}."
            ) from None

    def _truncated(self, number: int) -> HarnessError:
        return HarnessError(
            f"{self.path}, word {number}: the file ends here, but its header promises {self._count:,} words of "
            f"{self.dim} numbers: it is truncated or damaged; fetch it again."
        )
