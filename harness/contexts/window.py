"""A window of words around a stimulus: as many on the left as on the right, the stimulus counted as one."""

from __future__ import annotations

import re

from harness.contexts.context import Context

_WORD = re.compile(r"\S*\w\S*")
"""What stands between blanks and has a letter or a digit: a lone dash is no word."""


def words_between(text: str, first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Return how many words stand between two spans of a text, the first of which comes first.

    What is written onto a span without a blank is part of it; 0: they stand side by side.

    Examples
    --------
    >>> words_between("The rose, they say - and I do too - is lovely.", (4, 8), (39, 45))
    7
    """
    begin, finish = first[1], second[0]
    while begin < finish and not text[begin].isspace():
        begin += 1
    while finish > begin and not text[finish - 1].isspace():
        finish -= 1
    return sum(1 for _ in _WORD.finditer(text, begin, finish))


def windowed(context: Context, *, words: int) -> Context:
    """Return the stimulus with up to ``words`` words on each side of it, or the whole text for 0.

    A phrase is one word however long, and what is written onto the stimulus without a blank (a quotation mark, *'s*)
    is part of it. Published code took four words on the left and three on the right; here both sides have the same.

    Examples
    --------
    >>> windowed(Context("one two three four five rose six seven eight nine ten", 24, 28), words=2).text
    'four five rose six seven'
    """
    if words == 0:
        return context
    text, begin, finish = context.text, context.start, context.end
    while begin > 0 and not text[begin - 1].isspace():
        begin -= 1
    while finish < len(text) and not text[finish].isspace():
        finish += 1
    left = [found.start() for found in _WORD.finditer(text, 0, begin)][-words:]
    right = [found.end() for found, _ in zip(_WORD.finditer(text, finish), range(words), strict=False)]
    first, last = (left[0] if left else begin), (right[-1] if right else finish)
    return Context(text[first:last], context.start - first, context.end - first)
