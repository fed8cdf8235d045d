"""One small vocabulary written in every format that the readers know."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from safetensors.numpy import save_file

from harness.assets import fetch, locate
from harness.errors import HarnessError

WORDS = ("rose", "Rose", "fried_chicken", "naïve", "short", "term", "wasp", "nothing")
DIM = 5


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Put a package asset into the cache; skip where it is not there and the package index does not answer at once."""

    def fetched(name: str) -> str:
        if locate(name) is None:
            for setting, value in (("PIP_RETRIES", "0"), ("PIP_DEFAULT_TIMEOUT", "5")):
                monkeypatch.setenv(setting, value)
            try:
                fetch(name)
            except HarnessError as error:
                pytest.skip(f"{name} is not in the cache and could not be fetched: {error}")
        return name

    return fetched


@pytest.fixture
def matrix() -> np.ndarray:
    values = np.random.default_rng(7).normal(size=(len(WORDS), DIM)).round(4).astype(np.float32)
    values[WORDS.index("nothing")] = 0
    return values


def text_lines(words: tuple[str, ...], matrix: np.ndarray) -> list[str]:
    return [f"{word} {' '.join(f'{value:.4f}' for value in row)}" for word, row in zip(words, matrix, strict=True)]


def write_glove(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "glove.txt"
    path.write_text("\n".join(text_lines(WORDS, matrix)) + "\n", encoding="utf-8")
    return path


def write_word2vec_text(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "w2v.txt"
    lines = [f"{len(WORDS)} {DIM}", *text_lines(WORDS, matrix)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_fasttext(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "crawl.vec"
    lines = [f"{len(WORDS)} {DIM}", *(line + " " for line in text_lines(WORDS, matrix))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_gzip(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "glove.txt.gz"
    path.write_bytes(gzip.compress(write_glove(folder, matrix).read_bytes()))
    return path


def keyed_vectors(matrix: np.ndarray) -> KeyedVectors:
    vectors = KeyedVectors(DIM)
    vectors.add_vectors(list(WORDS), matrix)
    return vectors


def write_binary(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "w2v.bin"
    keyed_vectors(matrix).save_word2vec_format(str(path), binary=True)
    return path


def write_binary_with_newlines(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "original.bin"
    rows = [word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, matrix, strict=True)]
    path.write_bytes(f"{len(WORDS)} {DIM}\n".encode() + b"".join(rows))
    return path


def write_binary_gzip(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "w2v.bin.gz"
    path.write_bytes(gzip.compress(write_binary(folder, matrix).read_bytes()))
    return path


def write_gensim(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "vectors.kv"
    keyed_vectors(matrix).save(str(path))
    return path


def write_gensim_apart(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "large.kv"
    keyed_vectors(matrix).save(str(path), separately=["vectors"])
    return path


def write_numpy(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "vectors.npy"
    np.save(path, matrix)
    (folder / "vectors.vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


def write_npz(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "vectors.npz"
    np.savez(path, words=np.array(WORDS), vectors=matrix)
    return path


def write_safetensors(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "mine.safetensors"
    save_file({"embedding": matrix}, path)
    (folder / "mine.json").write_text(json.dumps({word: i for i, word in enumerate(WORDS)}), encoding="utf-8")
    return path


def write_safetensors_with_words(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "whole.safetensors"
    save_file({"vectors": matrix}, path, {"words": json.dumps(WORDS)})
    return path


def write_histwords(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "1990-w.npy"
    np.save(path, matrix)
    (folder / "1990-vocab.pkl").write_bytes(pickle.dumps(list(WORDS), protocol=2))
    return path


def write_wink(folder: Path, matrix: np.ndarray) -> Path:
    path = folder / "wink.json"
    vectors = {
        word: [*(round(float(v), 4) for v in row), 1.5, i]
        for i, (word, row) in enumerate(zip(WORDS, matrix, strict=True))
    }
    content = {"precision": 8, "dimensions": DIM, "words": WORDS, "vectors": vectors, "unkVector": [0.0] * (DIM + 2)}
    path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")
    return path


WRITERS: dict[str, Callable[[Path, np.ndarray], Path]] = {
    name.removeprefix("write_"): writer for name, writer in list(globals().items()) if name.startswith("write_")
}
