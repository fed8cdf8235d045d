from __future__ import annotations

import gzip
import hashlib
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from harness.encoders.readers import detect, iterate, parts, read_rows
from harness.encoders.readers.pickles import load_plain
from harness.errors import HarnessError
from harness.progress import silent
from tests.encoders.conftest import DIM, WORDS, WRITERS, text_lines, write_binary, write_glove, write_histwords

EXPECTED_FORMAT = {
    "glove": "text",
    "word2vec_text": "text",
    "fasttext": "fasttext",
    "gzip": "text",
    "binary": "word2vec",
    "binary_with_newlines": "word2vec",
    "binary_gzip": "word2vec",
    "gensim": "gensim",
    "gensim_apart": "gensim",
    "numpy": "numpy",
    "npz": "numpy",
    "safetensors": "safetensors",
    "safetensors_with_words": "safetensors",
    "histwords": "histwords",
    "wink": "wink",
}


def rows_of(path: Path, *wanted: str):
    return read_rows(path, detect(path), set(wanted), hashing=True, progress=silent).rows


@pytest.mark.parametrize("name", EXPECTED_FORMAT)
def test_every_format_is_recognised_and_gives_the_same_rows(name, tmp_path, matrix):
    path = WRITERS[name](tmp_path, matrix)
    assert detect(path) == EXPECTED_FORMAT[name]
    rows = rows_of(path, "wasp", "Rose", "naïve", "absent")
    assert sorted(rows.words) == ["Rose", "naïve", "wasp"]
    expected = matrix[[WORDS.index(word) for word in rows.words]]
    np.testing.assert_array_equal(rows.matrix, expected)
    assert rows.vocabulary_size == len(WORDS)
    assert rows.cased


@pytest.mark.parametrize("name", EXPECTED_FORMAT)
def test_iterate_gives_the_whole_vocabulary_in_batches(name, tmp_path, matrix):
    path = WRITERS[name](tmp_path, matrix)
    batches = list(iterate(path, batch_rows=3))
    assert [len(batch.words) for batch in batches] == [3, 3, 2]
    assert tuple(word for batch in batches for word in batch.words) == WORDS
    np.testing.assert_array_equal(np.concatenate([batch.matrix for batch in batches]), matrix)


def test_every_writer_is_tested():
    assert set(WRITERS) == set(EXPECTED_FORMAT)


@pytest.mark.parametrize("name", ["glove", "gzip", "binary", "wink"])
def test_a_streamed_file_is_read_right_whatever_the_size_of_the_chunks(name, tmp_path, matrix, monkeypatch):
    path = WRITERS[name](tmp_path, matrix)
    for size in (64, 97, 1 << 10):
        monkeypatch.setattr("harness.encoders.readers.stream.ByteStream.read", _reads_of(size))
        np.testing.assert_array_equal(np.concatenate([b.matrix for b in iterate(path)]), matrix)


def _reads_of(most: int):
    def read(self, size: int = most) -> bytes:
        return self._content.read(min(size, most)) or b""

    return read


def test_the_digest_is_that_of_the_bytes_on_disk(tmp_path, matrix):
    for name in ("glove", "gzip", "binary", "wink"):
        path = WRITERS[name](tmp_path, matrix)
        read = read_rows(path, detect(path), {"rose"}, hashing=True, progress=silent)
        assert read.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_number_of_an_unwanted_line_is_parsed(tmp_path, matrix):
    lines = text_lines(WORDS, matrix)
    lines[3] = "other" + " x" * DIM
    path = tmp_path / "g.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert rows_of(path, "wasp").words == ("wasp",)


def test_a_word_with_spaces_as_in_glove_840b_is_one_word(tmp_path, matrix):
    lines = text_lines(WORDS, matrix)
    lines.insert(2, ". . . " + " ".join(["0.5"] * DIM))
    lines.insert(4, "at name@domain.com " + " ".join(["0.25"] * DIM))
    path = tmp_path / "g.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = rows_of(path, "at name@domain.com", "at", ".", "wasp")
    assert rows.words == ("at name@domain.com", "wasp")
    np.testing.assert_array_equal(rows.matrix[0], [0.25] * DIM)


