"""Markup goes, what people wrote stays, and no document touches another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.corpus.clean import clean


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("I **love** *it* and ~~hate~~ it", "I love it and hate it"),
        ("see [this rose](https://example.org/a_(b)) now", "see this rose now"),
        ("see https://example.org/x?y=1 and www.example.org now", "see and now"),
        ("&gt; quoted by another\n\nmy answer", "my answer"),
        ("> quoted\nstill mine", "still mine"),
        ("&gt;!a secret!&lt;", "a secret"),
        ("Tom &amp; Emily &lt;3 you &#39;all&#39;", "Tom & Emily <3 you 'all'"),
        ("AT&T; and A & B", "AT&T; and A & B"),
        ("# Heading\nbody", "Heading\nbody"),
        ("* one\n* two\n\n1. three", "one\ntwo\nthree"),
        ("a\n\n|x|y|\n|--|--|\n|1|2|\n\nb", "a\nb"),
        ("before\n```\ncode = 1\n```\nafter", "before\nafter"),
        ("snake_case stays, _emphasis_ and __strong__ go", "snake_case stays, emphasis and strong go"),
        ("zero\u200bwidth\u00a0space\ttab", "zerowidth space tab"),
        ("wrapped\nline\r\nand next\n\n\n  paragraph", "wrapped line and next\nparagraph"),
        (r"escaped \_ and \*", "escaped and"),
        ("Cafe\u0301", "Café"),
        ("short\u2010term and all\u2011American", "short-term and all-American"),
        ("a\x00b\x07c", "a b c"),
        ("", ""),
    ],
)
def test_reddit_markup(typed: str, text: str) -> None:
    assert clean([typed], markdown=True) == [text.encode()]


def test_plain_text_keeps_its_asterisks_and_indents() -> None:
    assert clean(["    O rose * thou art _sick_\n    the worm"], markdown=False) == [b"O rose * thou art sick the worm"]


pieces = st.sampled_from(
    ["> q", "\n", "\n\n", "* ", "**", "_", "&gt;", "&", ";", "&amp", "[a](", "b)", "http://x", " ", "```", "\x00", "|"]
)
documents = st.lists(st.lists(st.one_of(pieces, st.text(max_size=8)), max_size=12).map("".join), max_size=6)


@given(documents, st.booleans())
def test_a_document_is_cleaned_alike_alone_and_among_others(texts: list[str], markdown: bool) -> None:
    together = clean(texts, markdown=markdown) if texts else []
    assert together == [clean([text], markdown=markdown)[0] for text in texts]
