"""One block of vectors as a safetensors file: written at once, checked when it is opened, mapped when it is large."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import replacing

SUFFIX = ".safetensors"
TEMPORARY = ".writing-"
"""How the name of a file begins that is not whole yet."""

MAPPED_BYTES = 4_000_000
"""Tensors from this size on are mapped into memory; smaller ones are read, because a map holds a file open."""

_LARGEST_HEADER = 1_000_000
_TYPES: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4"), "U8": np.dtype("u1")}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


class DamagedBlockError(Exception):
    """A file that is not a block, or not the block that was written."""


@dataclass(frozen=True)
class Place:
    """Where one tensor lies in the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Header:
    """What the head of a file says: its tensors, its metadata, and where the data begin."""

    tensors: dict[str, Place]
    metadata: dict[str, str]
    data_start: int


def write_block(path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write tensors to a temporary name and rename it once, with the sha256 of the data in the metadata."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    digest = hashlib.sha256()
    header: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        digest.update(array.data)
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    header["__metadata__"] = {**metadata, "sha256": digest.hexdigest()}
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with replacing(path, prefix=TEMPORARY, binary=True) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays.values():
            file.write(array.data)


def read_header(path: Path) -> Header:
    """Read the head of a block and check that the file is as long as it says; no data are read."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= _LARGEST_HEADER:
                raise DamagedBlockError("its head is not readable")
            entries = json.loads(file.read(length))
            size = os.fstat(file.fileno()).st_size
        metadata = dict(entries.pop("__metadata__"))
        start = 8 + length
        tensors = {
            name: Place(_TYPES[entry["dtype"]], tuple(entry["shape"]), start + entry["data_offsets"][0])
            for name, entry in entries.items()
        }
        end = start + max(entry["data_offsets"][1] for entry in entries.values())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DamagedBlockError("its head is not readable") from None
    if size != end:
        raise DamagedBlockError(f"it has {size} bytes instead of {end}")
    return Header(tensors, metadata, start)


def check_digest(path: Path, header: Header) -> None:
    """Compare the data with the sha256 that was written with them."""
    with path.open("rb") as file:
        file.seek(header.data_start)
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != header.metadata.get("sha256"):
        raise DamagedBlockError("its data are not those that were written")


def read_tensor(path: Path, place: Place) -> NDArray[Any]:
    """Return one tensor, mapped if it is large."""
    count = int(np.prod(place.shape))
    if count * place.dtype.itemsize >= MAPPED_BYTES:
        return np.memmap(path, dtype=place.dtype, mode="r", offset=place.offset, shape=place.shape)
    return np.fromfile(path, dtype=place.dtype, count=count, offset=place.offset).reshape(place.shape)
