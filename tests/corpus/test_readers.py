"""Every format is read; what is broken is skipped, counted and named, and the rest is read all the same."""

from __future__ import annotations

import bz2
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import zstandard
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from harness.corpus import skips
from harness.corpus.build import Settings, merge_corpora
from harness.corpus.desk import Desk
from harness.corpus.manifest import Manifest
from harness.corpus.readers import Reading, batches, file_format, passed_over, source_files
from harness.corpus.skips import Place, Skips
from harness.corpus.streams import Limits
from harness.errors import HarnessError

COMMENTS = [{"id": f"c{n}", "author": "someone", "body": f"I love rose number {n}."} for n in range(50)]
NDJSON = "".join(f"{json.dumps(row)}\n" for row in COMMENTS).encode()
TEXTS = [row["body"] for row in COMMENTS]


def read(path: Path, **options: object) -> tuple[list[str], list[str], Skips]:
    texts: list[str] = []
    ids: list[str] = []
    skipped = Skips()
    for batch in batches(path, Reading(**options)):
        texts += batch.texts
        ids += batch.ids
        skipped.update(batch.skipped)
    return texts, ids, skipped


def long_window(data: bytes) -> bytes:
    """Compress as a stream, and have the frame ask for the window of ``zstd --long=31``, as Pushshift's do."""
    stream = zstandard.ZstdCompressor(level=3, write_content_size=False).compressobj()
    frame = bytearray(stream.compress(data) + stream.flush())
    assert zstandard.get_frame_parameters(bytes(frame)).window_size < 1 << 31
    frame[5] = (31 - 10) << 3  # the descriptor of the window (RFC 8878, 3.1.1.1.2)
    assert zstandard.get_frame_parameters(bytes(frame)).window_size == 1 << 31
    return bytes(frame)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("RC_2019-01.zst", long_window(NDJSON)),
        ("RC_2019-01.bz2", bz2.compress(NDJSON)),
        ("dump.ndjson.gz", gzip.compress(NDJSON)),
        ("two.gz", gzip.compress(NDJSON[:1000]) + gzip.compress(NDJSON[1000:])),
        ("two.zst", long_window(NDJSON[:1000]) + long_window(NDJSON[1000:])),
        ("dump.jsonl", NDJSON),
        ("dump", NDJSON),
    ],
)
@pytest.mark.parametrize("block", [100, 1 << 20])
def test_comments_of_every_compression(name: str, content: bytes, block: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    texts, ids, skipped = read(path, limits=Limits(block=block))
    assert texts == TEXTS
    assert ids == [row["id"] for row in COMMENTS]
    assert not skipped.counts


def test_a_dump_with_a_long_window_is_refused_by_a_reader_of_the_usual_one() -> None:
    with pytest.raises(zstandard.ZstdError, match="memory"):
        zstandard.ZstdDecompressor().decompressobj().decompress(long_window(NDJSON))


def test_submissions_have_a_title_and_a_text(tmp_path: Path) -> None:
    path = tmp_path / "RS.ndjson"
    path.write_text(json.dumps({"title": "A rose", "selftext": "I love it", "id": "x"}) + "\n", encoding="utf-8")
    assert read(path)[0] == ["A rose\n\nI love it"]


def test_csv_and_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"speech": ["A rose,\n\nis", "a “rose”"], "id": ["1", "2"]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.csv.gz", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.csv.gz", "a.tsv", "a.parquet"):
        texts, ids, skipped = read(tmp_path / name, column="speech")
        assert (texts, ids, skipped.counts) == (["A rose,\n\nis", "a “rose”"], ["1", "2"], {})
        with pytest.raises(HarnessError, match="--column"):
            read(tmp_path / name)
        with pytest.raises(HarnessError, match="Did you mean speech"):
            read(tmp_path / name, column="speach")


