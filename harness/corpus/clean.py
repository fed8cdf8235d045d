"""From what people typed to text: markup, links and quotations go, what was written stays.

A whole block of documents is cleaned at once, joined by `SEPARATOR`; no expression reaches across it, so that a
document is cleaned in the same way whatever stands beside it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SEPARATOR = "\x00"
"""Stands between documents; the texts themselves never hold it."""

DELETED = frozenset({"[deleted]", "[removed]", "[deleted by user]", "[removed by reddit]", "[ removed by reddit ]"})
"""What stands in the place of a text that its author or a moderator took away."""

_BETWEEN = f"\n{SEPARATOR}\n"
_PARAGRAPH_MARK = b"\x01"
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
_URL = re.compile(rb"https?://[^\s\x00<>]+")
_BARE_URL = re.compile(rb"www\.[^\s\x00<>]+")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!>~^|])")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PARAGRAPH = re.compile(rb"\n *\n[ \n]*")
_INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff\u00ad"
_HYPHENS = "\u2010\u2011"
_WIDE_BLANKS = "".join(map(chr, (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)))


def clean(texts: Sequence[str], *, markdown: bool) -> list[bytes]:
    """Return each text without markup as UTF-8; paragraphs are separated by one line break, all else by one space.

    Parameters
    ----------
    texts
        Documents as they were read.
    markdown
        Take the markup of Reddit away too: quotations, code, headings, lists, tables, emphasis.
    """
    joined = _BETWEEN.join([text.replace(SEPARATOR, " ") if SEPARATOR in text else text for text in texts])
    if "&" in joined:
        joined = _ENTITY.sub(lambda found: html.unescape(found[0]), joined)
    if not joined.isascii():
        joined = _without_rare_forms(joined)
        if not _fits_a_byte(joined):  # with a byte a character there is nothing to compose
            joined = unicodedata.normalize("NFC", joined)
    if "\r" in joined:
        joined = joined.replace("\r\n", "\n")
    block = joined.encode()
    if _has_controls(block):
        block = block.translate(_CONTROLS)
        joined = block.decode() if markdown else joined
    if markdown:
        block = _without_markdown(joined).encode()
    block = _without_emphasis(_without_links(block))
    if block.count(b"\n") > 2 * (len(texts) - 1):
        block = _PARAGRAPH.sub(_PARAGRAPH_MARK, block)
    return [_paragraphs(text) for text in _squeezed(block.replace(b"\n", b" ")).split(SEPARATOR.encode())]


def _fits_a_byte(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _has_controls(block: bytes) -> bool:
    codes = np.frombuffer(block, dtype=np.uint8)
    kept = np.count_nonzero(codes == 0) + np.count_nonzero(codes == 10)
    return bool(np.count_nonzero(codes < 32) > kept) or b"\x7f" in block


def _again(block: bytes, character: bytes) -> NDArray[np.bool_]:
    """Tell for every byte but the first whether it and the one before it are a certain character."""
    same = np.frombuffer(block, dtype=np.uint8) == ord(character)
    return np.asarray(same[1:] & same[:-1], dtype=bool)


def _squeezed(block: bytes) -> bytes:
    """Return a text with one space for a run of them."""
    again = _again(block, b" ")
    if not again.any():
        return block
    return bytes(np.frombuffer(block, dtype=np.uint8)[np.append(True, ~again)])


def _without_links(block: bytes) -> bytes:
    """Take addresses out; most texts hold none, which two equal letters in a row tell faster than any search."""
    if _again(block, b"/").any():
        block = _without(block, b"http", _URL)
    return _without(block, b"www.", _BARE_URL) if _again(block, b"w").any() else block


def _without(block: bytes, beginning: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """Take out what a pattern matches where its literal beginning stands."""
    spans, at = [], block.find(beginning)
    while at >= 0:
        found = pattern.match(block, at)
        if found:
            spans.append(found.span())
        at = block.find(beginning, found.end() if found else at + 1)
    return _cut(block, spans)


def _without_emphasis(block: bytes) -> bytes:
    """Take underscores out, but for those between letters or digits."""
    spans, at = [], block.find(b"_")
    while at >= 0:
        end = at + 1
        while block[end : end + 1] == b"_":
            end += 1
        before = block[max(at - 4, 0) : at].decode(errors="ignore")[-1:]
        after = block[end : end + 4].decode(errors="ignore")[:1]
        if not (before.isalnum() and after.isalnum()):
            spans.append((at, end))
        at = block.find(b"_", end)
    return _cut(block, spans)


def _cut(block: bytes, spans: list[tuple[int, int]]) -> bytes:
    if not spans:
        return block
    begins = [0, *(end for _, end in spans)]
    ends = [*(begin for begin, _ in spans), len(block)]
    return b"".join([block[begin:end] for begin, end in zip(begins, ends, strict=True)])


def _without_rare_forms(text: str) -> str:
    for characters, instead in ((_INVISIBLE, ""), (_WIDE_BLANKS, " "), (_HYPHENS, "-")):
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


def _paragraphs(text: bytes) -> bytes:
    if _PARAGRAPH_MARK not in text:
        return text.strip(b" ")
    parts = (part.strip(b" ") for part in text.split(_PARAGRAPH_MARK))
    return b"\n".join(part for part in parts if part)
