"""Documents from dumps: NDJSON, CSV, parquet and plain text, compressed or not; what cannot be read is counted."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.corpus import skips
from harness.corpus.clean import DELETED
from harness.corpus.skips import Place, Skips
from harness.corpus.streams import (
    COMPRESSED,
    LAST,
    LINES,
    PARAGRAPHS,
    ChunkFile,
    Claim,
    Decompressed,
    Limits,
    RawBlock,
    compressed_blocks,
    plain_blocks,
)
from harness.errors import HarnessError, did_you_mean
from harness.progress import Advance

FORMATS = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
}
"""The format that an ending stands for; a file with another is looked into."""

TEXT_FIELDS = ("title", "selftext", "body", "text")
"""Where a record's text is: those that it has, one paragraph each."""

_NUL = "\0"
"""No text holds it, but every second byte of UTF-16 is one, which UTF-8 and Latin-1 allow."""

_ROWS = 2_000
_HEAD = 1 << 16


@dataclass(frozen=True)
class Reading:
    """How files are read: their encoding, the column of the text, whether a text file has a document a line."""

    encoding: str = "utf-8"
    column: str | None = None
    layout: str = "auto"
    bots: frozenset[str] = frozenset()
    limits: Limits = field(default_factory=Limits)


@dataclass
class Batch:
    """Documents of one block; ``ids`` are their own names, empty for those that have none; ``blank`` had no text."""

    index: int
    texts: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    markdown: bool = True
    blank: int = 0
    skipped: Skips = field(default_factory=Skips)


def source_files(sources: Sequence[str | Path]) -> list[Path]:
    """Return the files that some paths mean: files as they are, folders with every file of a known ending."""
    files: list[Path] = []
    for source in sources:
        path = Path(source).expanduser()
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and _has_known_ending(p))
            if not inside:
                raise HarnessError(f"{path}: the folder holds no file ending in {', '.join([*FORMATS, *COMPRESSED])}.")
            files.extend(inside)
        elif path.is_file():
            files.append(path)
        else:
            raise HarnessError(f"{path}: there is no such file or folder to read.")
    return list(dict.fromkeys(path.resolve() for path in files))


def passed_over(sources: Sequence[str | Path]) -> list[Path]:
    """Return the files in folders that `source_files` leaves out, because nothing tells what they are."""
    folders = [path for source in sources if (path := Path(source).expanduser()).is_dir()]
    named = source_files(sources)
    inside = {path.resolve() for folder in folders for path in folder.rglob("*") if path.is_file()}
    return sorted(inside.difference(named))


def _has_known_ending(path: Path) -> bool:
    return path.suffix.lower() in {*FORMATS, *COMPRESSED}


def file_format(path: Path) -> str:
    """Return the format of a file, by its ending or, failing that, by its first byte."""
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    known = FORMATS.get(inner.suffix.lower())
    return known or ("ndjson" if _head(path).lstrip()[:1] == b"{" else "text")


def is_read_whole(path: Path) -> bool:
    """Tell whether a reader must go through a whole file to find its blocks."""
    return path.suffix.lower() in COMPRESSED or file_format(path) in ("csv", "parquet")


def _head(path: Path) -> bytes:
    if path.suffix.lower() in COMPRESSED:
        return next(Decompressed(path, lambda _: None).chunks(), b"")[:_HEAD]
    with path.open("rb") as file:
        return file.read(_HEAD)


def batches(
    path: Path, reading: Reading, *, claim: Claim = lambda _: True, advance: Advance = lambda _: None
) -> Iterator[Batch]:
    """Yield the documents of a file: of every block that is claimed.

    Parameters
    ----------
    path
        A file of any format.
    reading
        Encoding, column, layout, bots and limits.
    claim
        Which blocks to take, by their numbers, which are the same whoever reads.
    advance
        Is told how many bytes of the file were gone through.
    """
    if not path.stat().st_size:
        if claim(0):
            empty = Batch(0)
            empty.skipped.add(skips.EMPTY_FILE, Place(str(path), 0))
            yield empty
        return
    kind = file_format(path)
    if kind in ("csv", "parquet"):
        rows = _csv_rows if kind == "csv" else _parquet_rows
        yield from _row_batches(rows(path, reading, advance), path, reading, claim)
        return
    boundary = LINES if kind == "ndjson" or _one_a_line(path, reading) else PARAGRAPHS
    source = Decompressed(path, advance) if path.suffix.lower() in COMPRESSED else None
    blocks = (
        plain_blocks(path, boundary, reading.limits, claim=claim, advance=advance)
        if source is None
        else compressed_blocks(source, boundary, reading.limits, claim=claim)
    )
    for block in blocks:
        yield _json_batch(block, path, reading) if kind == "ndjson" else _text_batch(block, path, reading, boundary)
    if source is not None and (source.damaged or not source.given) and claim(LAST):
        end = Batch(LAST)
        end.skipped.add(skips.TRUNCATED if source.damaged else skips.EMPTY_FILE, Place(str(path), source.given))
        yield end


