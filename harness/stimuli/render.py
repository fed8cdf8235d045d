"""Fill the slots of one template and keep the place of each filler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from harness.stimuli import grammar

Article = Literal["agree", "fixed"]

_SLOT = re.compile(r"\{(?:(?P<form>a|plural) )?(?P<name>[a-z]+)\}")


class Slot(NamedTuple):
    """A place in a template: ``{word}``, ``{a word}`` (with its article) or ``{plural word}``."""

    form: str | None
    name: str


class Rendered(NamedTuple):
    """A filled template and the span of each slot; an article is never part of a span."""

    text: str
    spans: dict[str, tuple[int, int]]


def slots(template: str) -> list[Slot]:
    """Return the slots of a template in their order; a brace that belongs to no slot raises ValueError."""
    if re.search(r"[{}]", _SLOT.sub("", template)):
        raise ValueError(
            f"{template!r} has a brace that is no slot; slots look like {{word}}, {{a word}}, {{plural word}}"
        )
    return [Slot(match["form"], match["name"]) for match in _SLOT.finditer(template)]


def render(template: str, values: Mapping[str, str], *, article: Article = "agree") -> Rendered:
    """Fill a template.

    Parameters
    ----------
    template
        Text with slots.
    values
        The filler of each slot. Fillers go in as they are: braces in them mean nothing.
    article
        ``agree`` writes *a* or *an* by sound, ``fixed`` always *a*.

    Examples
    --------
    >>> render("This is {a word}.", {"word": "ant"})
    Rendered(text='This is an ant.', spans={'word': (11, 14)})
    """
    text = ""
    spans: dict[str, tuple[int, int]] = {}
    end = 0
    for match in _SLOT.finditer(template):
        text += template[end : match.start()]
        filler = values[match["name"]]
        if match["form"] == "a":
            text += f"{grammar.article(filler) if article == 'agree' else 'a'} "
        elif match["form"] == "plural":
            filler = grammar.plural(filler)
        spans[match["name"]] = (len(text), len(text) + len(filler))
        text += filler
        end = match.end()
    return Rendered(text + template[end:], spans)
