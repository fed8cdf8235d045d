"""The JSON of wink's embeddings package: GloVe vectors by word, then a norm and an index in every list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np

from harness.encoders.readers.entries import Entry, FloatRow
from harness.encoders.readers.stream import ByteStream
from harness.errors import HarnessError

_DIMENSIONS = re.compile(rb'"dimensions":(\d+)')
_ENTRY = re.compile(rb'"((?:[^"\\]|\\.)*)":\[([^\]]*)\]')
_BEGIN = b'"vectors":{'
_END = b"}"


class WinkVectors:
    """The entries of the object ``vectors``, in order."""

    unit = "word"

    def __init__(self, stream: ByteStream) -> None:
        self.path = stream.path
        self._stream = stream
        self._buffer = stream.read()
        dimensions = _DIMENSIONS.search(self._buffer[:1000])
        if dimensions is None:
            raise HarnessError(f"{self.path}: not the JSON of a wink embeddings package; set model.format.")
        self.dim = int(dimensions[1])

    def __iter__(self) -> Iterator[Entry]:
        data, number = self._from_vectors(), 0
        while True:
            end = 0
            for match in _ENTRY.finditer(data):
                if data[end : end + 1] == _END:
                    return
                number += 1
                end = match.end()
                yield Entry(number, self._word(match[1]), match[2])
            if data[end : end + 1] == _END:
                return
            more = self._stream.read()
            if not more:
                raise HarnessError(f"{self.path}, word {number + 1}: the file ends too early; fetch it again.")
            data = data[end:] + more

    def vector(self, entry: Entry) -> FloatRow:
        """Return the first ``dim`` numbers of an entry's list."""
        row = np.array(entry.data.split(b",")[: self.dim], dtype=np.float32)
        if len(row) != self.dim:
            raise HarnessError(f"{self.path}, word {entry.number}: {len(row)} numbers, where {self.dim} are expected.")
        return row

    def _from_vectors(self) -> bytes:
        data = self._buffer
        while (begin := data.find(_BEGIN)) < 0:
            more = self._stream.read()
            if not more:
                raise HarnessError(f"{self.path}: the file ends before its vectors; fetch it again.")
            data = data[-len(_BEGIN) :] + more
        return data[begin + len(_BEGIN) :]

    @staticmethod
    def _word(quoted: bytes) -> bytes:
        if b"\\" not in quoted:
            return quoted
        word: str = json.loads(b'"' + quoted + b'"')
        return word.encode("utf-8", "surrogatepass")
