"""Checks shared by the public functions: they turn a bad array into a sentence."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import EmptySetError, NotFiniteError, OptionError, ShapeError

FloatArray = NDArray[np.float64]

# Values that differ by less than this share of their size differ by rounding alone.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


def culprit(name: str, index: int, labels: Sequence[Any] | None) -> str:
    """Name one member of a set: by its label where labels are given, else by its index."""
    return f"{name}[{index}]" if labels is None else f"{name}[{index}] ({labels[index]!r})"


def finite_array(
    values: ArrayLike, *, name: str, ndims: tuple[int, ...], labels: Sequence[Any] | None = None
) -> FloatArray:
    """Return ``values`` as float64 after checking axes, emptiness and finiteness."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} is not a rectangular array of numbers: {error}.") from error
    if array.ndim not in ndims:
        wanted = " or ".join(map(str, ndims))
        raise ShapeError(f"{name} has {array.ndim} axes (shape {array.shape}); it needs {wanted}.")
    if array.size == 0:
        raise EmptySetError(f"{name} is empty (shape {array.shape}); it needs at least one value.")
    if labels is not None and len(labels) != array.shape[0]:
        raise ShapeError(f"{name} has {array.shape[0]} rows but {len(labels)} labels.")
    finite = np.isfinite(array)
    if not finite.all():
        first = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = culprit(name, first[0], labels)
        place = f" at {list(first[1:])}" if len(first) > 1 else ""
        raise NotFiniteError(f"{where} holds {array[first]}{place}; every value must be finite.")
    return array


def one_of(value: str, choices: Iterable[str], *, name: str) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    known = list(choices)
    if value not in known:
        raise OptionError(f"{name}={value!r} is not known; choose one of {', '.join(known)}.")
