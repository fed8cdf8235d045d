"""Readers of vector files, one module a format, behind two functions: the wanted rows, and the whole vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import NamedTuple

from harness.encoders.readers.arrays import read_numpy, read_safetensors, vocabulary_beside
from harness.encoders.readers.entries import Batch, Entries, Rows, Table, batches, select
from harness.encoders.readers.gensim import beside, read_gensim
from harness.encoders.readers.histwords import is_decade, read_histwords, vocabulary_of
from harness.encoders.readers.stream import ByteStream, file_sha256, open_stream
from harness.encoders.readers.text import TextVectors
from harness.encoders.readers.wink import WinkVectors
from harness.encoders.readers.word2vec_binary import Word2VecBinary
from harness.errors import HarnessError, did_you_mean
from harness.progress import Progress, silent

__all__ = ["FORMATS", "READER_VERSION", "Batch", "Rows", "detect", "file_sha256", "iterate", "parts", "read_rows"]

READER_VERSION = 1
"""Bumped when a reader gives other numbers for the same file: rows kept by an older version are read again."""

_STREAMED: dict[str, Callable[[ByteStream], Entries]] = {
    "text": TextVectors,
    "fasttext": TextVectors,
    "word2vec": Word2VecBinary,
    "wink": WinkVectors,
}
_TABLES: dict[str, Callable[[Path], Table]] = {
    "gensim": read_gensim,
    "numpy": read_numpy,
    "safetensors": read_safetensors,
    "histwords": read_histwords,
}
FORMATS = (*_STREAMED, *_TABLES)

_BY_SUFFIX = {
    ".npy": "numpy",
    ".npz": "numpy",
    ".safetensors": "safetensors",
    ".kv": "gensim",
    ".vec": "fasttext",
    ".json": "wink",
}
_PROBE = 1 << 16


class ReadRows(NamedTuple):
    """Rows of a file, and the digest of its bytes if it was hashed on the way."""

    rows: Rows
    sha256: str | None


def check_format(name: str) -> None:
    """Raise one sentence for a format that does not exist."""
    if name not in FORMATS:
        options = ("auto", "embedded", *FORMATS)
        raise HarnessError(f"model.format={name}: is one of {', '.join(options)}.{did_you_mean(name, options)}")


def detect(path: Path) -> str:
    """Return the format of a file, from its name and its first bytes."""
    if is_decade(path):
        return "histwords"
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    if plain.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[plain.suffix]
    with open_stream(path, silent, hashing=False) as stream:
        head = stream.read(_PROBE)
    if head[:1] == b"\x80":
        return "gensim"
    first, _, rest = head.partition(b"\n")
    header = len(first.split()) == 2 and first.replace(b" ", b"").isdigit()
    return "word2vec" if header and not _is_text(rest) else "text"


def _is_text(data: bytes) -> bool:
    line = data.split(b"\n", 1)[0]
    return all(byte >= 32 or byte in b"\t\r" for byte in line) and line.rstrip()[-1:].isdigit()


def parts(path: Path, file_format: str) -> tuple[Path, ...]:
    """Return every file that determines the vectors of ``path``."""
    extra: Path | None = None
    if file_format == "gensim" and beside(path).is_file():
        extra = beside(path)
    elif file_format == "histwords":
        extra = vocabulary_of(path)
    elif file_format in ("numpy", "safetensors"):
        extra = vocabulary_beside(path)
    return (path,) if extra is None else (path, extra)


def read_rows(path: Path, file_format: str, wanted: Set[str], *, hashing: bool, progress: Progress) -> ReadRows:
    """Keep the rows of the wanted words; a file that is streamed can be hashed in the same pass."""
    if file_format in _TABLES:
        return ReadRows(_TABLES[file_format](path).select(wanted), None)
    with open_stream(path, progress, hashing=hashing) as stream:
        rows = select(_STREAMED[file_format](stream), wanted)
        return ReadRows(rows, stream.sha256())


def iterate(
    path: Path, *, file_format: str = "auto", batch_rows: int = 10_000, progress: Progress = silent
) -> Iterator[Batch]:
    """Go through a whole vocabulary in batches of words with their vectors.

    Parameters
    ----------
    path
        A file of any format.
    file_format
        One of `FORMATS`, or ``auto``.
    batch_rows
        Words in a batch; memory is bounded by it, whatever the size of the file.
    progress
        Shows the bytes read of a streamed file.
    """
    chosen = detect(path) if file_format == "auto" else file_format
    check_format(chosen)
    if chosen in _TABLES:
        yield from _TABLES[chosen](path).batches(rows=batch_rows)
        return
    with open_stream(path, progress, hashing=False) as stream:
        yield from batches(_STREAMED[chosen](stream), rows=batch_rows)
