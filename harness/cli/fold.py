"""Help texts in the width of the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap

_LABEL = re.compile(r" +\S.*? {2,}(?=\S)")
"""A name with the room before what it means."""

_DEEP = " " * 9
"""What a line begins with that goes on explaining."""


def folded(text: str) -> str:
    """Return a text whose lines fit: prose is filled, what a name means goes on under itself, a command stays whole."""
    whole: list[str] = []
    for line in text.split("\n"):
        above = whole[-1] if whole else ""
        goes_on = line[:1].strip() and above[:1].strip() and not above.endswith(":")
        if goes_on or line.startswith(_DEEP):
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    width = max(shutil.get_terminal_size().columns, 60)
    return "\n".join(_fill(line, width) for line in whole)


def _fill(line: str, width: int) -> str:
    label = _LABEL.match(line)
    if len(line) <= width or (line.startswith(" ") and label is None):
        return line
    under = " " * (label.end() if label else 0)
    return textwrap.fill(line, width, subsequent_indent=under, break_long_words=False, break_on_hyphens=False)
