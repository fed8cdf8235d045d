"""All stimuli in one pass, whole stimuli only: *male* is not in *female*, nor *short* in *short-term*.

The automaton (Aho-Corasick, compiled) runs over a *shadow* of the text: letters in lower case, a space for whatever
is no letter or digit, of the same length in bytes. A pattern has a space at either end, so that what it finds is a
whole word at once; hyphens, apostrophes and case are then looked up in the text itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.corpus.needs import need
from harness.corpus.patterns import Pattern
from harness.corpus.sentences import PAD, Bytes, Positions

_SPACE = 32
_SHADOW = bytes(
    code | 0x20 if chr(code).isupper() and code < 128 else code if code >= 128 or chr(code).isalnum() else _SPACE
    for code in range(256)
)
_LATIN_LETTERS = (0xAA, 0xB5, 0xBA)
_SYMBOLS = (
    (0xC2, 2, 0x80, 0xBF),
    (0xE2, 3, 0x80, 0xAF),
    (0xE3, 3, 0x80, 0x80),
    (0xEF, 3, 0xB8, 0xB8),
    (0xF0, 4, 0x9F, 0x9F),
)
"""Punctuation, symbols and pictures in UTF-8: the first byte, how many there are, and the range of the second."""
_ENDINGS = ("s", "d", "m", "ll", "re", "ve")
_TITLE_SHARE = 0.7
_NOT_SMALL = bytes(code for code in range(256) if not 97 <= code <= 122)
_NOT_CAPITAL = bytes(code for code in range(256) if not 65 <= code <= 90)


def _among(characters: bytes) -> NDArray[np.bool_]:
    return np.isin(np.arange(256), list(characters))


_CAPITAL = _among(bytes(range(65, 91)))
_JOINS_LEFT, _JOINS_RIGHT, _ADDRESS, _SUBREDDIT = _among(b"-'."), _among(b"-."), _among(b"@_"), _among(b"urUR")
_SUSPECT = _among(b"-'.@_/\xe2\x99")
"""Beside anything else a stimulus is whole."""


class Hits(NamedTuple):
    """Where stimuli stand: the pattern's number, and the bytes from ``start`` to ``end``, in order of place."""

    pattern: Positions
    start: Positions
    end: Positions


def padded(data: bytes) -> bytes:
    """Return a block with spaces on either side."""
    return b"".join((b" " * PAD, data, b" " * PAD))


def shadow_of(block: bytes) -> bytes:
    """Return a text of the same length in lower case (ASCII), with a space for whatever is no letter or digit."""
    shadow = block.translate(_SHADOW)
    present = [symbol for symbol in _SYMBOLS if bytes(symbol[:1]) in block]
    if not present:
        return shadow
    codes = np.frombuffer(bytearray(shadow), dtype=np.uint8)
    for lead, width, low, high in present:
        at = np.flatnonzero(codes == lead)
        second = codes[at + 1]
        _blank(codes, at[(second >= low) & (second <= high) & ~np.isin(second, _LATIN_LETTERS)], width)
    return codes.tobytes()


def _blank(codes: Bytes, at: Positions, width: int) -> None:
    for offset in range(width):
        codes[at + offset] = _SPACE