def _one_a_line(path: Path, reading: Reading) -> bool:
    if reading.layout != "auto":
        return reading.layout == "lines"
    return PARAGRAPHS.search(_head(path)) is None


def _text_batch(block: RawBlock, path: Path, reading: Reading, boundary: re.Pattern[bytes]) -> Batch:
    batch = Batch(block.index, markdown=False)
    _note_gigantic(batch, block, path)
    texts = None
    if len(block.data) <= reading.limits.record:
        texts = _split(block.data, reading.encoding, boundary)
    if texts is None:
        texts = list(_one_by_one(block, path, reading, boundary, batch.skipped))
    batch.texts = [text.removeprefix("\ufeff") for text in texts if text and not text.isspace()]
    batch.ids = [""] * len(batch.texts)
    return batch


def _split(data: bytes, encoding: str, boundary: re.Pattern[bytes]) -> list[str] | None:
    try:
        whole = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    if _NUL in whole:
        return None
    return whole.split("\n") if boundary is LINES else re.split(boundary.pattern.decode(), whole)


def _one_by_one(
    block: RawBlock, path: Path, reading: Reading, boundary: re.Pattern[bytes], skipped: Skips
) -> Iterator[str]:
    """Yield the records of a block; one that is too long or that the encoding does not allow is counted."""
    begin = 0
    for end in [*(found.end() for found in boundary.finditer(block.data)), len(block.data)]:
        place = Place(str(path), block.offset + begin)
        if end - begin > reading.limits.record:
            skipped.add(skips.GIGANTIC, place)
        else:
            try:
                text = block.data[begin:end].decode(reading.encoding)
            except UnicodeDecodeError:
                text = _NUL
            if _NUL in text:
                skipped.add(skips.ENCODING, place)
            else:
                yield text
        begin = end


def _json_batch(block: RawBlock, path: Path, reading: Reading) -> Batch:
    batch = Batch(block.index)
    _note_gigantic(batch, block, path)
    offset, place = block.offset, str(path)
    for line in block.data.split(b"\n"):
        here, offset = offset, offset + len(line) + 1
        if not line or line.isspace():
            continue
        if len(line) > reading.limits.record:
            batch.skipped.add(skips.GIGANTIC, Place(place, here))
            continue
        try:
            record = json.loads(line.decode(reading.encoding).removeprefix("\ufeff"))
        except UnicodeDecodeError:
            batch.skipped.add(skips.ENCODING, Place(place, here))
            continue
        except (ValueError, RecursionError):
            batch.skipped.add(skips.BROKEN_JSON, Place(place, here))
            continue
        if isinstance(record, dict):
            _take(batch, record, Place(place, here), reading)
        else:
            batch.skipped.add(skips.NO_TEXT, Place(place, here))
    return batch


def _note_gigantic(batch: Batch, block: RawBlock, path: Path) -> None:
    if block.gigantic is not None:
        batch.skipped.add(skips.GIGANTIC, Place(str(path), block.gigantic))


def _take(batch: Batch, record: Mapping[str, Any], place: Place, reading: Reading) -> None:
    fields = (reading.column,) if reading.column else TEXT_FIELDS
    values = [record[name] for name in fields if isinstance(record.get(name), str)]
    if not values:
        batch.skipped.add(skips.NO_TEXT, place)
        return
    if str(record.get("author") or "").lower() in reading.bots:
        batch.skipped.add(skips.BOT, place)
        return
    written = [value for value in values if value.strip().lower() not in DELETED]
    if not written:
        batch.skipped.add(skips.DELETED, place)
        return
    text = "\n\n".join(value for value in written if value)
    if not _is_text(text):
        batch.skipped.add(skips.ENCODING, place)
        return
    if not text or text.isspace():
        batch.blank += 1
        return
    batch.texts.append(text)
    batch.ids.append(str(record.get("id") or ""))


