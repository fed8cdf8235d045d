"""A matrix in one file and its vocabulary in another (or inside): NumPy and safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.encoders.readers.entries import Table
from harness.errors import HarnessError

_SUFFIXES = (".json", ".txt", ".vocab", ".vocab.txt", ".vocab.json", "-vocab.txt", "-vocab.json")


def table_of(path: Path, words: list[str], matrix: Any) -> Table:
    """Join a vocabulary and a matrix, which must agree."""
    shape = tuple(getattr(matrix, "shape", None) or matrix.get_shape())
    if len(shape) != 2:
        raise HarnessError(f"{path}: a matrix of words × dimensions is needed, this one has the shape {shape}.")
    if shape[0] != len(words):
        raise HarnessError(
            f"{path}: {shape[0]:,} rows but {len(words):,} words in its vocabulary: they do not belong together."
        )
    return Table(path, words, matrix, int(shape[1]))


def map_npy(path: Path) -> npt.NDArray[Any]:
    """Map a ``.npy`` file; one that holds objects or is cut short is refused."""
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise HarnessError(f"{path}: not a readable array of numbers ({error}).") from None
    if array.dtype.kind not in "fiu":
        raise HarnessError(f"{path}: an array of numbers is needed, this one holds {array.dtype}.")
    return array


def vocabulary_beside(path: Path) -> Path | None:
    """Return the file beside a matrix that holds its words, in order; None for ``.npz``, which holds them itself."""
    if path.suffix == ".npz":
        return None
    named = [path.with_name(path.stem + suffix) for suffix in _SUFFIXES]
    return next((p for p in [*named, path.with_name("vocab.txt"), path.with_name("vocab.json")] if p.is_file()), None)


def _vocabulary(path: Path) -> list[str]:
    file = vocabulary_beside(path)
    if file is None:
        raise HarnessError(
            f"{path}: its vocabulary was not found; put the words in {path.stem}.vocab.txt beside it, one a line."
        )
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise HarnessError(f"{file}, line {line}: not UTF-8; save the file as UTF-8.") from None
    return _words_in_json(file, text) if file.suffix == ".json" else text.removesuffix("\n").split("\n")


def _words_in_json(origin: Path, text: str) -> list[str]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise HarnessError(f"{origin}: not valid JSON ({error}).") from None
    if isinstance(data, dict) and isinstance(data.get("words"), list):
        data = data["words"]
    if isinstance(data, dict) and all(isinstance(place, int) for place in data.values()):
        data = sorted(data, key=lambda word: data[word])
    if not isinstance(data, list) or not all(isinstance(word, str) for word in data):
        raise HarnessError(f"{origin}: a list of words is needed, or a mapping of words to rows.")
    return data


def read_numpy(path: Path) -> Table:
    """Read ``.npy`` with a vocabulary beside it, or ``.npz`` with the arrays ``words`` and ``vectors``."""
    if path.suffix != ".npz":
        return table_of(path, _vocabulary(path), map_npy(path))
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if not {"words", "vectors"} <= set(arrays.files):
                raise HarnessError(f"{path}: the arrays words and vectors are needed, it holds {arrays.files}.")
            words, matrix = [str(word) for word in arrays["words"]], arrays["vectors"]
    except (ValueError, OSError, EOFError) as error:
        raise HarnessError(f"{path}: not a readable archive of arrays ({error}).") from None
    return table_of(path, words, matrix)


def read_safetensors(path: Path) -> Table:
    """Read the tensor ``vectors`` (or the only one), its words in the metadata or in a file beside it."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names = list(file.keys())
            name = "vectors" if "vectors" in names else names[0] if len(names) == 1 else None
            if name is None:
                raise HarnessError(f"{path}: a tensor named vectors is needed, it holds {', '.join(names)}.")
            inside = (file.metadata() or {}).get("words")
            words = _words_in_json(path, inside) if inside else _vocabulary(path)
            return table_of(path, words, file.get_slice(name))
    except (SafetensorError, OSError) as error:
        raise HarnessError(f"{path}: not a readable safetensors file ({error}); it may be truncated.") from None
