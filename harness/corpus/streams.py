"""Bytes of plain and compressed files, cut into blocks of whole records that any worker finds at the same places."""

from __future__ import annotations

import bz2
import importlib
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from harness.corpus.needs import need
from harness.progress import Advance

COMPRESSED = (".zst", ".bz2", ".gz")
LINES = re.compile(rb"\n")
PARAGRAPHS = re.compile(rb"\n[ \t\r]*\n")

_CHUNK = 1 << 20
_COMPRESSED_CHUNK = 1 << 16
_OVERLAP = 256
"""A run of more blanks between two line ends is not looked for across pieces."""
_LONG_WINDOW = 1 << 31
"""Pushshift compresses with ``zstd --long=31``."""


Claim = Callable[[int], bool]
"""Tells whether the block of a number is to be read; asked once for each, in rising order."""

LAST = 1 << 62
"""The number of what is found out at the very end of a file."""


@dataclass(frozen=True)
class Limits:
    """How many bytes a block has, and a record may have."""

    block: int = 1 << 19
    record: int = 16 << 20


def _zstd() -> Any:
    return need("zstandard").ZstdDecompressor(max_window_size=_LONG_WINDOW).decompressobj()


_MAKERS: dict[str, Callable[[], Any]] = {
    ".zst": _zstd,
    ".bz2": bz2.BZ2Decompressor,
    ".gz": lambda: zlib.decompressobj(wbits=31),
}


class Decompressed:
    """The bytes of a compressed file; ``damaged`` is set when it ends too early or cannot be decompressed further.

    ``given`` counts the bytes that came out; ``advance`` is told how many bytes of the file itself were read.
    """

    def __init__(self, path: Path, advance: Advance) -> None:
        self._path, self._advance = path, advance
        self.damaged, self.given = False, 0

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes in pieces; a file of several streams is read as one."""
        maker = _MAKERS[self._path.suffix.lower()]
        engine, fed = maker(), False
        with self._path.open("rb") as file:
            while chunk := file.read(_COMPRESSED_CHUNK):
                self._advance(len(chunk))
                while chunk:
                    if engine.eof:
                        engine = maker()
                    try:
                        text, fed = engine.decompress(chunk), True
                    except _errors():
                        self.damaged = True
                        return
                    chunk = engine.unused_data if engine.eof else b""
                    self.given += len(text)
                    if text:
                        yield text
        self.damaged = fed and not engine.eof


def _errors() -> tuple[type[Exception], ...]:
    try:
        return (OSError, zlib.error, EOFError, importlib.import_module("zstandard").ZstdError)
    except ImportError:
        return (OSError, zlib.error, EOFError)


@dataclass(frozen=True)
class RawBlock:
    """Whole records as bytes with the place of the first; ``gigantic`` is where a record too long was left out."""

    index: int
    offset: int
    data: bytes
    gigantic: int | None = None


def plain_blocks(
    path: Path, boundary: re.Pattern[bytes], limits: Limits, *, claim: Claim, advance: Advance
) -> Iterator[RawBlock]:
    """Yield the blocks of a plain file that are claimed; the others are not read.

    Block i begins behind the first end of a record that is found from byte i x block size on (block 0: at 0), and ends
    where the next begins. The cuts follow from the file alone, so that workers share it without a word to each other.
    """
    length = path.stat().st_size
    with path.open("rb") as file:
        cuts = _Cuts(file, boundary, length)
        for index in range(-(-length // limits.block)):
            if not claim(index):
                continue
            advance(min(limits.block, length - index * limits.block))
            limit = min((index + 1) * limits.block, length)
            begin = cuts.after(index * limits.block) if index else 0
            end = cuts.after(limit)
            if end <= begin:
                continue
            file.seek(begin)
            if end - limit <= limits.record:
                yield RawBlock(index, begin, file.read(end - begin))
            else:
                yield _shortened(index, begin, file.read(limit - begin), boundary)


class _Cuts:
    """Finds the end of the first record boundary from a place on, and remembers the last that it found."""

    def __init__(self, file: BinaryIO, boundary: re.Pattern[bytes], length: int) -> None:
        self._file, self._boundary, self._length = file, boundary, length
        self._from = self._start = self._end = -1

    def after(self, position: int) -> int:
        """Return the place behind the boundary, or the length of the file if there is none."""
        if not self._from <= position <= self._start:
            self._from = position
            self._start, self._end = self._search(position)
        return self._end

    def _search(self, position: int) -> tuple[int, int]:
        self._file.seek(position)
        seen = b""
        while chunk := self._file.read(_CHUNK):
            base, seen = position - len(seen[-_OVERLAP:]), seen[-_OVERLAP:] + chunk
            if found := self._boundary.search(seen):
                return base + found.start(), base + found.end()
            position += len(chunk)
        return self._length, self._length


def _shortened(index: int, offset: int, data: bytes, boundary: re.Pattern[bytes]) -> RawBlock:
    last = 0
    for found in boundary.finditer(data):
        last = found.end()
    return RawBlock(index, offset, data[:last], gigantic=offset + last)


def compressed_blocks(
    source: Decompressed, boundary: re.Pattern[bytes], limits: Limits, *, claim: Claim
) -> Iterator[RawBlock]:
    """Yield the blocks of a compressed file in the same way; what others take is decompressed and passed over.

    The last, partial record of a damaged file is left out.
    """
    chunks, held, base, index, more = source.chunks(), bytearray(), 0, 0, True
    while more:
        limit = (index + 1) * limits.block - base
        while more and len(held) < limit:
            more = _grow(held, chunks)
        found = boundary.search(held, limit)
        while not found and more and len(held) - limit <= limits.record:
            searched = max(limit, len(held) - _OVERLAP)
            more = _grow(held, chunks)
            found = boundary.search(held, searched)
        mine = claim(index)
        if found or not more:
            end = found.end() if found else len(held)
            block = RawBlock(index, base, bytes(held[:end]))
            if not found and source.damaged:
                tail = _shortened(index, base, block.data, boundary)
                block = RawBlock(index, base, tail.data)
            del held[:end]
            base += end
        else:
            block = _shortened(index, base, bytes(held[:limit]), boundary)
            base += _pass_over(held, chunks, boundary, limit)
        if mine and (block.data or block.gigantic is not None):
            yield block
        index = max(index + 1, base // limits.block)
        more = more or bool(held)


def _grow(held: bytearray, chunks: Iterator[bytes]) -> bool:
    chunk = next(chunks, b"")
    held += chunk
    return bool(chunk)


def _pass_over(held: bytearray, chunks: Iterator[bytes], boundary: re.Pattern[bytes], limit: int) -> int:
    """Drop bytes up to the end of the record that begins before ``limit``; return how many."""
    dropped, start = 0, limit
    while True:
        if found := boundary.search(held, start):
            dropped += found.end()
            del held[: found.end()]
            return dropped
        gone = max(len(held) - _OVERLAP, 0)
        dropped += gone
        del held[:gone]
        start = 0
        if not _grow(held, chunks):
            dropped += len(held)
            held.clear()
            return dropped


class ChunkFile(io.RawIOBase):
    """A readable file over pieces of bytes, for readers that want one."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, target: Any) -> int:
        """Fill a buffer."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        size = min(len(target), len(self._rest))
        target[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
