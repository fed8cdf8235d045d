"""The pieces that overlap a span are the stimulus, for every kind of tokenizer."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

pytest.importorskip("tokenizers")

from tokenizers import Tokenizer, decoders, models, normalizers, trainers

from harness.contexts import Context
from harness.encoders.alignment import Alignment, Window, align, bare_markers, window
from tests.encoders.transformer_tiny import FILLERS, MARKS, STIMULI, byte_level, corpus, unigram, wordpiece


def metaspace_bpe() -> Tokenizer:
    """Llama's first kind: the normaliser itself writes ▁, one stands before every text, nothing is split beforehand."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Replace("▁", " ")
    letters = sorted(set("".join(corpus())))
    trainer = trainers.BpeTrainer(
        vocab_size=len(letters) + 80, special_tokens=["<unk>"], initial_alphabet=[*letters, "▁"], show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "wordpiece uncased": lambda: wordpiece(lowercase=True),
    "wordpiece cased": lambda: wordpiece(lowercase=False),
    "byte-level BPE": byte_level,
    "byte-level BPE with a space before": lambda: byte_level(add_prefix_space=True),
    "unigram": lambda: unigram(single="$A </s>", special=("</s>",)),
    "BPE that writes ▁ itself": metaspace_bpe,
}


def generated_contexts(count: int, *, seed: int) -> list[Context]:
    """Texts in which the stimulus has emoji, punctuation, spaces, letters or itself for neighbours."""
    rng = random.Random(seed)

    def around() -> str:
        parts = rng.choices([*FILLERS, *MARKS, *STIMULI], k=rng.randint(0, 4))
        return rng.choice(("", " ", "  ", "\n")).join(parts)

    found = []
    for _ in range(count):
        stimulus = rng.choice(STIMULI)
        before = around() + rng.choice(("", " ", " ", " (", " “", "😀", " 😀 ", '"', "  ", "\t", "un"))
        after = rng.choice(("", "", ".", ",", "'s", "s", "-like", ")", "😀", " ", "\n")) + around()
        found.append(Context(before + stimulus + after, len(before), len(before) + len(stimulus)))
    return found


def bare_text(text: str) -> str:
    return "".join(text.replace("▁", " ").split())


def surface(tokenizer: Tokenizer, tokens: list[str]) -> str:
    """What pieces say, without the marks of their kind."""
    if isinstance(tokenizer.model, models.WordPiece):
        return "".join(token.removeprefix("##") for token in tokens)
    return bare_text(tokenizer.decoder.decode(tokens))


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_pieces_that_overlap_the_span_are_the_stimulus_under_the_tokenizers_own_normaliser(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    bare = bare_markers(tokenizer.get_vocab())
    contexts = generated_contexts(2_000, seed=len(kind))
    straddled = 0
    for context in contexts:
        encoding = tokenizer.encode(context.text)
        found = align(context.text, context.start, context.end, ids=encoding.ids, offsets=encoding.offsets, bare=bare)
        tokens = [encoding.tokens[place] for place in found.pieces]
        assert not {"", "▁", "Ġ"} & set(tokens), (context, tokens)
        said = surface(tokenizer, tokens)
        normaliser = tokenizer.normalizer
        meant = bare_text(normaliser.normalize_str(context.stimulus) if normaliser else context.stimulus)
        if found.straddling:
            straddled += 1
            assert meant in said, (context, said)
            assert len(said) > len(meant), (context, said)
        else:
            assert said == meant, (context, said)
        neighbours = context.text[: context.start][-1:] + context.text[context.end :][:1]
        if not any(character.isalnum() for character in neighbours) and kind != "BPE that writes ▁ itself":
            assert found.straddling == 0, context
    assert 0 < straddled < len(contexts) / 2


def offsets_of(text: str, *pieces: str) -> list[tuple[int, int]]:
    """The characters of consecutive pieces."""
    places, at = [], 0
    for piece in pieces:
        at = text.index(piece, at)
        places.append((at, at + len(piece)))
        at += len(piece)
    return places


def aligned(text: str, start: int, end: int, *pieces: str) -> Alignment:
    return align(text, start, end, ids=range(len(pieces)), offsets=offsets_of(text, *pieces))


def test_space_before_a_word_is_not_the_words_neighbour() -> None:
    assert aligned("a rose is", 2, 6, "a", " rose", " is") == Alignment((1,), 0)


def test_second_occurrence_is_found_by_its_span_not_by_its_letters() -> None:
    assert aligned("rose, rose", 6, 10, "rose", ",", " rose") == Alignment((2,), 0)


def test_he_in_the_is_not_he() -> None:
    assert aligned("the he", 4, 6, "t", "he", " he") == Alignment((2,), 0)


def test_phrase_keeps_all_its_words() -> None:
    text = "So a person who is deaf came"
    pieces = ("So", " a", " person", " who", " is", " de", "af", " came")
    assert aligned(text, 3, 23, *pieces) == Alignment((1, 2, 3, 4, 5, 6), 0)


def test_piece_over_the_edge_is_kept_and_counted() -> None:
    assert aligned("two roses", 4, 8, "two", " roses") == Alignment((1,), 1)
    assert aligned("unrose", 2, 6, "unro", "se") == Alignment((0, 1), 1)


def test_special_tokens_and_spaces_belong_to_nothing() -> None:
    offsets = [(0, 0), (0, 4), (4, 5), (5, 8), (0, 0)]
    assert align("fine day", 0, 8, ids=range(5), offsets=offsets) == Alignment((1, 3), 0)


def test_bare_mark_of_a_space_is_ignored_though_it_has_the_first_letters_offsets() -> None:
    bare = bare_markers({"▁": 0, "rose": 1, "▁▁": 2, "Ġ": 3, "": 4})
    assert bare == {0, 2, 3}
    assert align("rose", 0, 4, ids=[0, 1], offsets=[(0, 1), (0, 4)], bare=bare) == Alignment((1,), 0)


def test_letter_that_looks_like_a_mark_is_kept_where_the_text_holds_it() -> None:
    assert align("Ġorġ", 0, 4, ids=[3, 7], offsets=[(0, 1), (1, 4)], bare={3}) == Alignment((0, 1), 0)


@pytest.mark.parametrize("first", range(1, 10))
@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("room", [3, 4, 7])
def test_window_is_full_and_holds_the_whole_stimulus(first: int, length: int, room: int) -> None:
    pieces = tuple(range(first, min(first + length, 11)))
    seen = window(Alignment(pieces, 0), prefix=1, content=10, room=room)
    assert seen is not None
    assert seen.stop - seen.first == room
    assert 1 <= seen.first <= pieces[0]
    assert pieces[-1] < seen.stop <= 11


def test_window_has_the_stimulus_in_the_middle() -> None:
    assert window(Alignment((50,), 0), prefix=1, content=100, room=11) == Window(45, 56)


def test_window_cannot_hold_a_stimulus_longer_than_the_model() -> None:
    assert window(Alignment((3, 4, 5), 0), prefix=1, content=10, room=2) is None
