"""A large file read once from front to back: hashed on the way, decompressed if need be."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from harness.errors import HarnessError
from harness.progress import Advance, Progress

CHUNK = 1 << 22
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"


class _HashedFile(io.RawIOBase):
    """The raw bytes of a file; a second thread hashes a chunk while the next one is being read."""

    def __init__(self, path: Path, advance: Advance, *, hashing: bool) -> None:
        self._file = path.open("rb", buffering=0)
        self._advance = advance
        self._sha256 = hashlib.sha256() if hashing else None
        self._hasher = ThreadPoolExecutor(max_workers=1)
        self._pending: Future[None] | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(CHUNK if size < 0 else size)
        self._advance(len(data))
        if self._sha256 is not None:
            if self._pending is not None:
                self._pending.result()
            self._pending = self._hasher.submit(self._sha256.update, data)
        return data

    def hexdigest(self) -> str | None:
        while self.read(CHUNK):
            pass
        self._hasher.shutdown(wait=True)
        return self._sha256.hexdigest() if self._sha256 is not None else None

    def close(self) -> None:
        self._hasher.shutdown(wait=True)
        self._file.close()
        super().close()


class ByteStream:
    """The content of a file in chunks, ``sha256`` of its bytes on disk once it has been read to the end."""

    def __init__(self, path: Path, raw: _HashedFile) -> None:
        self.path = path
        self._raw = raw
        self._content: gzip.GzipFile | _HashedFile = raw
        if _magic(path).startswith(_GZIP):
            self._content = gzip.GzipFile(fileobj=raw, mode="rb")

    def read(self, size: int = CHUNK) -> bytes:
        """Return up to ``size`` bytes of the content, none at its end."""
        try:
            return self._content.read(size) or b""
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise HarnessError(
                f"{self.path}: the compressed file is damaged or ends too early ({error}); fetch it again."
            ) from None

    def sha256(self) -> str | None:
        """Return the digest of the whole file, reading what is left of it; None if hashing was switched off."""
        return self._raw.hexdigest()


def _magic(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


@contextmanager
def open_stream(path: Path, progress: Progress, *, hashing: bool = True) -> Iterator[ByteStream]:
    """Open a plain or gzip-compressed file for one pass."""
    if _magic(path) == _ZIP:
        raise HarnessError(f"{path}: this is a zip archive; unpack it and name the file inside.")
    with progress(f"reading {path.name}", path.stat().st_size) as advance:
        raw = _HashedFile(path, advance, hashing=hashing)
        try:
            yield ByteStream(path, raw)
        finally:
            raw.close()


def file_sha256(path: Path, progress: Progress) -> str:
    """Return the digest of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file, progress(f"checking {path.name}", path.stat().st_size) as advance:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            advance(len(chunk))
    return digest.hexdigest()
