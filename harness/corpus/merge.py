"""Unites samples: the k smallest keys of several runs or corpora are the k smallest of all that they have seen."""

from __future__ import annotations

import hashlib
import mmap
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.corpus.patterns import Pattern
from harness.corpus.sampler import SCHEMA, Keys
from harness.corpus.sentences import Positions
from harness.errors import HarnessError

SAMPLE_SCHEMA = pa.schema([("stimulus", pa.string()), ("cased", pa.bool_()), *SCHEMA])


_AHEAD = 3
_HELD = 8 << 20
"""After so many bytes of contexts, parts are asked to let go of what they have read."""


class Merged(NamedTuple):
    """How many contexts are kept for each pattern, and the sha256 of the file."""

    kept: list[int]
    digest: str


class Part(Protocol):
    """Holds contexts by pattern."""

    def keys(self, number: int) -> Keys:
        """Return the keys of one pattern's contexts."""

    def take(self, number: int, rows: Positions) -> pa.Table:
        """Return some of one pattern's contexts."""

    def release(self) -> None:
        """Let go of memory that can be had again."""


class Run:
    """A file that a sampler wrote, read by memory map."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._map))).get_batch(0)
        self._columns = [batch.column(name) for name in SCHEMA.names]
        self._keys = batch.column("key").to_numpy()
        pattern = batch.column("pattern").to_numpy()
        numbers = np.arange(pattern[-1] + 2, dtype=pattern.dtype)
        self._bounds = np.searchsorted(pattern, numbers).tolist()

    def _slice(self, number: int) -> tuple[int, int]:
        first, last = self._bounds[number : number + 2] if number + 1 < len(self._bounds) else (0, 0)
        return first, last

    def keys(self, number: int) -> Keys:
        """Return the keys of one pattern's contexts."""
        first, last = self._slice(number)
        return np.asarray(self._keys[first:last])

    def take(self, number: int, rows: Positions) -> pa.Table:
        """Return some of one pattern's contexts; no text is read but theirs."""
        first, last = self._slice(number)
        own = [column.slice(first, last - first) for column in self._columns]
        return pa.table(own if len(rows) == last - first else [c.take(pa.array(rows)) for c in own], schema=SCHEMA)

    def release(self) -> None:
        """Let go of the pages that were read; they come back when they are read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class Sample:
    """A stored sample: one row group for each stimulus that was found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._whole():
            self._file = pq.ParquetFile(path)
        self.places: dict[tuple[str, bool], int] = {}
        for group in range(self._file.num_row_groups):
            columns = self._file.metadata.row_group(group)
            self.places[columns.column(0).statistics.min, bool(columns.column(1).statistics.min)] = group

    def contexts(self, key: str, *, cased: bool) -> pa.Table | None:
        """Return the contexts of one stimulus, smallest key first."""
        group = self.places.get((key, cased))
        if group is None:
            return None
        with self._whole():
            return self._file.read_row_group(group, columns=SCHEMA.names)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise HarnessError(f"{self._path} is not there any more; build the corpus again.") from None
        except (pa.ArrowException, OSError) as error:
            raise HarnessError(f"{self._path} is damaged ({error}); build the corpus again.") from None


def sample_of(path: Path, *, digest: str) -> Sample:
    """Open a stored sample, and refuse one whose bytes are not those that its manifest tells of."""
    sample = Sample(path)
    if sha256_of(path) != digest:
        raise HarnessError(f"{path} was changed or damaged after it was built; build the corpus again.")
    return sample