def test_windows_line_ends_and_a_blank_last_line_are_read(tmp_path, matrix):
    path = tmp_path / "g.txt"
    path.write_bytes(("\r\n".join(text_lines(WORDS, matrix)) + "\r\n\r\n").encode())
    np.testing.assert_array_equal(rows_of(path, *WORDS).matrix, matrix)


def test_a_vocabulary_with_only_a_stray_capital_is_lower_case(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("".join(f"word{i} 0.1 0.2\n" for i in range(2000)) + "UNK 0.1 0.2\n")
    assert not rows_of(path, "word1").cased


def broken_text(tmp_path: Path, lines: list[bytes], *, end: bytes = b"\n") -> Path:
    path = tmp_path / "broken.txt"
    path.write_bytes(b"\n".join(lines) + end)
    return path


@pytest.fixture
def lines(matrix) -> list[bytes]:
    return [line.encode() for line in text_lines(WORDS, matrix)]


def complaint(path: Path, *wanted: str) -> str:
    with pytest.raises(HarnessError) as error:
        rows_of(path, *wanted)
    message = str(error.value)
    assert "\n" not in message
    assert str(path) in message or path.parent.name in message
    return message


def test_a_wrong_dimension_is_named_with_its_line(tmp_path, lines):
    for change in (lines[4] + b" 0.5", lines[4].rsplit(b" ", 1)[0]):
        message = complaint(broken_text(tmp_path, [*lines[:4], change, *lines[5:]]), "rose")
        assert "line 5" in message
        assert f"where {DIM} are expected" in message


def test_a_field_that_is_no_number_is_named_with_its_line(tmp_path, lines):
    for field in (b"abc", b"nan", b"1_0x", b""):
        changed = lines[6].rsplit(b" ", 1)[0] + b" " + field + b" "
        path = broken_text(tmp_path, [*lines[:6], changed, *lines[7:]])
        assert "line 7" in complaint(path, "wasp")


def test_a_number_beyond_32_bits_is_named_with_its_line(tmp_path, lines):
    changed = lines[6].rsplit(b" ", 1)[0] + b" -1e200"
    message = complaint(broken_text(tmp_path, [*lines[:6], changed, *lines[7:]]), "wasp")
    assert "line 7" in message
    assert "'-1e200'" in message
    assert "too large for 32 bits" in message


def test_undecodable_bytes_are_named_with_their_line_wherever_they_stand(tmp_path, lines):
    for change in (b"na\xefve" + lines[3][len("naïve".encode()) :], lines[3][:-1] + b"\xff"):
        message = complaint(broken_text(tmp_path, [*lines[:3], change, *lines[4:]]), "rose")
        assert "line 4" in message
        assert "UTF-8" in message


def test_a_wanted_word_that_comes_twice_is_named_with_both_lines(tmp_path, lines):
    message = complaint(broken_text(tmp_path, [*lines, lines[0]]), "rose")
    assert f"line {len(WORDS) + 1}: 'rose' stands on line 1 already" in message


def test_a_file_cut_off_in_the_middle_of_a_line_is_truncated(tmp_path, lines):
    message = complaint(broken_text(tmp_path, lines[:-1], end=b"\nnothing 0.1 0."), "rose")
    assert f"line {len(WORDS)}" in message
    assert "truncated" in message


def test_a_header_that_promises_more_words_shows_a_truncated_file(tmp_path, lines):
    message = complaint(broken_text(tmp_path, [f"99 {DIM}".encode(), *lines]), "rose")
    assert "promises 99 words, the file holds 8" in message


def test_a_blank_line_in_the_middle_is_named(tmp_path, lines):
    assert "line 3" in complaint(broken_text(tmp_path, [*lines[:2], b"", *lines[2:]]), "rose")


def test_an_empty_file_and_a_file_of_one_endless_line_are_sentences(tmp_path):
    assert "holds no vectors" in complaint(broken_text(tmp_path, [], end=b""), "rose")
    assert "line 1" in complaint(broken_text(tmp_path, [b"x" * (9 << 20)], end=b""), "rose")


def test_a_truncated_binary_file_names_the_word(tmp_path, matrix):
    path = write_binary(tmp_path, matrix)
    path.write_bytes(path.read_bytes()[:-7])
    message = complaint(path, "rose")
    assert f"word {len(WORDS)}" in message
    assert "truncated" in message


def test_a_binary_file_without_header_or_with_bad_words_is_a_sentence(tmp_path, matrix):
    path = write_binary(tmp_path, matrix)
    whole = path.read_bytes()
    path.write_bytes(whole.replace("naïve".encode(), b"na\xffeve"))
    assert "word 4" in complaint(path, "rose")
    path.write_bytes(b"nonsense" + whole)
    with pytest.raises(HarnessError, match="begins with the number of words"):
        read_rows(path, "word2vec", {"rose"}, hashing=False, progress=silent)


def test_a_damaged_gzip_file_is_a_sentence(tmp_path, matrix):
    path = tmp_path / "glove.txt.gz"
    whole = gzip.compress(os.urandom(100) + write_glove(tmp_path, matrix).read_bytes())
    path.write_bytes(whole[: len(whole) // 2])
    assert "ends too early" in complaint(path, "rose")


def test_a_matrix_that_does_not_fit_its_vocabulary_is_a_sentence(tmp_path, matrix):
    path = write_histwords(tmp_path, matrix[:-1])
    assert "7 rows but 8 words" in complaint(path, "rose")


def test_a_truncated_matrix_is_a_sentence(tmp_path, matrix):
    path = write_histwords(tmp_path, matrix)
    path.write_bytes(path.read_bytes()[:-9])
    assert "not a readable array" in complaint(path, "rose")


def test_a_matrix_of_objects_is_refused(tmp_path):
    path = tmp_path / "1990-w.npy"
    np.save(path, np.array([[object()]]), allow_pickle=True)
    (tmp_path / "1990-vocab.pkl").write_bytes(pickle.dumps(["rose"]))
    assert "not a readable array" in complaint(path, "rose")


class Evil:
    def __reduce__(self):
        return os.system, ("touch owned",)


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.kv").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(HarnessError, match="could run code and is not opened"):
        load_plain(tmp_path / "evil.kv")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("module", ["builtins\neval", "numpy\nload", "gensim.utils\nunpickle", "numpy.lib.npyio\nload"])
def test_no_function_beyond_the_parts_of_an_array_can_be_named(tmp_path, module):
    path = tmp_path / "x.kv"
    path.write_bytes(f"c{module}\n.".encode())
    with pytest.raises(HarnessError, match="not a plain value"):
        load_plain(path)


def test_a_damaged_pickle_is_a_sentence(tmp_path):
    path = tmp_path / "x.kv"
    path.write_bytes(pickle.dumps(["rose"])[:-4])
    assert "not a readable pickle" in complaint(path, "rose")


def test_a_vocabulary_that_is_not_there_is_asked_for(tmp_path, matrix):
    path = tmp_path / "v.npy"
    np.save(path, matrix)
    assert "v.vocab.txt" in complaint(path, "rose")


def test_a_zip_archive_is_not_mistaken_for_text(tmp_path):
    path = tmp_path / "glove.6B.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "unpack it" in complaint(path, "rose")


def test_the_files_that_determine_vectors_are_all_named(tmp_path, matrix):
    path = WRITERS["gensim_apart"](tmp_path, matrix)
    assert parts(path, "gensim") == (path, path.with_name("large.kv.vectors.npy"))
    decade = write_histwords(tmp_path, matrix)
    assert [p.name for p in parts(decade, "histwords")] == ["1990-w.npy", "1990-vocab.pkl"]
