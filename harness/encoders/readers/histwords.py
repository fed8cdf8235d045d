"""HistWords (Hamilton et al. 2016): a decade's ``-w.npy`` and the list of its words in ``-vocab.pkl``."""

from __future__ import annotations

from pathlib import Path

from harness.encoders.readers.arrays import map_npy, table_of
from harness.encoders.readers.entries import Table
from harness.encoders.readers.pickles import load_plain
from harness.errors import HarnessError

_MATRIX = "-w.npy"


def vocabulary_of(path: Path) -> Path:
    """Return the vocabulary of a decade's matrix."""
    return path.with_name(path.name.removesuffix(_MATRIX) + "-vocab.pkl")


def is_decade(path: Path) -> bool:
    """Return whether this is the matrix of a decade with its vocabulary beside it."""
    return path.name.endswith(_MATRIX) and vocabulary_of(path).is_file()


def read_histwords(path: Path) -> Table:
    """Read one decade; a word without data in that decade has a row of zeros."""
    if not path.name.endswith(_MATRIX):
        raise HarnessError(f"{path}: a decade's matrix is named like 1990{_MATRIX}.")
    vocabulary = vocabulary_of(path)
    if not vocabulary.is_file():
        raise HarnessError(f"{path}: its vocabulary {vocabulary.name} is not beside it.")
    words = load_plain(vocabulary)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise HarnessError(f"{vocabulary}: a list of words is needed.")
    return table_of(path, words, map_npy(path))
