"""Where sentences end, found in the bytes of a whole block at once.

A sentence ends at ``.``, ``!``, ``?`` or ``…`` with what closes a quotation, before a space that no lower-case letter
follows; not after an abbreviation or an initial; and always at the end of a paragraph and of a document.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]

PAD = 8
"""Spaces before and after a block, so that a look to either side never leaves it."""

LONGEST = 1000
"""A sentence of more bytes is cut between words: such text is no sentence (lists, pasted data)."""

_SPACE, _LINE, _DOCUMENT, _FULL_STOP, _TYPOGRAPHIC = 32, 10, 0, ord("."), 0xE2
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
    return {size: np.array(sorted(codes), dtype=np.int64) for size, codes in tables.items()}


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
    typographic = np.flatnonzero(raw == _TYPOGRAPHIC)
    if len(typographic):
        ellipses = typographic[(raw[typographic + 1] == 0x80) & (raw[typographic + 2] == 0xA6)] + 2
        stops = np.sort(np.concatenate((stops, ellipses)), kind="stable")
    curly = len(typographic) > 0
    after = _skip(raw, stops + 1, _CLOSING, _CLOSING_CURLY if curly else None)
    spaced = raw[after] == _SPACE
    stops, after = stops[spaced], after[spaced]
    ends = ~_LOWER[raw[_skip(raw, after + 1, _OPENING, _OPENING_CURLY if curly else None)]]
    stops, after = stops[ends], after[ends]
    after = after[~_abbreviated(raw, shadow, stops)]
    hard = np.flatnonzero((raw == _LINE) | (raw == _DOCUMENT))
    found = np.sort(np.concatenate((after, hard)), kind="stable")
    last = len(raw) - PAD
    return _with_cuts(raw, np.append(found[: np.searchsorted(found, last)], last))


def _skip(raw: Bytes, at: Positions, plain: NDArray[np.bool_], curly: tuple[int, int] | None) -> Positions:
    """Return the places behind at most two characters that open or close a quotation."""
    last = len(raw) - PAD
    for _ in range(2):
        at = np.minimum(at, last)
        code = raw[at]
        if curly:
            wide = (code == _TYPOGRAPHIC) & (raw[at + 1] == 0x80) & np.isin(raw[at + 2], curly)
            at = at + 3 * wide
        at = at + plain[code]
    return np.minimum(at, last)


def _abbreviated(raw: Bytes, shadow: Bytes, stops: Positions) -> NDArray[np.bool_]:
    """Tell which full stops end an abbreviation or an initial: the eight bytes before each are read as one number."""
    words = sliding_window_view(shadow, PAD)[stops - PAD].view(">i8")[:, 0].astype(np.int64)
    found = np.zeros(len(stops), dtype=bool)
    for size, known in _ABBREVIATED.items():
        at = np.flatnonzero((words >> (8 * size)) & 0xFF == _SPACE)
        near = words[at] & ((1 << (8 * size + 8)) - 1)
        found[at] |= known[np.minimum(np.searchsorted(known, near), len(known) - 1)] == near
    return np.asarray(found & (raw[stops] == _FULL_STOP), dtype=bool)


def _with_cuts(raw: Bytes, ends: Positions) -> Positions:
    starts = np.concatenate(([PAD], ends[:-1] + 1))
    long = np.flatnonzero(ends - starts > LONGEST)
    if not len(long):
        return ends
    cuts: list[int] = []
    for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
        spaces = (start + np.flatnonzero(raw[start:end] == _SPACE)).tolist()
        begin = start
        while end - begin > LONGEST:
            at = bisect_right(spaces, begin + LONGEST) - 1
            if at < 0 or spaces[at] <= begin:
                at += 1  # a word longer than that stays whole
            if at >= len(spaces):
                break
            cuts.append(spaces[at])
            begin = spaces[at] + 1
    return np.sort(np.concatenate((ends, np.array(cuts, dtype=np.int64))))