def test_a_text_file_has_paragraphs_or_a_document_a_line(tmp_path: Path) -> None:
    wrapped, lines = tmp_path / "a.txt", tmp_path / "b.txt"
    wrapped.write_text("one\ntwo\n\n  \nthree\r\n\r\nfour", encoding="utf-8", newline="")
    lines.write_text("one\ntwo\n", encoding="utf-8")
    assert [text.split() for text in read(wrapped)[0]] == [["one", "two"], ["three"], ["four"]]
    assert read(lines)[0] == ["one", "two"]
    assert read(lines, layout="paragraphs")[0] == ["one\ntwo\n"]


@pytest.mark.parametrize("block", [7, 64, 1 << 20])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("packed", [False, True])
def test_parts_of_a_file_are_the_file(block: int, parts: int, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("a.txt.zst" if packed else "a.txt")
    data = "\n\n".join(TEXTS).encode()
    path.write_bytes(long_window(data) if packed else data)
    reading = Reading(limits=Limits(block=block))
    claims = [lambda index, part=part: index % parts == part for part in range(parts)]
    shares = [list(batches(path, reading, claim=claim)) for claim in claims]
    assert sorted(text for share in shares for batch in share for text in batch.texts) == sorted(TEXTS)
    assert all(batch.index % parts == part for part, share in enumerate(shares) for batch in share)


@pytest.mark.parametrize("packed", [False, True])
@examples(max_examples=40, deadline=None)
@given(turns=st.lists(st.integers(0, 2), max_size=60), read=st.sets(st.integers(0, 20)))
def test_readers_that_claim_from_one_desk_read_every_block_once(
    packed: bool, turns: list[int], read: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("claims") / ("a.txt.zst" if packed else "a.txt")
    data = "\n\n".join(TEXTS * 4).encode()
    path.write_bytes(long_window(data) if packed else data)
    reading, free = Reading(limits=Limits(block=16)), [0]
    spans = [(index, index + 1) for index in read]
    desks = [Desk(tmp_path_factory.getbasetemp(), free, slot=slot, whole=False) for slot in range(3)]
    readers = [batches(path, reading, claim=desk.claim(0, spans)) for desk in desks]
    found = [batch for turn in turns if (batch := next(readers[turn], None))]
    found += [batch for reader in readers for batch in reader]
    unread = [batch for batch in batches(path, reading) if batch.index not in read]
    assert sorted((b.index, b.texts) for b in found) == [(b.index, b.texts) for b in unread]


def test_a_truncated_dump_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    import random

    rows = [{"id": str(n), "body": f"rose {random.Random(n).random()}"} for n in range(20_000)]
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    for name, packed in (
        ("a.zst", long_window(data)),
        ("a.gz", gzip.compress(data)),
        ("a.bz2", bz2.compress(data)),
    ):
        path = tmp_path / name
        path.write_bytes(packed[: len(packed) * 2 // 3])
        texts, _, skipped = read(path)
        assert skipped.counts == {skips.TRUNCATED: 1}
        assert 0 < len(texts) < 20_000 or name == "a.bz2"
        assert texts == [row["body"] for row in rows[: len(texts)]]
        assert skipped.places[skips.TRUNCATED][0].file == str(path)


@pytest.mark.parametrize("name", ["a.zst", "a.gz", "a.bz2", "a.csv.gz", "a.parquet"])
def test_a_file_that_is_not_what_its_ending_says(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"this is no archive at all " * 10)
    texts, _, skipped = read(path)
    assert (texts, skipped.counts) == ([], {skips.TRUNCATED: 1})


@pytest.mark.parametrize("name", ["a.zst", "a.gz", "a.bz2", "a.csv.gz", "a.csv"])
def test_a_file_that_holds_nothing_once_it_is_unpacked_is_an_empty_file(name: str, tmp_path: Path) -> None:
    pack = {".zst": long_window, ".gz": gzip.compress, ".bz2": bz2.compress, ".csv": lambda data: data + b"\n"}
    path = tmp_path / name
    path.write_bytes(pack[path.suffix](b""))
    texts, _, skipped = read(path)
    assert (texts, skipped.counts) == ([], {skips.EMPTY_FILE: 1})


def test_broken_lines_are_named_by_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    good = b'{"body": "rose"}\n'
    path.write_bytes(
        good + b'{"body": "ro\n' + good + b'{"body": "\xff\xfe"}\n' + b'"text"\n' + b'{"score": 1}\n' + good
    )
    texts, _, skipped = read(path)
    assert texts == ["rose"] * 3
    assert skipped.counts == {skips.BROKEN_JSON: 1, skips.ENCODING: 1, skips.NO_TEXT: 2}
    assert skipped.places[skips.BROKEN_JSON] == [Place(str(path), len(good))]


def test_half_a_surrogate_and_deep_nesting_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b'{"body": "\\ud83d rose"}\n' + b"[" * 200_000 + b'\n{"body": "rose"}\n')
    texts, _, skipped = read(path)
    assert texts == ["rose"]
    assert skipped.counts == {skips.ENCODING: 1, skips.BROKEN_JSON: 1}


def test_wrong_encoding_skips_the_paragraph_and_the_right_one_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("a rose\n\ncafé rose\n\nlast rose".encode("latin-1"))
    texts, _, skipped = read(path)
    assert [text.strip() for text in texts] == ["a rose", "last rose"]
    assert skipped.places == {skips.ENCODING: [Place(str(path), 8)]}
    assert len(read(path, encoding="latin-1")[0]) == 3


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [5_000, 50_000])
@pytest.mark.parametrize("block", [100, 3_000, 1 << 20])
def test_a_gigantic_line_is_skipped_and_its_neighbours_are_read(
    packed: bool, size: int, block: int, tmp_path: Path
) -> None:
    path = tmp_path / ("a.ndjson.gz" if packed else "a.ndjson")
    good = b'{"body": "rose"}\n'
    data = good * 3 + b'{"body": "' + b"x" * size + b'"}\n' + good * 4
    path.write_bytes(gzip.compress(data) if packed else data)
    texts, _, skipped = read(path, limits=Limits(block=block, record=1_000))
    assert texts == ["rose"] * 7
    assert skipped.counts == {skips.GIGANTIC: 1}
    assert skipped.places[skips.GIGANTIC] == [Place(str(path), 3 * len(good))]


def test_a_gigantic_field_and_a_short_row_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,body\n1,rose\n2," + "x" * 5000 + "\n3\n4,rose\n", encoding="utf-8")
    texts, _, skipped = read(path, limits=Limits(record=1_000))
    assert texts == ["rose", "rose"]
    assert skipped.counts == {skips.GIGANTIC: 1, skips.BROKEN_ROW: 1}


def test_a_csv_line_that_is_too_long_is_passed_over_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,body\n1,rose\n2" + b",x" * 200 + b"\n3," + b"x" * 20_000_000 + b"\r\n4,rose\n5," + b"x" * 300)
    tracemalloc.start()
    texts, _, skipped = read(path, limits=Limits(record=100))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert texts == ["rose", "rose"]
    assert skipped.counts == {skips.GIGANTIC: 3}
    assert [place.at for place in skipped.places[skips.GIGANTIC]] == [1, 2, 4]
    assert most < 8_000_000


def test_a_quotation_mark_that_is_never_closed_is_a_broken_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,body\n1,rose\n2,"rose\n3,rose\n4,rose\n', encoding="utf-8")
    texts, _, skipped = read(path)
    assert texts == ["rose"]
    assert skipped.places == {skips.BROKEN_ROW: [Place(str(path), 1, "row")]}


@pytest.mark.parametrize("header", ["id,body\n1,rose\n".encode("utf-16"), b"\xff\x00\x81,\xfe", b'id,"bo'])
def test_a_csv_whose_header_cannot_be_read_is_skipped_and_the_others_are_read(
    header: bytes, made: Callable[..., Manifest], tmp_path: Path
) -> None:
    broken, whole = tmp_path / "broken.csv", tmp_path / "whole.csv"
    broken.write_bytes(header)
    whole.write_text("id,body\n1,a rose\n", encoding="utf-8")
    manifest = made(broken, whole)
    assert manifest.tally.documents == 1
    assert sum(manifest.tally.skipped.counts.values()) == 1
    assert str(broken) in next(iter(manifest.tally.skipped.sentences()))


def test_text_in_utf_16_is_a_wrong_encoding_in_every_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("rose\n".encode("utf-16-le") * 4)
    texts, _, skipped = read(path)
    assert texts == []
    assert skipped.counts == {skips.ENCODING: 5}


def test_an_empty_file_is_named(made: Callable[..., Manifest], tmp_path: Path) -> None:
    empty, full = tmp_path / "empty.zst", tmp_path / "full.txt"
    empty.write_bytes(b"")
    full.write_text("a rose", encoding="utf-8")
    manifest = made(empty, full)
    assert manifest.tally.documents == 1
    assert list(manifest.tally.skipped.sentences()) == [f"empty file: 1 file skipped ({empty}, byte 0)"]


def test_a_corpus_of_nothing_but_an_empty_file_has_no_context_and_merges(
    made: Callable[..., Manifest], tmp_path: Path
) -> None:
    empty, full = tmp_path / "empty.ndjson", tmp_path / "full.txt"
    empty.write_bytes(b"")
    full.write_text("a rose", encoding="utf-8")
    nothing, something = made(empty, name="nothing"), made(full, name="something")
    assert (sum(nothing.kept), nothing.tally.documents) == (0, 0)
    folder = tmp_path / "corpora"
    both = merge_corpora("both", [folder / "nothing", folder / "something"], folder)
    assert both.digest == something.digest


def test_deleted_texts_and_bots_are_left_out_and_counted(made: Callable[..., Manifest], tmp_path: Path) -> None:
    rows = [
        {"author": "a", "body": "[deleted]"},
        {"author": "b", "body": "[removed]"},
        {"author": "AutoModerator", "body": "a rose"},
        {"author": "c", "title": "rose", "selftext": "[removed]"},
        {"author": "d", "body": "https://example.org"},
    ]
    path = tmp_path / "a.ndjson"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    manifest = made(path, settings=Settings(reading=Reading(bots=frozenset({"automoderator"}))))
    assert manifest.tally.skipped.counts == {skips.DELETED: 2, skips.BOT: 1}
    assert (manifest.tally.documents, manifest.tally.blank, sum(manifest.kept)) == (1, 1, 1)


def test_only_the_first_places_are_named() -> None:
    many = Skips()
    for at in reversed(range(100)):
        many.add(skips.BROKEN_JSON, Place("f", at))
    assert many.counts == {skips.BROKEN_JSON: 100}
    assert [place.at for place in many.places[skips.BROKEN_JSON]] == [0, 1, 2, 3, 4]
    assert Skips.from_json(json.loads(json.dumps(many.as_json()))) == many
    assert next(iter(many.sentences())).endswith("f, byte 4; …)")


def test_sources_are_files_and_folders(tmp_path: Path) -> None:
    for name in ("b.txt", "a.ndjson.gz", "notes.pdf", "sub/RC_1.zst"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in source_files([tmp_path])] == ["a.ndjson.gz", "b.txt", "RC_1.zst"]
    assert [path.name for path in passed_over([tmp_path])] == ["notes.pdf"]
    assert passed_over([tmp_path, tmp_path / "notes.pdf"]) == []
    with pytest.raises(HarnessError, match="no such file"):
        source_files([tmp_path / "absent"])
    assert file_format(tmp_path / "b.txt") == "text"