def sha256_of(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class SamplePart:
    """A stored sample as a part of a merge."""

    def __init__(self, sample: Sample, patterns: Sequence[Pattern]) -> None:
        self._sample, self._patterns = sample, patterns
        self._read: tuple[int, pa.Table] = (-1, SCHEMA.empty_table())

    def _rows(self, number: int) -> pa.Table:
        if self._read[0] != number:
            pattern = self._patterns[number]
            rows = self._sample.contexts(pattern.key, cased=pattern.cased)
            self._read = number, SCHEMA.empty_table() if rows is None else rows
        return self._read[1]

    def keys(self, number: int) -> Keys:
        """Return the keys of one pattern's contexts."""
        return np.asarray(self._rows(number)["key"].to_numpy(), dtype=np.uint64)

    def take(self, number: int, rows: Positions) -> pa.Table:
        """Return some of one pattern's contexts."""
        return self._rows(number).take(pa.array(rows))

    def release(self) -> None:
        """Hold nothing but the contexts of one pattern anyway."""


def united(tables: Sequence[pa.Table], *, k: int) -> pa.Table:
    """Return the k contexts with the smallest keys, copies of one context counted together."""
    table = pa.concat_tables(tables).combine_chunks()
    keys = table["key"].to_numpy()
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.concatenate(([True], np.diff(keys[order]) != 0)))
    lasts = np.concatenate((firsts[1:], [len(order)]))
    copies = np.add.reduceat(table["copies"].to_numpy()[order], firsts)[:k]
    firsts, lasts = firsts[:k], lasts[:k]
    chosen = order[firsts]
    for row in np.flatnonzero(lasts - firsts > 1).tolist():
        chosen[row] = _first_of(table, order[firsts[row] : lasts[row]].tolist())
    rows = table.take(pa.array(chosen))
    return rows.set_column(rows.schema.get_field_index("copies"), "copies", pa.array(copies))


def _first_of(table: pa.Table, rows: list[int]) -> int:
    """Return the row that stands for copies: the least by text, place and source, whatever order they came in."""

    def place(row: int) -> tuple[str, int, str]:
        return table["text"][row].as_py(), table["start"][row].as_py(), table["source"][row].as_py()

    return min(rows, key=place)


def smallest(parts: Sequence[Part], number: int, *, k: int) -> pa.Table | None:
    """Return the sample of one pattern, or nothing if no part has a context of it; only what it keeps is read."""
    keys = [part.keys(number) for part in parts]
    if not any(map(len, keys)):
        return None
    ordered = np.sort(np.concatenate(keys))
    different = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    limit = different[min(k, len(different)) - 1]
    near = [np.flatnonzero(own <= limit) for own in keys]
    return united([part.take(number, rows) for part, rows in zip(parts, near, strict=True) if len(rows)], k=k)


def merge(parts: Sequence[Part], patterns: Sequence[Pattern], path: Path, *, k: int) -> Merged:
    """Write the sample of all parts as parquet; while one stimulus is written, the next is united, the last hashed."""
    kept = []
    named = ["stimulus", "cased"]
    digest = hashlib.sha256()
    with (
        ThreadPoolExecutor(1) as uniting,
        ThreadPoolExecutor(1) as hashing,
        pq.ParquetWriter(
            path, SAMPLE_SCHEMA, compression="none", use_dictionary=named, write_statistics=named
        ) as writer,
        path.open("rb") as written,
    ):
        tables = _ahead(_Uniter(parts, k=k), len(patterns), uniting)
        for pattern, rows in zip(patterns, tables, strict=True):
            kept.append(rows.num_rows if rows is not None else 0)
            if rows is not None:
                named_by = pa.repeat(pattern.key, rows.num_rows), pa.repeat(pattern.cased, rows.num_rows)
                table = pa.table([*named_by, *rows.columns], schema=SAMPLE_SCHEMA)
                writer.write_table(table, row_group_size=rows.num_rows)
                hashing.submit(_hash_rest, written, digest)
        writer.close()
        hashing.submit(_hash_rest, written, digest).result()
    return Merged(kept, digest.hexdigest())


def _hash_rest(file: BinaryIO, digest: hashlib._Hash) -> None:
    """Hash what was written to a file since the last time."""
    while chunk := file.read(1 << 20):
        digest.update(chunk)


class _Uniter:
    """Unites one pattern after another; however large the parts are, little of them is in memory."""

    def __init__(self, parts: Sequence[Part], *, k: int) -> None:
        self._parts, self._k, self._bytes = parts, k, 0

    def __call__(self, number: int) -> pa.Table | None:
        table = smallest(self._parts, number, k=self._k)
        self._bytes += table.nbytes if table is not None else 0
        if self._bytes > _HELD:
            self._bytes = 0
            for part in self._parts:
                part.release()
        return table


def _ahead(make: Callable[[int], pa.Table | None], count: int, pool: ThreadPoolExecutor) -> Iterator[pa.Table | None]:
    """Yield what a function makes of 0, 1, …, a few steps ahead of whoever asks."""
    waiting = deque(pool.submit(make, number) for number in range(min(_AHEAD, count)))
    for number in range(count):
        if number + _AHEAD < count:
            waiting.append(pool.submit(make, number + _AHEAD))
        yield waiting.popleft().result()
