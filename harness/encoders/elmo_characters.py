"""What ELMo reads: words, and the bytes of each word.

A text is cut into words here, because ELMo takes lists of tokens. The published implementation of s-SEAT passed the
sentence as one string, which the model read as a list of one-letter words (husse2022, appendix D).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.contexts import Context
from harness.errors import HarnessError

TOKENIZER_VERSION = 1
"""Bumped when texts are cut differently: it is part of the model's identity."""

CHARACTERS = 261
"""Rows of the published character table: 256 bytes, begin and end of sentence, begin and end of word, padding."""

PADDING_ROW, BEGIN_ROW, END_ROW, FIRST_WORD_ROW = range(4)
"""Rows of `character_table`."""

_BEGIN_SENTENCE, _END_SENTENCE, _BEGIN_WORD, _END_WORD, _PADDING = range(256, CHARACTERS)

_LETTER = r"[\w\u0300-\u036f]"  # with combining accents, which \w leaves out
_TOKEN = re.compile(
    rf"""
      (?<!{_LETTER})(?:[^\W\d_]\.){{2,}}   # U.S.
    | (?<!{_LETTER})\d+(?:[.,]\d+)+(?!{_LETTER})   # 1,000.5
    | (?<={_LETTER})['’]{_LETTER}+         # don 't, Jamal 's, O 'Brien
    | {_LETTER}+(?:-{_LETTER}+)*           # words; hyphens stay inside: short-term
    | \S                                   # any other sign stands alone
    """,
    re.VERBOSE,
)


class TokenisedContext(NamedTuple):
    """The words of a text; those of the stimulus are ``tokens[first:stop]``."""

    tokens: tuple[str, ...]
    first: int
    stop: int


def tokenise(context: Context) -> TokenisedContext:
    """Cut a text into words, and always at both ends of the stimulus.

    Signs stand alone, a hyphen stays inside its word, what follows an apostrophe is a word of its own (*don 't*): so
    was the 1 Billion Word Benchmark cut, on which ELMo was trained. No character is dropped or changed but white space.
    """
    before = _words(context.text, 0, context.start)
    stimulus = _words(context.text, context.start, context.end)
    after = _words(context.text, context.end, len(context.text))
    if not stimulus:
        raise HarnessError(
            f"The stimulus at {context.start}:{context.end} of {context.text!r} is white space: ELMo needs a word."
        )
    return TokenisedContext((*before, *stimulus, *after), len(before), len(before) + len(stimulus))


def _words(text: str, start: int, end: int) -> list[str]:
    return [match.group() for match in _TOKEN.finditer(text, start, end)]


def character_table(words: Sequence[str], max_characters: int) -> npt.NDArray[np.int64]:
    """Return the character ids that ELMo reads, one row a word, after three rows of its own.

    Those are padding (all zeros), the begin and the end of a sentence. A word is its UTF-8 bytes between the signs for
    begin and end of word, cut to ``max_characters`` and filled up with the padding sign; ids are one higher than the
    rows of the published table, because 0 is kept for masking.
    """
    codes: list[tuple[int, ...]] = [(_BEGIN_SENTENCE,), (_END_SENTENCE,)]
    codes += [tuple(word.encode("utf-8", "ignore")[: max_characters - 2]) for word in words]
    table = np.full((len(codes) + 1, max_characters), _PADDING + 1, dtype=np.int64)
    table[PADDING_ROW] = 0
    for row, code in zip(table[BEGIN_ROW:], codes, strict=True):
        row[: len(code) + 2] = np.array((_BEGIN_WORD, *code, _END_WORD)) + 1
    return table
