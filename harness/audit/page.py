"""Pieces of a page that stands alone: sortable tables, figures as data, style and script inline."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

_HERE = Path(__file__).parent

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Link:
    """A text that leads to a file beside the page."""

    text: str
    href: str


Entry = str | int | float | Link | None


def page(title: str, sections: Iterable[tuple[str, str, str]], *, lead: str) -> str:
    """Return a whole page: ``lead``, then sections as (anchor, heading, content)."""
    every = list(sections)
    style, script = (_HERE.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    links = " ".join(f'<a href="#{anchor}">{escape(heading)}</a>' for anchor, heading, _ in every)
    body = "".join(
        f'<section id="{anchor}"><h2>{escape(heading)}</h2>\n{content}\n</section>\n'
        for anchor, heading, content in every
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<style>{style}</style></head>\n<body><main><h1>{escape(title)}</h1>\n{lead}\n"
        f'<nav aria-label="Sections">{links}</nav>\n{body}</main>\n<script>{script}</script></body></html>\n'
    )


def paragraphs(texts: Iterable[str], *, kind: str = "") -> str:
    """Return texts as paragraphs."""
    attribute = f' class="{kind}"' if kind else ""
    return "\n".join(f"<p{attribute}>{escape(text)}</p>" for text in texts)


def figure(svg: Path, *, caption: str, alt: str) -> str:
    """Return a figure with its drawing inside the page; as data, so that ids of several drawings do not meet."""
    data = base64.b64encode(svg.read_bytes()).decode()
    return (
        f'<figure tabindex="0"><img src="data:image/svg+xml;base64,{data}" alt="{escape(alt, quote=True)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[Entry]], *, label: str, kind: str = "") -> str:
    """Return a table whose columns sort by a press of their heading; it scrolls by itself on a narrow screen."""
    every = list(rows)
    heads = "".join(
        f'<th scope="col" aria-sort="none" data-name="{escape(name, quote=True)}"'
        f'{_kind_of_column(row[at] for row in every)}><button type="button">{escape(name)}</button></th>'
        for at, name in enumerate(head)
    )
    body = "\n".join(f"<tr>{''.join(map(_entry, row))}</tr>" for row in every)
    return (
        f'<div class="scroll {kind}" tabindex="0" role="region" aria-label="{escape(label, quote=True)}">'
        f'<table class="sortable"><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
    )


def _kind_of_column(column: Iterable[Entry]) -> str:
    """Return the class of a column's heading: above numbers it stands to the right, as they do."""
    known = [value for value in column if value is not None]
    return ' class="n"' if known and all(isinstance(value, int | float) for value in known) else ""


def _entry(value: Entry) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, Link):
        return f'<td><a href="{escape(value.href, quote=True)}">{escape(value.text)}</a></td>'
    if isinstance(value, str):
        return f"<td>{escape(value)}</td>"
    if isinstance(value, int):
        return f'<td class="n" data-v="{value}">{value:,}</td>'
    if not math.isfinite(value):
        return "<td></td>"
    return f'<td class="n" data-v="{value!r}">{_number(value)}</td>'


def _number(value: float) -> str:
    return f"{value:.1e}" if 0 < abs(value) < 0.0005 else f"{value:.3f}"


def image(drawn: Mapping[str, Path], name: str, *, caption: str, alt: str) -> str:
    """Return a figure that was drawn, or nothing."""
    return figure(drawn[name], caption=caption, alt=alt) if name in drawn else ""
