"""gensim's native format (``KeyedVectors.save``): a pickle, and beside it ``.vectors.npy`` when it is large."""

from __future__ import annotations

from pathlib import Path

from harness.encoders.readers.arrays import map_npy, table_of
from harness.encoders.readers.entries import Table
from harness.encoders.readers.pickles import Record, array_of, load_plain
from harness.errors import HarnessError


def beside(path: Path) -> Path:
    """Return where gensim keeps a large matrix."""
    return path.with_name(path.name + ".vectors.npy")


def read_gensim(path: Path) -> Table:
    """Read saved KeyedVectors of gensim 1 to 4 without importing gensim."""
    record = load_plain(path)
    if not isinstance(record, Record):
        raise HarnessError(f"{path}: the pickle holds no gensim KeyedVectors; save a model's .wv.")
    state = record.state
    words = state.get("index_to_key") or state.get("index2word") or state.get("index2entity") or []
    matrix = array_of(state.get("vectors", state.get("syn0")))
    if matrix is None:
        if not beside(path).is_file():
            raise HarnessError(f"{path}: its matrix belongs beside it as {beside(path).name}, which is not there.")
        matrix = map_npy(beside(path))
    return table_of(path, [str(word) for word in words], matrix)
