"""All stimuli in one pass, whole stimuli only: *male* is not in *female*, nor *short* in *short-term*.

The automaton (Aho-Corasick, compiled) runs over a *shadow* of the text: letters in lower case, a space for whatever
is no letter or digit, of the same length in bytes. A pattern has a space at either end, so that what it finds is a
whole word at once; hyphens, apostrophes and case are then looked up in the text itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
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
    if block.isascii():
        return shadow
    codes = np.frombuffer(bytearray(shadow), dtype=np.uint8)
    for lead, width, low, high in _SYMBOLS:
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
        form, start, end = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3).T
        start, end = start + 1, end - 1
        raw, letters = np.frombuffer(block, dtype=np.uint8), np.frombuffer(shadow, dtype=np.uint8) != _SPACE
        whole = _whole_left(raw, letters, start) & _whole_right(raw, letters, shadow, end)
        sentence = np.searchsorted(sentence_ends, start)
        whole &= end <= sentence_ends[np.minimum(sentence, len(sentence_ends) - 1)]
        form, start, end, sentence = form[whole], start[whole], end[whole], sentence[whole]
        owners = self._owners[form]
        rows, columns = np.nonzero(owners >= 0)
        pattern, start, end, sentence = owners[rows, columns], start[rows], end[rows], sentence[rows]
        initial = self._initial[pattern]
        keep = (initial == 0) | (initial == raw[start])
        capitals = np.flatnonzero((raw >= ord("A")) & (raw <= ord("Z")))
        inside = np.searchsorted(capitals, end) > np.searchsorted(capitals, start + 1)
        keep &= ~(self._capitalised[pattern] & inside)
        for row in np.flatnonzero(keep & self._inspected[pattern]).tolist():
            place = int(sentence[row])
            begin = int(sentence_ends[place - 1]) + 1 if place else PAD
            keep[row] = self._follows_case(
                int(pattern[row]), block, shadow, int(start[row]), int(end[row]), begin, int(sentence_ends[place])
            )
        pattern, start, end = pattern[keep], start[keep], end[keep]
        order = np.argsort(
            start, kind="stable"
        )  # the automaton gives them by their end: already ordered but for phrases
        return Hits(pattern[order], start[order], end[order])

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


def _whole_left(raw: Bytes, letters: NDArray[np.bool_], start: Positions) -> NDArray[np.bool_]:
    """Tell which stimuli are not the end of a longer word, an address or an account's name."""
    before, inner = raw[start - 1], letters[start - 2]
    joined = np.isin(before, list(b"-'.")) & inner
    curly = (before == 0x99) & (raw[start - 2] == 0x80) & (raw[start - 3] == 0xE2) & letters[start - 4]
    account = (before == ord("/")) & np.isin(raw[start - 2], list(b"urUR")) & ~letters[start - 3]
    return np.asarray(~(joined | curly | account | np.isin(before, list(b"@_"))), dtype=bool)


def _whole_right(raw: Bytes, letters: NDArray[np.bool_], shadow: bytes, end: Positions) -> NDArray[np.bool_]:
    """Tell which stimuli are not the beginning of a longer word; *'s* and its kind may follow, *n't* may not."""
    after = raw[end]
    joined = np.isin(after, list(b"-.")) & letters[end + 1]
    curly = (after == 0xE2) & (raw[end + 1] == 0x80) & (raw[end + 2] == 0x99)
    tail = end + np.where(curly, 3, 1)
    contracted = ((after == ord("'")) | curly) & letters[tail]
    whole = ~(joined | np.isin(after, list(b"@_")))
    codes = np.frombuffer(shadow, dtype=np.uint8)
    at = np.flatnonzero(contracted)
    allowed = np.zeros(len(at), dtype=bool)
    for ending in _ENDINGS:
        fits = ~letters[tail[at] + len(ending)]
        for offset, code in enumerate(ending.encode()):
            fits &= codes[tail[at] + offset] == code
        allowed |= fits
    whole[at] &= allowed
    return whole
