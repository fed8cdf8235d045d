"""Blocks of vectors on disk: all vectors of one stimulus from one context source under one encoder, computed once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.blockfile import (
    SUFFIX,
    TEMPORARY,
    DamagedBlockError,
    Header,
    check_digest,
    read_header,
    read_tensor,
    write_block,
)
from harness.contexts import Contexts
from harness.files import write_atomically

ROWS = "contexts"
"""The tensor that holds the digest of the text behind every row."""

ENCODER_FILE = "encoder.json"
JOURNAL = "encoded.jsonl"
"""One line for each group of texts that an encoder read: how often it read is counted, not assumed."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def tensor_name(view: str, layer: int) -> str:
    """Return what a view of a layer is called in a block."""
    return f"{view}@{layer}"


def _folder_name(label: str) -> str:
    """Return a label as the name of a folder; what a file system might not take is replaced, and a digest added."""
    joined = label.replace("/", "-")
    if _PLAIN.fullmatch(joined):
        return joined
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", joined).strip("-.")[:40]
    return f"{plain}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"


def encoder_id(identity: Mapping[str, Any], *, dtype: str = "float32") -> str:
    """Return the folder of an encoder: what it is, and a digest of everything that determines its vectors."""
    canonical = json.dumps({**identity, "stored": dtype}, sort_keys=True, ensure_ascii=False)
    what = identity.get("id") or identity.get("name") or identity["kind"]
    return f"{_folder_name(str(what))}-{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Block:
    """The texts of one stimulus under one encoder, whether their vectors are stored or not."""

    encoder: str
    source: str
    word: str
    contexts: Contexts

    @cached_property
    def path(self) -> Path:
        """The block's file, from the folder of the store."""
        return Path(self.encoder, _folder_name(self.source), self.contexts.digest[:32] + SUFFIX)


@dataclass(frozen=True)
class StoredBlock:
    """A file of the store, as a listing shows it; ``used`` is when it was last read or written."""

    path: Path
    encoder: str
    source: str
    bytes: int
    used: float


