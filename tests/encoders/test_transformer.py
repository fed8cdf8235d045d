"""The transformer encoder gives what a loop over single texts gives, whatever the batches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from harness.contexts import Context
from harness.encoders.protocol import VIEWS, View
from harness.encoders.transformer import TransformerEncoder, open_transformer
from harness.errors import HarnessError
from tests.encoders.transformer_tiny import FAMILIES, FILLERS, STIMULI, build, fast_tokenizer, save

DECODERS = ("gpt2", "gpt", "opt", "bloom", "gpt_neo", "llama")


@pytest.fixture(autouse=True)
def _few_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tiny")
    return {family: save(family, root / family) for family in FAMILIES}


def opened(folder: Path, **options: Any) -> TransformerEncoder:
    return open_transformer({"name": folder.name, "path": str(folder), **options}, cache=folder.parent / "cache")


def context(text: str, stimulus: str) -> Context:
    start = text.index(stimulus)
    return Context(text, start, start + len(stimulus))


def mixed_contexts(count: int = 25) -> list[Context]:
    """Texts of different lengths, the stimulus within them."""
    rng = random.Random(1)
    found = []
    for _ in range(count):
        before, after = (" ".join(rng.choices(FILLERS, k=rng.randint(0, 1))) for _ in range(2))
        stimulus = rng.choice(STIMULI)
        found.append(Context(f"oh {before} {stimulus}, {after}", len(before) + 4, len(before) + 4 + len(stimulus)))
    return found


def encoded(
    encoder: TransformerEncoder, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
) -> dict[tuple[View, int], np.ndarray]:
    found = {(view, layer): np.full((len(contexts), encoder.dim), np.nan) for view in views for layer in layers}
    seen: list[int] = []
    for batch in encoder.encode(contexts, views=views, layers=layers):
        seen += batch.indices.tolist()
        for key, vectors in batch.vectors.items():
            assert vectors.dtype == np.float32
            found[key][batch.indices] = vectors
    assert sorted(seen) == list(range(len(contexts)))
    return found


def one_by_one(family: str, contexts: Sequence[Context], rule: str, bos: int | None) -> dict[Any, np.ndarray]:
    """Run each text alone, unpadded, with transformers itself, and find the word by ``char_to_token``."""
    tokenizer, model = fast_tokenizer(family), build(family)
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    rows: dict[Any, list[np.ndarray]] = {}
    for each in contexts:
        encoding = tokenizer(each.text, return_tensors="pt", return_token_type_ids=True)
        ids = encoding["input_ids"]
        more = {"token_type_ids": encoding["token_type_ids"]} if family == "xlnet" else {}
        places = {encoding.char_to_token(at) for at in range(each.start, each.end) if each.text[at] != " "}
        places = sorted(place for place in places if place is not None)
        if bos is not None:
            ids = torch.cat([torch.tensor([[bos]]), ids], dim=1)
            places = [place + 1 for place in places]
            more = {key: torch.cat([torch.zeros(1, 1, dtype=torch.long), value], dim=1) for key, value in more.items()}
        with torch.no_grad():
            output = model(input_ids=ids, output_hidden_states=True, **more)
        for layer, hidden in enumerate([*output.hidden_states[:-1], output.last_hidden_state]):
            tokens = hidden[0].numpy()
            whole = {"cls": tokens[0], "last": tokens[-1], "mean": tokens.mean(axis=0)}[rule]
            word = tokens[places]
            pooled = {"mean": word.mean(axis=0), "first": word[0], "last": word[-1], "sentence": whole}
            for view, vector in pooled.items():
                rows.setdefault((view, layer), []).append(vector)
    return {key: np.array(vectors) for key, vectors in rows.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_are_those_of_each_text_alone_whatever_the_batches(family: str, folders: dict[str, Path]) -> None:
    contexts = mixed_contexts()
    encoder = opened(folders[family])
    layers = list(range(encoder.layers + 1))
    bos = fast_tokenizer(family).bos_token_id if family in (*DECODERS, "xlnet") else None
    expected = one_by_one(family, contexts, encoder.sentence, bos)
    assert expected.keys() == {(view, layer) for view in VIEWS for layer in layers}
    for budget in (1, 70, 100_000):
        found = encoded(opened(folders[family], token_budget=budget), contexts, views=VIEWS, layers=layers)
        for key, vectors in expected.items():
            np.testing.assert_allclose(found[key], vectors, atol=1e-5, err_msg=f"{key}, budget {budget}")


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
def test_order_of_texts_changes_nothing(family: str, folders: dict[str, Path]) -> None:
    contexts = mixed_contexts()
    encoder = opened(folders[family], token_budget=100)
    forward = encoded(encoder, contexts, views=["mean"], layers=[2])["mean", 2]
    backward = encoded(encoder, contexts[::-1], views=["mean"], layers=[2])["mean", 2]
    np.testing.assert_allclose(backward[::-1], forward, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_padding_side_of_the_tokenizer_changes_nothing(family: str, folders: dict[str, Path], tmp_path: Path) -> None:
    left = save(family, tmp_path / family)
    tokenizer = fast_tokenizer(family).__class__.from_pretrained(left, padding_side="left")
    tokenizer.save_pretrained(left)
    contexts = mixed_contexts()
    for key, vectors in encoded(opened(left), contexts, views=VIEWS, layers=[2]).items():
        right = encoded(opened(folders[family]), contexts, views=VIEWS, layers=[2])[key]
        np.testing.assert_allclose(vectors, right, atol=1e-5)


def test_one_layer_asked_is_the_same_as_among_all(folders: dict[str, Path]) -> None:
    encoder, contexts = opened(folders["gpt2"]), mixed_contexts()
    every = encoded(encoder, contexts, views=["mean"], layers=[0, 1, 2])
    for layer in (0, 1, 2):
        alone = encoded(encoder, contexts, views=["mean"], layers=[layer])
        np.testing.assert_allclose(alone["mean", layer], every["mean", layer], atol=1e-6)


@pytest.mark.parametrize(
    ("family", "rule"),
    [("bert", "cls"), ("albert", "cls"), ("roberta", "cls"), ("t5", "mean"), ("xlnet", "mean")]
    + [(family, "last") for family in DECODERS],
)
def test_sentence_rule_follows_husse2022(family: str, rule: str, folders: dict[str, Path]) -> None:
    encoder = opened(folders[family])
    assert encoder.sentence == rule
    assert encoder.causal == (family in DECODERS)


def test_sentence_rule_can_be_chosen(folders: dict[str, Path]) -> None:
    contexts = mixed_contexts()
    for rule in ("cls", "last", "mean"):
        found = encoded(opened(folders["bert"], sentence=rule), contexts, views=["sentence"], layers=[2])
        expected = one_by_one("bert", contexts, rule, None)
        np.testing.assert_allclose(found["sentence", 2], expected["sentence", 2], atol=1e-5)


def test_cls_rule_of_a_model_without_such_a_token_is_a_sentence(folders: dict[str, Path]) -> None:
    with pytest.raises(HarnessError, match=r"model.sentence=cls: the tokenizer of gpt2 adds no such token"):
        opened(folders["gpt2"], sentence="cls")


def test_bos_none_leaves_the_text_to_the_tokenizer(folders: dict[str, Path]) -> None:
    contexts = mixed_contexts()
    for family in ("llama", "xlnet"):
        found = encoded(opened(folders[family], bos="none"), contexts, views=VIEWS, layers=[2])
        expected = one_by_one(family, contexts, opened(folders[family]).sentence, None)
        for view in VIEWS:
            np.testing.assert_allclose(found[view, 2], expected[view, 2], atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "albert", "roberta", "t5"])
def test_bos_is_not_added_where_the_tokenizer_adds_it_or_has_none(family: str, folders: dict[str, Path]) -> None:
    with_auto, without = (
        encoded(opened(folders[family], bos=bos), mixed_contexts(), views=["mean"], layers=[2])
        for bos in ("auto", "none")
    )
    np.testing.assert_array_equal(with_auto["mean", 2], without["mean", 2])


@pytest.mark.parametrize("family", ["bert", "gpt2", "xlnet"])
@pytest.mark.parametrize("place", ["begin", "middle", "end"])
def test_long_text_is_read_through_a_window_around_the_stimulus(
    family: str, place: str, folders: dict[str, Path]
) -> None:
    words = ["the", "test"] * 100
    at = {"begin": 1, "middle": 100, "end": len(words)}[place]
    long = context(" ".join([*words[:at], "fried chicken", *words[at:]]), "fried chicken")
    encoder = opened(folders[family], max_length=24)
    found = encoded(encoder, [long, context("a rose", "rose")], views=["mean"], layers=[2])["mean", 2]
    assert encoder.tally.windowed == 1
    special = np.array(fast_tokenizer(family)("a", return_special_tokens_mask=True)["special_tokens_mask"]).sum()
    room = 24 - special - (family != "bert")
    best = min(_windows(family, long, room), key=lambda window: np.abs(window - found[0]).max())
    np.testing.assert_allclose(best, found[0], atol=1e-5)


def _windows(family: str, long: Context, room: int) -> Iterator[np.ndarray]:
    """The vectors of every stretch of ``room`` tokens that holds the whole stimulus."""
    tokenizer, model = fast_tokenizer(family), build(family)
    encoding = tokenizer(long.text, add_special_tokens=False)
    word = sorted({encoding.char_to_token(at) for at in range(long.start, long.end) if long.text[at] != " "})
    template = tokenizer("a", return_special_tokens_mask=True, return_token_type_ids=True)
    ids, types = template["input_ids"], template["token_type_ids"]
    at = template["special_tokens_mask"].index(0)
    end = len(ids) - template["special_tokens_mask"][::-1].index(0)
    bos = [] if family == "bert" else [tokenizer.bos_token_id]
    for first in range(max(0, word[-1] + 1 - room), min(word[0], len(encoding["input_ids"]) - room) + 1):
        stretch = encoding["input_ids"][first : first + room]
        whole = torch.tensor([bos + ids[:at] + stretch + ids[end:]])
        kinds = torch.tensor([[0] * len(bos) + types[:at] + [0] * room + types[end:]])
        with torch.no_grad():
            hidden = model(
                input_ids=whole, **({"token_type_ids": kinds} if family == "xlnet" else {})
            ).last_hidden_state
        assert whole.shape[1] == 24
        yield hidden[0, [place - first + len(bos) + at for place in word]].mean(dim=0).numpy()


def test_text_longer_than_the_models_positions_is_windowed_without_being_asked(folders: dict[str, Path]) -> None:
    for family in ("bert", "roberta", "gpt2", "opt", "llama"):
        encoder = opened(folders[family])
        assert encoder.max_length == 64
        long = context("the test " * 60 + "rose" + " the test" * 60, "rose")
        assert np.isfinite(encoded(encoder, [long], views=["mean"], layers=[2])["mean", 2]).all()
        assert encoder.tally.windowed == 1


def test_stimulus_longer_than_the_model_is_a_sentence(folders: dict[str, Path]) -> None:
    text = "the test " * 20
    with pytest.raises(HarnessError, match=r"bert takes 6 tokens, the stimulus 'the test .* cannot be encoded whole"):
        list(opened(folders["bert"], max_length=8).encode([Context(text, 0, len(text))], views=["mean"], layers=[2]))


def test_text_goes_through_the_model_once_for_all_its_stimuli(folders: dict[str, Path]) -> None:
    encoder = opened(folders["bert"])
    text = "the rose saw José, a rose"
    twice = [context(text, "rose"), context(text, "José"), Context(text, 21, 25)]
    found = encoded(encoder, twice, views=["mean", "sentence"], layers=[2])
    assert (encoder.tally.contexts, encoder.tally.rows) == (3, 1)
    assert np.abs(found["mean", 2][0] - found["mean", 2][2]).max() > 1e-3
    np.testing.assert_array_equal(found["sentence", 2][0], found["sentence", 2][1])


def test_pieces_shared_with_neighbours_are_counted(folders: dict[str, Path]) -> None:
    encoder = opened(folders["gpt2"])
    encoded(encoder, [Context("hello", 0, 3), context("a rose", "rose")], views=["mean"], layers=[2])
    assert encoder.tally.straddling == 1


def test_truncation_and_padding_written_in_a_tokenizer_file_change_nothing(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    baked = save("bert", tmp_path / "bert")
    tokenizer = type(fast_tokenizer("bert").backend_tokenizer).from_file(str(baked / "tokenizer.json"))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=40)
    tokenizer.save(str(baked / "tokenizer.json"))
    for key, vectors in encoded(opened(baked), mixed_contexts(), views=VIEWS, layers=[2]).items():
        plain = encoded(opened(folders["bert"]), mixed_contexts(), views=VIEWS, layers=[2])[key]
        np.testing.assert_allclose(vectors, plain, atol=1e-6)


def test_memory_is_bounded_by_the_budget_not_by_the_texts(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = opened(folders["bert"], token_budget=64)
    sizes = []
    whole = TransformerEncoder._hidden

    def watched(self: TransformerEncoder, rows: list[Any], *, every_layer: bool) -> Any:
        hidden = whole(self, rows, every_layer=every_layer)
        sizes.append(hidden[0].shape[0] * hidden[0].shape[1])
        return hidden

    monkeypatch.setattr(TransformerEncoder, "_hidden", watched)
    batches = encoder.encode(mixed_contexts(60), views=["mean"], layers=[2])
    next(batches)
    assert len(sizes) == 1, "a batch is given as soon as it is done"
    list(batches)
    assert max(sizes) <= 64


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-5), ("bfloat16", 0.2), ("float16", 0.05)])
def test_other_precisions_give_nearly_the_same_vectors(dtype: str, tolerance: float, folders: dict[str, Path]) -> None:
    found = encoded(opened(folders["llama"], dtype=dtype), mixed_contexts(), views=VIEWS, layers=[2])
    for key, vectors in encoded(opened(folders["llama"]), mixed_contexts(), views=VIEWS, layers=[2]).items():
        np.testing.assert_allclose(found[key], vectors, atol=tolerance)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dtype": "float31"}, "model.dtype=float31: is one of .* Did you mean float32"),
        ({"sentence": "clss"}, "model.sentence=clss: is one of .* Did you mean cls"),
        ({"bos": "always"}, "model.bos=always: is one of auto, none"),
        ({"device": "abacus"}, "model.device=abacus: this machine has no such device"),
        ({"token_budget": -5}, "model.token_budget=-5: must be 1 or more"),
        ({"max_length": 0}, "model.max_length=0: must be 1 or more"),
    ],
)
def test_option_that_does_not_exist_is_a_sentence(
    options: dict[str, Any], sentence: str, folders: dict[str, Path]
) -> None:
    with pytest.raises(HarnessError, match=sentence):
        opened(folders["bert"], **options)


def test_layer_that_does_not_exist_is_a_sentence(folders: dict[str, Path]) -> None:
    with pytest.raises(HarnessError, match=r"layer=3: bert has layers 0 \(embeddings\) to 2 \(last\)"):
        list(opened(folders["bert"]).encode(mixed_contexts(1), views=["mean"], layers=[3]))


def test_stimulus_that_the_tokenizer_drops_is_named(folders: dict[str, Path]) -> None:
    with pytest.raises(HarnessError, match=r"The tokenizer of bert leaves nothing of '\\x00'"):
        list(opened(folders["bert"]).encode([Context("a \0 rose", 2, 3)], views=["mean"], layers=[2]))


def test_memory_that_runs_out_is_a_sentence(folders: dict[str, Path]) -> None:
    encoder = opened(folders["bert"])

    def no_memory(**_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    encoder._model.forward = no_memory
    with pytest.raises(HarnessError, match=r"bert: memory ran out on a batch of .* lower model.token_budget \(now"):
        list(encoder.encode(mixed_contexts(3), views=["mean"], layers=[2]))
