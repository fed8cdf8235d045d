"""Where sentences end, found in the bytes of a whole block at once.

A sentence ends at ``.``, ``!``, ``?`` or ``…`` with what closes a quotation, before a space that no lower-case letter
follows; not after an abbreviation or an initial; and always at the end of a paragraph and of a document.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]

PAD = 8
"""Spaces before and after a block, so that a look to either side never leaves it."""

LONGEST = 1000
"""A sentence of more bytes is cut between words: such text is no sentence (lists, pasted data)."""

_SPACE, _LINE, _DOCUMENT, _FULL_STOP = 32, 10, 0, ord(".")
_CLOSING = np.isin(np.arange(256), list(b"\"')]"))
_OPENING = np.isin(np.arange(256), list(b"\"'([$"))
_LOWER = np.isin(np.arange(256), list(b"abcdefghijklmnopqrstuvwxyz"))
_CLOSING_CURLY, _OPENING_CURLY = (0x99, 0x9D), (0x98, 0x9C)

ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        "mr mrs ms mx dr prof st jr sr vs gen col lt capt sgt rev hon gov sen rep pres supt messrs mme mlle fr "
        "e.g i.e cf viz al approx dept est fig vol inc ltd corp jan feb mar apr aug sept oct nov dec u.s u.k",
    )
)


def _tables() -> dict[int, Positions]:
    tables: dict[int, list[int]] = {1: [int.from_bytes(bytes((32, code))) for code in b"abcdefghjklmnopqrstuvwxyz"]}
    for word in sorted(ABBREVIATIONS):
        spaced = re.sub(r"\W", " ", word)
        tables.setdefault(len(word), []).append(int.from_bytes(f" {spaced}".encode()))
    return {size: np.array(codes, dtype=np.int64) for size, codes in tables.items()}


_ABBREVIATED = _tables()


def sentence_ends(raw: Bytes, shadow: Bytes) -> Positions:
    """Return the position of the one byte (a space, a line break, a separator) that follows each sentence.

    Parameters
    ----------
    raw
        The cleaned block with `PAD` spaces on either side.
    shadow
        The same in lower case with a space for whatever is no letter or digit (`harness.corpus.matcher.shadow_of`).
    """
    stops = np.flatnonzero((raw == _FULL_STOP) | (raw == ord("!")) | (raw == ord("?")))
    ellipses = np.flatnonzero(raw == 0xE2)
    ellipses = ellipses[(raw[ellipses + 1] == 0x80) & (raw[ellipses + 2] == 0xA6)] + 2
    stops = np.concatenate((stops, ellipses))
    after = _skip(raw, stops + 1, _CLOSING, _CLOSING_CURLY)
    spaced = raw[after] == _SPACE
    stops, after = stops[spaced], after[spaced]
    begins = _skip(raw, after + 1, _OPENING, _OPENING_CURLY)
    ends = ~_LOWER[raw[begins]] & ~_abbreviated(raw, shadow, stops)
    hard = np.flatnonzero((raw == _LINE) | (raw == _DOCUMENT))
    found = np.sort(np.concatenate((after[ends], hard)))
    last = len(raw) - PAD
    return _with_cuts(raw, np.append(found[: np.searchsorted(found, last)], last))


def _skip(raw: Bytes, at: Positions, plain: NDArray[np.bool_], curly: tuple[int, int]) -> Positions:
    for _ in range(2):
        at = np.minimum(at, len(raw) - PAD)
        code = raw[at]
        typographic = (code == 0xE2) & (raw[at + 1] == 0x80) & np.isin(raw[at + 2], curly)
        at = at + plain[code] + 3 * typographic
    return np.minimum(at, len(raw) - PAD)


def _abbreviated(raw: Bytes, shadow: Bytes, stops: Positions) -> NDArray[np.bool_]:
    dots = raw[stops] == _FULL_STOP
    found = np.zeros(len(stops), dtype=bool)
    word = np.zeros(len(stops), dtype=np.int64)
    for back in range(1, max(_ABBREVIATED) + 2):
        word += shadow[np.maximum(stops - back, 0)].astype(np.int64) << (8 * (back - 1))
        if back - 1 in _ABBREVIATED:
            found |= np.isin(word, _ABBREVIATED[back - 1])
    return np.asarray(found & dots, dtype=bool)


def _with_cuts(raw: Bytes, ends: Positions) -> Positions:
    starts = np.concatenate(([PAD], ends[:-1] + 1))
    long = np.flatnonzero(ends - starts > LONGEST)
    if not len(long):
        return ends
    cuts: list[int] = []
    for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
        spaces = (start + np.flatnonzero(raw[start:end] == _SPACE)).tolist()
        begin, last = start, start
        for space in spaces:
            if space - begin > LONGEST and last > begin:
                cuts.append(last)
                begin = last + 1
            last = space
        if end - begin > LONGEST and last > begin:
            cuts.append(last)
    return np.sort(np.concatenate((ends, np.array(cuts, dtype=np.int64))))
