"""Rows of large vector files, kept so that a file is read once and opened in milliseconds afterwards.

One safetensors file a vector file, named by the digest of its bytes, its format and the version of the reader. It
records every key that was ever asked for, found or not: a request for other keys reads the vector file again.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from harness.encoders.readers import READER_VERSION, Rows, file_sha256, parts, read_rows
from harness.progress import Progress


@dataclass(frozen=True)
class KeptRows:
    """Rows of a vector file, the keys that were asked for, and the digest of the file."""

    rows: Rows
    asked: frozenset[str]
    sha256: str


def kept_rows(path: Path, file_format: str, keys: frozenset[str], *, cache: Path, progress: Progress) -> KeptRows:
    """Return the rows of ``keys``, from the cache where it has been asked for all of them before."""
    path = path.resolve()
    kept = _stored(path, file_format, cache)
    if kept is not None and keys <= kept.asked:
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{_short(str(path))}.lock"):
        kept = _stored(path, file_format, cache)
        if kept is not None and keys <= kept.asked:
            return kept
        asked = keys | kept.asked if kept else keys
        digest, stamps = _known_digest(path, file_format, cache), _stamps(path, file_format)
        rows, streamed = read_rows(path, file_format, asked, hashing=digest is None, progress=progress)
        if digest is None:
            digest = _whole_digest(path, file_format, streamed, progress)
            _remember_digest(path, file_format, cache, stamps, digest)
        fresh = KeptRows(rows, asked, digest)
        _store(_file(cache, digest, file_format), fresh)
        return fresh


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _file(cache: Path, digest: str, file_format: str) -> Path:
    return cache / f"{_short(f'{digest} {file_format} {READER_VERSION}')}.safetensors"


def _stored(path: Path, file_format: str, cache: Path) -> KeptRows | None:
    digest = _known_digest(path, file_format, cache)
    if digest is None:
        return None
    try:
        with safe_open(_file(cache, digest, file_format), framework="numpy") as file:
            about = json.loads(file.metadata()["rows"])
            matrix = file.get_tensor("vectors")
    except (SafetensorError, OSError, ValueError, KeyError, TypeError):
        return None
    rows = Rows(tuple(about["words"]), matrix, about["vocabulary_size"], about["cased"])
    return KeptRows(rows, frozenset(about["asked"]), digest)


def _store(file: Path, kept: KeptRows) -> None:
    about = {
        "words": kept.rows.words,
        "vocabulary_size": kept.rows.vocabulary_size,
        "cased": kept.rows.cased,
        "asked": sorted(kept.asked),
    }
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    save_file({"vectors": np.ascontiguousarray(kept.rows.matrix)}, temporary, {"rows": json.dumps(about)})
    temporary.replace(file)


def file_digest(path: Path, file_format: str, *, cache: Path, progress: Progress) -> str:
    """Return the digest of all files that determine the vectors, computed once for each state of the files."""
    path = path.resolve()
    digest = _known_digest(path, file_format, cache)
    if digest is None:
        cache.mkdir(parents=True, exist_ok=True)
        stamps = _stamps(path, file_format)
        digest = _whole_digest(path, file_format, None, progress)
        _remember_digest(path, file_format, cache, stamps, digest)
    return digest


def _whole_digest(path: Path, file_format: str, streamed: str | None, progress: Progress) -> str:
    others = parts(path, file_format)[1:]
    digests = [streamed or file_sha256(path, progress), *(file_sha256(file, progress) for file in others)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _stamps(path: Path, file_format: str) -> list[list[str | int]]:
    states = [(file, file.stat()) for file in parts(path, file_format)]
    return [[str(file), state.st_size, state.st_mtime_ns] for file, state in states]


def _digest_file(path: Path, file_format: str, cache: Path) -> Path:
    return cache / f"{_short(f'{path} {file_format}')}.digest.json"


def _known_digest(path: Path, file_format: str, cache: Path) -> str | None:
    """Return the digest that was computed when the files had the size and time of change that they have now."""
    try:
        known = json.loads(_digest_file(path, file_format, cache).read_text(encoding="utf-8"))
        return str(known["sha256"]) if known["files"] == _stamps(path, file_format) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember_digest(path: Path, file_format: str, cache: Path, stamps: list[list[str | int]], digest: str) -> None:
    target = _digest_file(path, file_format, cache)
    temporary = target.with_name(f"{target.name}.{os.getpid()}")
    temporary.write_text(json.dumps({"files": stamps, "sha256": digest}), encoding="utf-8")
    temporary.replace(target)
