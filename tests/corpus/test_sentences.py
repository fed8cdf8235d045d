"""Where sentences end."""

from __future__ import annotations

import numpy as np
import pytest

from harness.corpus.matcher import padded, shadow_of
from harness.corpus.sentences import LONGEST, PAD, sentence_ends


def sentences_of(text: str) -> list[str]:
    block = padded(text.encode())
    raw, shadow = (np.frombuffer(data, np.uint8) for data in (block, shadow_of(block)))
    ends = sentence_ends(raw, shadow)
    starts = [PAD, *(ends[:-1] + 1).tolist()]
    return [block[a:b].decode() for a, b in zip(starts, ends.tolist(), strict=True)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["One.", "Two!", "Three?", "Four"],
        ["He said “Go.”", "She went."],
        ['"Go!" he said.', "(Really.)", "“Yes.”"],
        ["Mr. Smith met Dr. J. Jones.", "Then he left."],
        ["It was I.", "You knew."],
        ["At 3.5 per cent, e.g. Rome fell.", "And so on …", "Well..."],
        ["It fell to the U.S. Senate.", "Ünder it."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences: list[str]) -> None:
    assert sentences_of(" ".join(sentences)) == sentences


def test_paragraphs_and_documents_always_end_a_sentence() -> None:
    assert sentences_of("no stop here\nnor there\x00and a document") == [
        "no stop here",
        "nor there",
        "and a document",
    ]


def test_endless_text_is_cut_between_words_and_nothing_is_lost() -> None:
    text = " ".join(f"word{n}" for n in range(1000))
    pieces = sentences_of(text)
    assert " ".join(pieces) == text
    assert max(map(len, pieces)) <= LONGEST
    assert len(pieces) > 5


def test_one_word_longer_than_any_sentence_stays_whole() -> None:
    assert sentences_of("x" * 3 * LONGEST) == ["x" * 3 * LONGEST]