class Matcher:
    """Finds the stimuli of all patterns in a block of cleaned text."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        automaton = need("ahocorasick_rs")
        self.patterns = tuple(patterns)
        owners: dict[bytes, list[int]] = {}
        for number, pattern in enumerate(self.patterns):
            for form in pattern.forms:
                owners.setdefault(b" " + form.encode().translate(_SHADOW) + b" ", []).append(number)
        most = max(map(len, owners.values()), default=1)
        self._owners = np.array([[*own, *[-1] * (most - len(own))] for own in owners.values()], dtype=np.int64)
        self._lengths = np.array([len(form) for form in owners], dtype=np.int64)
        self._search = automaton.BytesAhoCorasick(list(owners), implementation=automaton.Implementation.DFA)
        self._capitalised = np.array([_is_capitalised(p) for p in self.patterns], dtype=bool)
        self._inspected = np.array([_needs_a_look(p) for p in self.patterns], dtype=bool)
        self._forms = [frozenset(pattern.forms) for pattern in self.patterns]
        self._initial = np.array([p.key.encode()[0] if p.cased else 0 for p in self.patterns], dtype=np.uint8)

    def find(self, block: bytes, shadow: bytes, sentence_ends: Positions) -> Hits:
        """Return every whole stimulus of a padded block.

        Parameters
        ----------
        block, shadow
            The text and its shadow, padded.
        sentence_ends
            See `harness.corpus.sentences.sentence_ends`; no stimulus reaches over one.
        """
        found = self._search.find_matches_as_indexes(shadow, overlapping=True)
        if not found:
            nothing = np.zeros(0, dtype=np.int64)
            return Hits(nothing, nothing, nothing)
        form, end = (np.fromiter(map(itemgetter(at), found), np.int64, len(found)) for at in (0, 2))
        start = end - self._lengths[form]
        order = np.argsort(start, kind="stable")  # given by their end: already ordered but for phrases
        form, start, end = form[order], start[order] + 1, end[order] - 1
        raw, codes = np.frombuffer(block, dtype=np.uint8), np.frombuffer(shadow, dtype=np.uint8)
        whole = _whole_left(raw, codes, start) & _whole_right(raw, codes, end)
        sentence = counted_before(sentence_ends, start)
        whole &= end <= sentence_ends[np.minimum(sentence, len(sentence_ends) - 1)]
        owners = self._owners[form]
        initial = self._initial[owners]
        fits = (initial == 0) | (initial == raw[start][:, None])
        rows, columns = np.nonzero(fits & (owners >= 0) & whole[:, None])
        pattern, start, end, sentence = owners[rows, columns], start[rows], end[rows], sentence[rows]
        keep = np.ones(len(pattern), dtype=bool)
        names = np.flatnonzero(self._capitalised[pattern])
        keep[names] = ~_capital_inside(raw, start[names], end[names])
        for row in np.flatnonzero(keep & self._inspected[pattern]).tolist():
            place = int(sentence[row])
            begin = int(sentence_ends[place - 1]) + 1 if place else PAD
            keep[row] = self._follows_case(
                int(pattern[row]), block, shadow, int(start[row]), int(end[row]), begin, int(sentence_ends[place])
            )
        return Hits(pattern[keep], start[keep], end[keep])

    def _follows_case(
        self, number: int, block: bytes, shadow: bytes, start: int, end: int, begin: int, finish: int
    ) -> bool:
        pattern = self.patterns[number]
        written = block[start:end].decode(errors="replace").replace("-", " ")
        if not pattern.cased:
            return written.lower() in self._forms[number] and (pattern.twin is None or written != pattern.twin)
        if written not in self._forms[number]:
            return False
        if not pattern.wordlike:
            return True
        return bool(shadow[begin:start].strip()) and not _headline(block[begin:start] + block[end:finish])


def _is_capitalised(pattern: Pattern) -> bool:
    """Tell whether a name is a capital and small letters: its case is then known from the place of the capitals."""
    name = pattern.key
    return pattern.cased and pattern.forms == (name,) and name.isascii() and name.isalpha() and name == name.title()


def _needs_a_look(pattern: Pattern) -> bool:
    if pattern.cased:
        return pattern.wordlike or not _is_capitalised(pattern)
    return pattern.twin is not None or any(not form.isalnum() for form in pattern.forms)


def _headline(others: bytes) -> bool:
    initials = b"".join([word[:1] for word in others.split()])
    small, capital = len(initials.translate(None, _NOT_SMALL)), len(initials.translate(None, _NOT_CAPITAL))
    return small + capital > 1 and capital >= _TITLE_SHARE * (small + capital)


def counted_before(ends: Positions, places: Positions) -> Positions:
    """Return how many of some ordered ends lie before each of some ordered places."""
    bounds = np.searchsorted(places, ends, side="right")
    return np.repeat(np.arange(len(ends) + 1), np.diff(bounds, prepend=0, append=len(places)))


def _capital_inside(raw: Bytes, start: Positions, end: Positions) -> NDArray[np.bool_]:
    found = np.zeros(len(start), dtype=bool)
    for offset in range(1, int((end - start).max(initial=0))):
        at = start + offset
        found |= (at < end) & _CAPITAL[raw[np.minimum(at, end)]]
    return found


def _whole_left(raw: Bytes, codes: Bytes, start: Positions) -> NDArray[np.bool_]:
    """Tell which stimuli are not the end of a longer word, an address or an account's name."""
    whole = np.ones(len(start), dtype=bool)
    at = np.flatnonzero(_SUSPECT[raw[start - 1]])
    start = start[at]
    before, inner = raw[start - 1], codes[start - 2] != _SPACE
    joined = _JOINS_LEFT[before] & inner
    curly = (before == 0x99) & (raw[start - 2] == 0x80) & (raw[start - 3] == 0xE2) & (codes[start - 4] != _SPACE)
    account = (before == ord("/")) & _SUBREDDIT[raw[start - 2]] & (codes[start - 3] == _SPACE)
    whole[at] = ~(joined | curly | account | _ADDRESS[before])
    return whole


def _whole_right(raw: Bytes, codes: Bytes, end: Positions) -> NDArray[np.bool_]:
    """Tell which stimuli are not the beginning of a longer word; *'s* and its kind may follow, *n't* may not."""
    whole = np.ones(len(end), dtype=bool)
    at = np.flatnonzero(_SUSPECT[raw[end]])
    end = end[at]
    after = raw[end]
    joined = _JOINS_RIGHT[after] & (codes[end + 1] != _SPACE)
    curly = (after == 0xE2) & (raw[end + 1] == 0x80) & (raw[end + 2] == 0x99)
    tail = end + np.where(curly, 3, 1)
    contracted = ((after == ord("'")) | curly) & (codes[tail] != _SPACE)
    allowed = np.zeros(len(at), dtype=bool)
    for ending in _ENDINGS:
        fits = codes[tail + len(ending)] == _SPACE
        for offset, code in enumerate(ending.encode()):
            fits &= codes[tail + offset] == code
        allowed |= fits
    whole[at] = ~(joined | _ADDRESS[after]) & (~contracted | allowed)
    return whole