class BlockStore:
    """The folder of blocks.

    ``damaged`` tells, by file, what was wrong with each block that did not match and was dropped.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.damaged: dict[Path, str] = {}
        self._checked: set[tuple[Path, int]] = set()

    def header(self, block: Block) -> Header | None:
        """Return the head of a block's file; a file that does not match is dropped, and is then as good as none."""
        path = self.root / block.path
        try:
            return read_header(path)
        except FileNotFoundError:
            return None
        except DamagedBlockError as error:
            self._drop(block, error)
            return None

    def holds(self, block: Block, names: Collection[str]) -> bool:
        """Return whether every one of these views is stored."""
        header = self.header(block)
        return header is not None and set(names) <= set(header.tensors)

    def read(self, block: Block, name: str) -> NDArray[Any] | None:
        """Return one view, a row for each text; None if it is not stored, or was damaged and is dropped now."""
        return self.read_all(block, [name]).get(name)

    def read_all(self, block: Block, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return the views of a block that are stored, of those asked for; its digest is checked once a process."""
        header = self.header(block)
        if header is None:
            return {}
        path = self.root / block.path
        try:
            key = (path, path.stat().st_ino)
            if key not in self._checked:
                check_digest(path, header)
                os.utime(path)
                self._checked.add(key)
            wanted = header.tensors if names is None else [name for name in names if name in header.tensors]
            return {name: read_tensor(path, header.tensors[name]) for name in wanted if name != ROWS}
        except FileNotFoundError:
            return {}
        except DamagedBlockError as error:
            self._drop(block, error)
            return {}

    def _drop(self, block: Block, error: DamagedBlockError) -> None:
        path = self.root / block.path
        self.damaged[path] = (
            f"The stored vectors of {block.word!r} ({block.source}) were damaged ({error}) and were computed again."
        )
        path.unlink(missing_ok=True)

    def write(self, block: Block, tensors: Mapping[str, NDArray[Any]], *, identity: Mapping[str, Any]) -> None:
        """Write views of a block beside those that it has; call it under the block's lock."""
        path = self.root / block.path
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.frombuffer(b"".join(block.contexts.rows), dtype=np.uint8).reshape(len(block.contexts), -1)
        metadata = {
            "encoder": json.dumps(dict(identity), sort_keys=True, ensure_ascii=False),
            "source": block.source,
            "stimulus": block.word,
        }
        write_block(path, {**self.read_all(block), **tensors, ROWS: rows}, metadata)

    def rows(self, encoder: str, wanted: Collection[bytes], names: Collection[str]) -> dict[bytes, dict[str, Any]]:
        """Return rows that any block of an encoder holds already, whatever its stimulus and source."""
        found: dict[bytes, dict[str, Any]] = {}
        if not wanted:
            return found
        for stored in self.blocks(encoder):
            try:
                header = read_header(stored.path)
                if not set(names) <= set(header.tensors):
                    continue
                digests = [row.tobytes() for row in read_tensor(stored.path, header.tensors[ROWS])]
                at = {row: i for i, row in enumerate(digests) if row in wanted and row not in found}
                if at:
                    check_digest(stored.path, header)
                    views = {name: read_tensor(stored.path, header.tensors[name]) for name in names}
                    found |= {row: {name: np.array(view[i]) for name, view in views.items()} for row, i in at.items()}
            except (DamagedBlockError, FileNotFoundError, KeyError):
                continue
        return found

    @contextmanager
    def locked(self, blocks: Iterable[Block]) -> Iterator[None]:
        """Hold the lock of every encoder and source among these blocks; what a killed writer left there is removed."""
        from filelock import FileLock

        folders = sorted({(self.root / block.path).parent for block in blocks})
        with ExitStack() as stack:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(FileLock(folder / ".lock"))
                for left in folder.glob(f"{TEMPORARY}*"):
                    left.unlink(missing_ok=True)
            yield

    def describe(self, encoder: str, description: Mapping[str, Any]) -> None:
        """Write once what an encoder's folder belongs to."""
        path = self.root / encoder / ENCODER_FILE
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(dict(description), indent=1, ensure_ascii=False))

    def description(self, encoder: str) -> dict[str, Any] | None:
        """Return what :meth:`describe` wrote."""
        try:
            found: dict[str, Any] = json.loads((self.root / encoder / ENCODER_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found

    def count(self, encoder: str, *, texts: int, seconds: float) -> None:
        """Write down that an encoder read so many texts."""
        line = json.dumps({"texts": texts, "seconds": round(seconds, 3), "at": round(time.time(), 1)})
        with (self.root / encoder / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(line + "\n")

    def texts_encoded(self, encoder: str) -> int:
        """Return how many texts an encoder has read, over all processes and time."""
        return self.reading(encoder)[0]

    def reading(self, encoder: str) -> tuple[int, float]:
        """Return how many texts an encoder has read, and in how many seconds."""
        try:
            lines = (self.root / encoder / JOURNAL).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return 0, 0.0
        entries = [json.loads(line) for line in lines]
        return sum(int(entry["texts"]) for entry in entries), sum(float(entry["seconds"]) for entry in entries)

    def encoders(self) -> list[str]:
        """Return the encoders that have a folder here."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{ENCODER_FILE}"))

    def blocks(self, encoder: str | None = None) -> Iterator[StoredBlock]:
        """Yield every file of the store, or of one encoder."""
        for name in [encoder] if encoder else self.encoders():
            for path in sorted((self.root / name).glob(f"*/*{SUFFIX}")):
                try:
                    stat = path.stat()
                except FileNotFoundError:
                    continue
                yield StoredBlock(path, name, path.parent.name, stat.st_size, stat.st_mtime)

    def distinct_texts(self, encoder: str) -> int:
        """Return how many different texts, with their spans, the blocks of an encoder hold."""
        seen: set[bytes] = set()
        for stored in self.blocks(encoder):
            try:
                header = read_header(stored.path)
                seen.update(row.tobytes() for row in read_tensor(stored.path, header.tensors[ROWS]))
            except (DamagedBlockError, FileNotFoundError, KeyError):
                continue
        return len(seen)

    def verify(self, encoder: str | None = None) -> Iterator[tuple[StoredBlock, str | None]]:
        """Check every block in full; yield each with what is wrong with it, or None. What is wrong is dropped."""
        for stored in self.blocks(encoder):
            try:
                check_digest(stored.path, read_header(stored.path))
            except FileNotFoundError:
                continue
            except DamagedBlockError as error:
                stored.path.unlink(missing_ok=True)
                yield stored, str(error)
            else:
                yield stored, None

    def prune(
        self,
        *,
        cap: int | None = None,
        older_than: float | None = None,
        encoder: str | None = None,
        keep: Collection[Path] = (),
        dry_run: bool = False,
    ) -> list[StoredBlock]:
        """Remove blocks, the least recently used first; return those removed.

        Parameters
        ----------
        cap
            Remove until the blocks take at most so many bytes.
        older_than
            Remove what was last used before this time.
        encoder
            Only blocks of this encoder; without the other two, all of them.
        keep
            Files that stay.
        dry_run
            Remove nothing, and return what would be removed.
        """
        everything = sorted(self.blocks(encoder), key=lambda stored: stored.used)
        total = sum(stored.bytes for stored in everything)
        whole = encoder is not None and cap is None and older_than is None
        removed = []
        for stored in everything:
            too_much = cap is not None and total > cap
            too_old = older_than is not None and stored.used < older_than
            if (whole or too_much or too_old) and stored.path not in keep:
                removed.append(stored)
                total -= stored.bytes
                if not dry_run:
                    stored.path.unlink(missing_ok=True)
        return removed
