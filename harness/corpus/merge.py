"""Unites samples: the k smallest keys of several runs or corpora are the k smallest of all that they have seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.corpus.patterns import Pattern
from harness.corpus.sampler import SCHEMA

SAMPLE_SCHEMA = pa.schema([("stimulus", pa.string()), ("cased", pa.bool_()), *SCHEMA])


class Part(Protocol):
    """Holds contexts by pattern."""

    def rows(self, number: int) -> pa.Table | None:
        """Return the contexts of one pattern, if there are any."""


class Run:
    """A file that a sampler wrote, read by memory map."""

    def __init__(self, path: Path) -> None:
        self._batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        pattern = self._batch.column("pattern").to_numpy()
        numbers = np.arange(pattern[-1] + 2, dtype=pattern.dtype)
        self._bounds = np.searchsorted(pattern, numbers).tolist()

    def rows(self, number: int) -> pa.Table | None:
        """Return the contexts of one pattern."""
        first, last = self._bounds[number : number + 2] if number + 1 < len(self._bounds) else (0, 0)
        if first == last:
            return None
        columns = [self._batch.column(name).slice(first, last - first) for name in SCHEMA.names]
        return pa.table(
            [c.dictionary_decode() if isinstance(c, pa.DictionaryArray) else c for c in columns], schema=SCHEMA
        )


class Sample:
    """A stored sample: one row group for each stimulus that was found."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        self.places: dict[tuple[str, bool], int] = {}
        for group in range(self._file.num_row_groups):
            columns = self._file.metadata.row_group(group)
            self.places[columns.column(0).statistics.min, bool(columns.column(1).statistics.min)] = group

    def contexts(self, key: str, *, cased: bool) -> pa.Table | None:
        """Return the contexts of one stimulus, smallest key first."""
        group = self.places.get((key, cased))
        return None if group is None else self._file.read_row_group(group, columns=SCHEMA.names)


class SamplePart:
    """A stored sample as a part of a merge."""

    def __init__(self, path: Path, patterns: Sequence[Pattern]) -> None:
        self._sample, self._patterns = Sample(path), patterns

    def rows(self, number: int) -> pa.Table | None:
        """Return the contexts of one pattern."""
        pattern = self._patterns[number]
        return self._sample.contexts(pattern.key, cased=pattern.cased)


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


def merge(parts: Sequence[Part], patterns: Sequence[Pattern], path: Path, *, k: int) -> list[int]:
    """Write the sample of all parts as parquet, and return how many contexts are kept for each pattern."""
    kept = []
    named = ["stimulus", "cased"]
    with pq.ParquetWriter(
        path, SAMPLE_SCHEMA, compression="none", use_dictionary=named, write_statistics=named
    ) as writer:
        for number, pattern in enumerate(patterns):
            tables = list(_rows_of(parts, number))
            if not tables:
                kept.append(0)
                continue
            rows = united(tables, k=k)
            kept.append(rows.num_rows)
            columns = [pa.repeat(pattern.key, rows.num_rows), pa.repeat(pattern.cased, rows.num_rows), *rows.columns]
            writer.write_table(pa.table(columns, schema=SAMPLE_SCHEMA), row_group_size=rows.num_rows)
    return kept


def _rows_of(parts: Sequence[Part], number: int) -> Iterator[pa.Table]:
    for part in parts:
        rows = part.rows(number)
        if rows is not None:
            yield rows
