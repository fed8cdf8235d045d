"""Which subwords are the stimulus: character offsets of the tokenizer against the span of the context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

MARKERS = "▁Ġ"
"""What SentencePiece and byte-level BPE write for the space before a word."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The places of the stimulus' subwords among a text's tokens, and how many of them reach over the span's edge."""

    pieces: tuple[int, ...]
    straddling: int


def bare_markers(vocabulary: Mapping[str, int]) -> frozenset[int]:
    """Return the ids of the pieces that are nothing but a mark of a space."""
    return frozenset(number for piece, number in vocabulary.items() if piece and not piece.strip(MARKERS))


def align(
    text: str,
    start: int,
    end: int,
    *,
    ids: Sequence[int],
    offsets: Sequence[tuple[int, int]],
    bare: Collection[int] = frozenset(),
) -> Alignment:
    """Return the tokens that overlap the characters ``start:end`` of ``text``.

    Byte-level BPE and SentencePiece count the space before a word as part of its first piece, so whitespace is trimmed
    from the offsets. A piece that is empty then (special tokens, spaces) belongs to nothing, and so does a bare mark of
    a space: tokenizers that prepend one give it the offsets of the first letter. A piece that the stimulus shares with
    its neighbours ("rose" in "roses") is kept, because the stimulus has no other vector, and counted.

    Parameters
    ----------
    text, start, end
        The text and the span of the stimulus.
    ids, offsets
        The text's tokens and the characters that each covers, as the tokenizer gives them.
    bare
        The ids of pieces that only mark a space; see `bare_markers`.
    """
    pieces = []
    straddling = 0
    for place, (left, right) in enumerate(offsets):
        if right <= start or left >= end:
            continue
        while left < right and text[left].isspace():
            left += 1
        while left < right and text[right - 1].isspace():
            right -= 1
        if left == right or right <= start or left >= end:
            continue
        if ids[place] in bare and text[left:right].strip(MARKERS):
            continue
        pieces.append(place)
        straddling += left < start or right > end
    return Alignment(tuple(pieces), straddling)


@dataclass(frozen=True, slots=True)
class Window:
    """The half-open range of tokens that the model sees of a text, special tokens at both ends apart."""

    first: int
    stop: int


def window(alignment: Alignment, *, prefix: int, content: int, room: int) -> Window | None:
    """Return which tokens of a long text the model sees: as many as it takes, the stimulus in the middle.

    Parameters
    ----------
    alignment
        Where the stimulus is among all tokens; the window never cuts through it.
    prefix
        Special tokens before the text.
    content
        Tokens of the text.
    room
        Tokens of a text that the model takes.

    Returns
    -------
    Window | None
        None if the stimulus alone is longer than the model takes.
    """
    first, last = alignment.pieces[0], alignment.pieces[-1]
    length = last + 1 - first
    if length > room:
        return None
    begin = first - (room - length) // 2
    begin = max(prefix, min(begin, prefix + content - room))
    return Window(begin, begin + min(room, content))