Row = tuple[int, Mapping[str, Any] | str]
"""A row's number with its fields, or with the reason why it was skipped."""


def _row_batches(rows: Iterator[Row], path: Path, reading: Reading, claim: Claim) -> Iterator[Batch]:
    batch, mine = Batch(0), claim(0)
    for number, record in rows:
        if number // _ROWS != batch.index:
            if mine:
                yield batch
            batch, mine = Batch(number // _ROWS), claim(number // _ROWS)
        if mine:
            place = Place(str(path), number, "row")
            if isinstance(record, str):
                batch.skipped.add(record, place)
            else:
                _take(batch, record, place, reading)
    if mine:
        yield batch


def _csv_rows(path: Path, reading: Reading, advance: Advance) -> Iterator[Row]:
    source = Decompressed(path, advance) if path.suffix.lower() in COMPRESSED else None
    raw = io.BufferedReader(ChunkFile(source.chunks() if source else _plain_chunks(path, advance)))
    with io.TextIOWrapper(raw, encoding=reading.encoding, errors="surrogateescape", newline="") as lines:
        csv.field_size_limit(reading.limits.record)
        delimiter = "\t" if ".tsv" in path.suffixes else ","
        # strict: without it, a quotation mark that is never closed makes one text of all that follows
        reader = csv.reader(_Lines(lines, reading.limits.record), delimiter=delimiter, strict=True)
        try:
            header = [name.removeprefix("\ufeff").strip() for name in next(reader, [])]
        except csv.Error as error:
            yield 0, _reason(error)
            return
        if not header:
            yield 0, skips.TRUNCATED if source is not None and source.damaged else skips.EMPTY_FILE
            return
        if any(_NUL in name or not _is_text(name) for name in header):
            yield 0, skips.ENCODING
            return
        _check_columns(header, path, reading)
        number = 0
        while True:
            try:
                values = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                yield number, _reason(error)
            else:
                fits = len(values) == len(header)
                if values:
                    yield number, dict(zip(header, values, strict=True)) if fits else skips.BROKEN_ROW
            number += 1
        if source is not None and source.damaged:
            yield number, skips.TRUNCATED


class _Lines:
    """The lines of a CSV file; one that is too long is never in memory as a whole, and is an error of its own."""

    def __init__(self, lines: io.TextIOWrapper, longest: int) -> None:
        self._lines, self._longest = lines, longest

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._lines.readline(self._longest)
        if not line:
            raise StopIteration
        if len(line) == self._longest and line[-1] not in "\r\n":
            while (more := self._lines.readline(self._longest)) and more[-1] not in "\r\n":
                pass
            raise csv.Error(_TOO_LONG)
        return line


_TOO_LONG = "line too long"


def _reason(error: csv.Error) -> str:
    return skips.GIGANTIC if str(error) == _TOO_LONG or "field larger" in str(error) else skips.BROKEN_ROW


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain_chunks(path: Path, advance: Advance) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            advance(len(chunk))
            yield chunk


def _parquet_rows(path: Path, reading: Reading, advance: Advance) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(path)
        _check_columns(file.schema_arrow.names, path, reading)
        wanted = [n for n in file.schema_arrow.names if n in {*TEXT_FIELDS, reading.column, "id", "author"}]
        for group in file.iter_batches(batch_size=_ROWS, columns=wanted):
            advance(path.stat().st_size * group.num_rows // max(file.metadata.num_rows, 1))
            for record in group.to_pylist():
                yield number, record
                number += 1
    except (pa.ArrowException, OSError):
        yield number, skips.TRUNCATED


def _check_columns(header: Sequence[str], path: Path, reading: Reading) -> None:
    if reading.column is not None and reading.column not in header:
        raise HarnessError(
            f"{path}: there is no column {reading.column!r}; it has {', '.join(header)}."
            f"{did_you_mean(reading.column, header)}"
        )
    if reading.column is None and not set(TEXT_FIELDS) & set(header):
        raise HarnessError(
            f"{path}: no column is called {', '.join(TEXT_FIELDS)}; say which holds the text with --column; "
            f"it has {', '.join(header)}."
        )
