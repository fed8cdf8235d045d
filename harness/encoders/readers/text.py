"""Vectors as text, one word a line: GloVe (no header), word2vec and fastText ``.vec`` (a header with the size).

A line is looked at as bytes: its first field is compared with the wanted words and its fields are counted. Numbers are
parsed only where somebody wants them, which is what makes a file of gigabytes a matter of seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from harness.encoders.readers.entries import Entry, FloatRow
from harness.encoders.readers.stream import ByteStream
from harness.errors import HarnessError

_LARGEST = float(np.finfo(np.float32).max)
_LONGEST_LINE = 1 << 22


class TextVectors:
    """The lines of a text file as entries.

    GloVe 840B holds words with spaces (``. . .``): a line with more fields than numbers is a word of several tokens as
    long as the tokens too many are not numbers.
    """

    unit = "line"

    def __init__(self, stream: ByteStream) -> None:
        self.path = stream.path
        self._stream = stream
        self._promised: int | None = None
        self.dim = 0

    def __iter__(self) -> Iterator[Entry]:
        count, fields, blank = 0, -1, 0
        for number, line, ended in self._lines():
            if line.count(b" ") == fields:
                if not line.isascii():
                    self._decoded(number, line)
                count += 1
                yield Entry(number, line[: line.find(b" ")], line)
                continue
            if not line.strip():
                blank, fields = blank or number, -1
                continue
            if blank:
                raise self._wrong(blank, "the line is blank, and others follow it")
            text = self._decoded(number, line).rstrip()
            if number == 1 and self._is_header(text):
                continue
            if not self.dim:
                self.dim = self._first_dimension(number, text)
            if fields < 0:
                fields = line.count(b" ")
            word = self._word(number, text, ended=ended)
            count += 1
            yield Entry(number, word.encode(), line)
        if not self.dim:
            raise HarnessError(f"{self.path}: the file holds no vectors.")
        if self._promised is not None and count != self._promised:
            raise HarnessError(
                f"{self.path}, line 1: the header promises {self._promised:,} words, the file holds {count:,}: "
                "it is truncated or damaged; fetch it again."
            )

    def vector(self, entry: Entry) -> FloatRow:
        """Parse the numbers of one line."""
        fields = entry.data.rstrip().split(b" ")[1 + entry.word.count(b" ") :]
        if len(fields) != self.dim:
            raise self._dimension(entry.number, len(fields), entry.word.decode())
        try:
            with np.errstate(over="ignore"):
                row = np.array([float(field) for field in fields], dtype=np.float32)
        except ValueError:
            row = np.full(1, np.nan, dtype=np.float32)
        if not np.isfinite(row).all():
            place, field = next((i, f) for i, f in enumerate(fields, 1) if not _is_finite(f, largest=_LARGEST))
            shown = field.decode("utf-8", "backslashreplace")
            word = entry.word.decode()
            what = "is too large for 32 bits" if _is_finite(field) else "is not a number"
            raise self._wrong(entry.number, f"{shown!r}, value {place} of the vector of {word!r}, {what}")
        return row

    def _lines(self) -> Iterator[tuple[int, bytes, bool]]:
        number, rest = 0, b""
        while chunk := self._stream.read():
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if len(rest) > _LONGEST_LINE:
                raise self._wrong(number + len(lines) + 1, "the line has no end: this is not a text file of vectors")
            for line in lines:
                number += 1
                yield number, line, True
        if rest:
            yield number + 1, rest, False

    def _decoded(self, number: int, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._wrong(
                number, f"byte {error.start + 1} is not UTF-8 (0x{line[error.start]:02x}); save the file as UTF-8"
            ) from None

    def _is_header(self, text: str) -> bool:
        fields = text.split(" ")
        if len(fields) != 2 or not all(field.isdecimal() for field in fields):
            return False
        self._promised, self.dim = int(fields[0]), int(fields[1])
        return True

    def _first_dimension(self, number: int, text: str) -> int:
        dim = len(text.split(" ")) - 1
        if dim < 1:
            raise self._wrong(number, f"{text[:40]!r} is not a word with numbers after it")
        return dim

    def _word(self, number: int, text: str, *, ended: bool) -> str:
        tokens = text.split(" ")
        extra = len(tokens) - 1 - self.dim
        if extra == 0 or (extra > 0 and not any(_is_finite(token) for token in tokens[1 : 1 + extra])):
            return " ".join(tokens[: 1 + extra])
        if extra < 0 and not ended:
            raise self._wrong(number, "the file ends in the middle of this line: it is truncated; fetch it again")
        raise self._dimension(number, len(tokens) - 1, tokens[0])

    def _dimension(self, number: int, found: int, word: str) -> HarnessError:
        return self._wrong(number, f"{found} numbers after {word!r}, where {self.dim} are expected")

    def _wrong(self, number: int, what: str) -> HarnessError:
        return HarnessError(f"{self.path}, line {number}: {what}.")


def _is_finite(field: str | bytes, *, largest: float = sys.float_info.max) -> bool:
    try:
        return abs(float(field)) <= largest
    except ValueError:
        return False
