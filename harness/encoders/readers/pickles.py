"""Pickles read without running them: only plain values and arrays come out, anything else is refused.

No class named by the file is imported. Arrays are rebuilt from their bytes by the small stand-ins below, so that not
even NumPy's own unpickling code sees the file.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import HarnessError

_PLAIN_KINDS = "fiubUS"


class _RefusedError(Exception):
    """The pickle names something that is neither plain data nor an array."""


class Record:
    """An object of a known class: its attributes, none of its behaviour."""

    def __init__(self, *_: object) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, dict) else {}


class _Dtype:
    """Stands in for ``numpy.dtype``: a code such as f4, and a byte order."""

    def __init__(self, code: str, *_: object) -> None:
        self._dtype = np.dtype(code)
        if self._dtype.kind not in _PLAIN_KINDS:
            raise _RefusedError(f"an array of {code}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">"):
            self._dtype = self._dtype.newbyteorder(state[1])

    @property
    def plain(self) -> np.dtype[Any]:
        return self._dtype


class _Array:
    """Stands in for ``numpy.ndarray`` until the bytes have come."""

    values: npt.NDArray[Any] = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, by_column, data = state
        self.values = _from_bytes(data, dtype, shape, "F" if by_column else "C")


def _from_bytes(data: bytes, dtype: _Dtype, shape: tuple[int, ...], order: Any = "C") -> npt.NDArray[Any]:
    return np.frombuffer(data, dtype=dtype.plain).reshape(shape, order=order)


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _scalar(dtype: _Dtype, data: bytes) -> Any:
    return np.frombuffer(data, dtype=dtype.plain)[0].item()


_ARRAY_PARTS: dict[str, Any] = {
    "_reconstruct": _reconstruct,
    "scalar": _scalar,
    "_frombuffer": _from_bytes,
    "ndarray": _Array,
    "dtype": _Dtype,
}
_GENSIM_RECORDS = {
    "KeyedVectors",
    "Word2VecKeyedVectors",
    "EuclideanKeyedVectors",
    "FastTextKeyedVectors",
    "CompatVocab",
    "Vocab",
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "numpy" and name in _ARRAY_PARTS:
            return _ARRAY_PARTS[name]
        if module.startswith("gensim.models.") and name in _GENSIM_RECORDS:
            return Record
        raise _RefusedError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _RefusedError(f"a persistent object {pid!r}")


def load_plain(path: Path) -> Any:
    """Return what a pickle holds: lists, mappings, texts, numbers, arrays, and gensim's vectors as `Record`."""
    try:
        with path.open("rb") as file:
            value = _PlainUnpickler(file, encoding="utf-8").load()
    except _RefusedError as error:
        raise HarnessError(
            f"{path}: the pickle asks for {error}, which is not a plain value; such a file could run code and is not "
            "opened. Save the vectors as text, word2vec, numpy or safetensors (of a gensim model, save its .wv)."
        ) from None
    except Exception as error:  # a damaged pickle raises whatever its broken opcodes lead to
        raise HarnessError(f"{path}: not a readable pickle ({error}); it is damaged or of another format.") from None
    return value.values if isinstance(value, _Array) else value


def array_of(value: Any) -> npt.NDArray[Any] | None:
    """Return the array that a loaded value stands for, or None."""
    if isinstance(value, _Array):
        return value.values
    return value if isinstance(value, np.ndarray) else None
