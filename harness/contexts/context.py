"""A text with the characters of the stimulus in it: nothing is ever found again by searching."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

TARGETS, ATTRIBUTES = ("X", "Y"), ("A", "B")
"""The slots of a test whose words stand together in a sentence."""


@dataclass(frozen=True, slots=True)
class Context:
    """A text and the half-open span of characters that the stimulus takes in it."""

    text: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end <= len(self.text):
            raise ValueError(f"the span {self.start}:{self.end} does not lie in {self.text!r}")

    @property
    def stimulus(self) -> str:
        """Return what the span covers."""
        return self.text[self.start : self.end]

    @property
    def key(self) -> str:
        """What tells this text with its span from every other."""
        return f"{self.start}:{self.end}:{self.text}"


@dataclass(frozen=True, slots=True)
class ImageContext(Context):
    """An image, which is its own context: ``text`` is the word that stands for it, its content is what counts."""

    path: str
    sha256: str

    @property
    def key(self) -> str:
        """The digest of the image's bytes: neither its name nor its place."""
        return f"image:{self.sha256}"


class Contexts(tuple[Context, ...]):
    """The texts of one stimulus in their order, and the digests that stand for them."""

    @cached_property
    def rows(self) -> tuple[bytes, ...]:
        """For each text with its span, 16 bytes that tell it from every other."""
        return tuple(hashlib.sha256(c.key.encode()).digest()[:16] for c in self)

    @cached_property
    def digest(self) -> str:
        """The sha256 of all texts, in their order, with their spans."""
        return hashlib.sha256(b"".join(self.rows)).hexdigest()


@dataclass(frozen=True, slots=True)
class PairContext:
    """A text that holds a target and an attribute, each with its span (LPBS, equations 8 and 9 of husse2022)."""

    text: str
    start: int
    end: int
    attribute_start: int
    attribute_end: int

    def __post_init__(self) -> None:
        target, attribute = self.target, self.attribute
        if target.start < attribute.end and attribute.start < target.end:
            raise ValueError(f"target and attribute overlap in {self.text!r}")

    @property
    def target(self) -> Context:
        """Return the text with the target's span."""
        return Context(self.text, self.start, self.end)

    @property
    def attribute(self) -> Context:
        """Return the text with the attribute's span."""
        return Context(self.text, self.attribute_start, self.attribute_end)
