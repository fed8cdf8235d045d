"""ELMo against a forward pass in numpy that shares nothing with it but the published files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.contexts import Context
from harness.encoders.elmo import ElmoEncoder, open_elmo
from harness.encoders.protocol import VIEWS, View
from harness.errors import HarnessError
from tests.encoders.elmo_tiny import DIM, OPTIONS, oracle, random_weights, save

pytest.importorskip("h5py")
torch = pytest.importorskip("torch")

SUM = 3

# Each text beside its words, which are written out by hand (the tokenizer is not trusted here), and its stimulus.
SENTENCES: list[tuple[str, str, str]] = [
    ("rose", "rose", "rose"),
    ("This is a rose.", "This is a rose .", "rose"),
    ("José met the tall, short-term nurse again!", "José met the tall , short-term nurse again !", "nurse"),
    ("There is a person who is deaf here", "There is a person who is deaf here", "a person who is deaf"),
    ("An " + "o" * 60 + " sound", "An " + "o" * 60 + " sound", "o" * 60),
]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Threads wait for each other longer than these small matrices take."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    return random_weights()


@pytest.fixture
def model(tmp_path: Path, weights: dict[str, np.ndarray]) -> dict[str, Any]:
    return save(tmp_path / "tiny", OPTIONS, weights)


def context(text: str, stimulus: str, *, occurrence: int = 0) -> Context:
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(stimulus, start + 1)
    return Context(text, start, start + len(stimulus))


def encoded(
    encoder: ElmoEncoder, contexts: Sequence[Context], *, views: Sequence[View] = VIEWS, layers: Sequence[int] = (SUM,)
) -> dict[tuple[View, int], np.ndarray]:
    """Return the vectors in the order of the contexts, having checked that each came once."""
    batches = list(encoder.encode(contexts, views=views, layers=layers))
    order = np.concatenate([batch.indices for batch in batches])
    assert sorted(order) == list(range(len(contexts)))
    back = np.argsort(order)
    return {key: np.concatenate([batch.vectors[key] for batch in batches])[back] for key in batches[0].vectors}


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("clips", [(0.6, 0.5), (None, None)])
def test_every_view_of_every_layer_equals_the_forward_pass_in_numpy(tmp_path, weights, activation, clips):
    options = {
        "lstm": {**OPTIONS["lstm"], "cell_clip": clips[0], "proj_clip": clips[1]},
        "char_cnn": {**OPTIONS["char_cnn"], "activation": activation},
    }
    encoder = open_elmo(save(tmp_path, options, weights))
    assert (encoder.dim, encoder.layers) == (2 * DIM, SUM)
    contexts = [context(text, stimulus) for text, _, stimulus in SENTENCES]
    found = encoded(encoder, contexts, layers=(0, 1, 2, 3))
    for row, (_, written_out, stimulus) in enumerate(SENTENCES):
        words = written_out.split()
        layers = oracle(words, weights, options)
        layers = np.concatenate([layers, layers.sum(axis=0, keepdims=True)])
        own = stimulus.split()
        first = next(place for place in range(len(words)) if words[place : place + len(own)] == own)
        of_stimulus = layers[:, first : first + len(own)]
        for layer in range(4):
            for view, expected in {
                "mean": of_stimulus[layer].mean(axis=0),
                "first": of_stimulus[layer, 0],
                "last": of_stimulus[layer, -1],
                "sentence": layers[layer].mean(axis=0),
            }.items():
                np.testing.assert_allclose(found[view, layer][row], expected, atol=1e-5, err_msg=f"{words} {view}")


def test_both_clips_bind_in_the_small_model_so_that_the_comparison_sees_them(weights):
    words = SENTENCES[2][1].split()
    clipped = oracle(words, weights, OPTIONS)
    for key in ("cell_clip", "proj_clip"):
        free = {**OPTIONS, "lstm": {**OPTIONS["lstm"], key: None}}
        assert np.abs(oracle(words, weights, free) - clipped).max() > 0.05


def test_the_last_layer_is_the_sum_of_all_three(model):
    encoder = open_elmo(model)
    contexts = [context(text, stimulus) for text, _, stimulus in SENTENCES]
    found = encoded(encoder, contexts, layers=range(4))
    for view in VIEWS:
        np.testing.assert_allclose(
            found[view, encoder.layers], found[view, 0] + found[view, 1] + found[view, 2], atol=1e-6
        )


@pytest.mark.parametrize("batch_tokens", [1, 15, 40])
def test_batch_size_and_padding_change_no_vector(model, batch_tokens):
    rng = np.random.default_rng(3)
    vocabulary = ["rose", "nurse", "the", "tall", "deaf", "short-term", "José", "is", ",", "."]
    texts = [" ".join(rng.choice(vocabulary, size=rng.integers(1, 20))) for _ in range(24)]
    contexts = [Context(text, 0, len(text.split()[0])) for text in texts]
    whole = encoded(open_elmo({**model, "batch_tokens": 100_000}), contexts)
    parts = encoded(open_elmo({**model, "batch_tokens": batch_tokens}), contexts)
    turned = encoded(open_elmo({**model, "batch_tokens": batch_tokens}), contexts[::-1])
    for key, vectors in whole.items():
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(parts[key], vectors, atol=1e-5)
        np.testing.assert_allclose(turned[key][::-1], vectors, atol=1e-5)


def test_a_text_does_not_depend_on_what_was_encoded_before_it(model):
    encoder, rose = open_elmo(model), [context("This is a rose.", "rose")]
    before = encoded(encoder, rose)["mean", SUM]
    encoded(encoder, [context("José met the nurse", "nurse")])
    np.testing.assert_array_equal(encoded(encoder, rose)["mean", SUM], before)


def test_texts_of_the_same_words_pass_through_the_network_once(model, monkeypatch):
    encoder = open_elmo({**model, "batch_tokens": 12})
    passed: list[int] = []
    forward = encoder._network.forward

    def counting(table, places, lengths):
        passed.extend(lengths)
        return forward(table, places, lengths)

    monkeypatch.setattr(encoder._network, "forward", counting)
    contexts = [context("the rose met the nurse", stimulus) for stimulus in ("rose", "nurse")]
    contexts += [context("a rose", "rose"), context("the rose met the nurse", "the", occurrence=1)]
    found = encoded(encoder, contexts, views=("mean",))["mean", SUM]
    assert sorted(passed) == [4, 7]
    assert len(np.unique(found.round(6), axis=0)) == 4


def test_letters_for_words_as_in_the_published_bug_give_other_vectors(model, weights):
    encoder, text = open_elmo(model), "This is a rose"
    found = encoded(encoder, [context(text, "rose")])
    right = oracle(text.split(), weights, OPTIONS).sum(axis=0)
    wrong = oracle(list(text), weights, OPTIONS).sum(axis=0)
    assert len(wrong) == len(text)
    np.testing.assert_allclose(found["sentence", SUM][0], right.mean(axis=0), atol=1e-5)
    assert np.abs(found["sentence", SUM][0] - wrong.mean(axis=0)).max() > 0.1
    assert np.abs(found["mean", SUM][0] - wrong[-4:].mean(axis=0)).max() > 0.1


def test_a_word_that_occurs_twice_is_taken_where_its_span_is(model, weights):
    text = "the rose and the rose"
    contexts = [context(text, "rose", occurrence=which) for which in (0, 1)]
    found = encoded(open_elmo(model), contexts)["mean", SUM]
    layers = oracle(text.split(), weights, OPTIONS).sum(axis=0)
    np.testing.assert_allclose(found, layers[[1, 4]], atol=1e-5)


def test_no_texts_give_no_batches(model):
    assert list(open_elmo(model).encode([], views=VIEWS, layers=(SUM,))) == []


@pytest.mark.parametrize("layer", [-1, 4])
def test_a_layer_that_does_not_exist_is_one_sentence(model, layer):
    with pytest.raises(
        HarnessError, match=rf"layer={layer}: tiny has the layers 0 \(characters\) to 2, and 3, or last"
    ):
        list(open_elmo(model).encode([context("a rose", "rose")], views=("mean",), layers=(layer,)))
