"""From what people typed to text: markup, links and quotations go, what was written stays.

A whole block of documents is cleaned at once, joined by `SEPARATOR`; no expression reaches across it, so that a
document is cleaned in the same way whatever stands beside it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence

SEPARATOR = "\x00"
"""Stands between documents; the texts themselves never hold it."""

DELETED = frozenset({"[deleted]", "[removed]", "[deleted by user]", "[removed by reddit]", "[ removed by reddit ]"})
"""What stands in the place of a text that its author or a moderator took away."""

_BETWEEN = f"\n{SEPARATOR}\n"
_PARAGRAPH_MARK = "\x01"
_CONTROLS = bytes(32 if (code < 32 and code not in (0, 10)) or code == 127 else code for code in range(256))
"""Every control character is a space, but for the separator and the line break."""

# Each expression begins with a literal character: the engine then leaps from one to the next.
_QUOTE = re.compile(r"\n {0,3}>(?!!)[^\n]*")
_FENCE = re.compile(r"\n(```|~~~)[^\x00]*?\n\1 *(?=\n)")
_RULE = re.compile(r"\n[ :|=*_-]{3,}(?=\n)")
_HEADING = re.compile(r"\n {0,3}#{1,6} *([^\n]*)")
_BULLET = re.compile(r"\n *(?:[-*+]|\d{1,3}[.)]) +")
_TABLE = re.compile(r"\n *\|[^\n]*")
_LINK = re.compile(r"\[([^\[\]\n]{0,1000})\]\((?:[^()\n]|\([^()\n]{0,500}\)){0,500}\)")
_URL = re.compile(r"https?://[^\s\x00<>]+")
_BARE_URL = re.compile(r"www\.[^\s\x00<>]+")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!>~^|])")
_EMPHASIS = re.compile(r"_(?:(?<!\w_)_*+|_*+(?![^\W_]))")  # between letters or digits an underscore stays
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BLANKS = re.compile(r"  +")
_PARAGRAPH = re.compile(r"\n *\n[ \n]*")
_INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff\u00ad"
_WIDE_BLANKS = "".join(map(chr, (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)))


def clean(texts: Sequence[str], *, markdown: bool) -> list[str]:
    """Return each text without markup; paragraphs are separated by one line break, all else by one space.

    Parameters
    ----------
    texts
        Documents as they were read.
    markdown
        Take the markup of Reddit away too: quotations, code, headings, lists, tables, emphasis.
    """
    joined = _BETWEEN.join(text.replace(SEPARATOR, " ") if SEPARATOR in text else text for text in texts)
    joined = _without(joined, "&", _ENTITY, lambda found: html.unescape(found[0]))
    coding = "latin-1"  # a byte a character, nothing to compose: most blocks of English are read the fast way
    if not joined.isascii():
        joined = _without_rare_blanks(joined)
        if not _fits_a_byte(joined):
            joined, coding = unicodedata.normalize("NFC", joined), "utf-8"
    if "\r" in joined:
        joined = joined.replace("\r\n", "\n")
    joined = joined.encode(coding).translate(_CONTROLS).decode(coding)
    if markdown:
        joined = _without_markdown(joined)
    joined = _without(_without(joined, "http", _URL, _nothing), "www.", _BARE_URL, _nothing)
    joined = _without(joined, "_", _EMPHASIS, _nothing)
    if joined.count("\n") > 2 * (len(texts) - 1):
        joined = _PARAGRAPH.sub(_PARAGRAPH_MARK, joined)
    joined = _without(joined.replace("\n", " "), "  ", _BLANKS, lambda _: " ")
    return [_paragraphs(text) for text in joined.split(SEPARATOR)]


def _fits_a_byte(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _nothing(_: re.Match[str]) -> str:
    return ""


def _without(text: str, beginning: str, pattern: re.Pattern[str], instead: Callable[[re.Match[str]], str]) -> str:
    """Replace what a pattern matches where its literal beginning stands: a plain search is faster than the engine's."""
    kept: list[str] = []
    done, at = 0, text.find(beginning)
    while at >= 0:
        found = pattern.match(text, at)
        if found:
            kept += (text[done:at], instead(found))
            done = found.end()
        at = text.find(beginning, max(at + 1, done))
    return "".join((*kept, text[done:])) if kept else text


def _without_rare_blanks(text: str) -> str:
    for characters, instead in ((_INVISIBLE, ""), (_WIDE_BLANKS, " ")):
        for character in characters:
            if character in text:
                text = text.replace(character, instead)
    return text


def _without_markdown(text: str) -> str:
    text = f"\n{text}\n"
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    if ">" in text:
        text = _QUOTE.sub("\n", text).replace(">!", "").replace("!<", "")
    if "|" in text:
        text = _TABLE.sub("\n", text)
    text = _BULLET.sub("\n\n", _RULE.sub("\n", text))
    if "#" in text:
        text = _HEADING.sub(r"\n\n\1\n\n", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text.replace("![", "["))
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    for mark in ("*", "~~", "`", "^"):
        text = text.replace(mark, "")
    return text


def _paragraphs(text: str) -> str:
    if _PARAGRAPH_MARK not in text:
        return text.strip(" ")
    parts = (part.strip(" ") for part in text.split(_PARAGRAPH_MARK))
    return "\n".join(part for part in parts if part)
