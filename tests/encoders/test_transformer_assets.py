"""On real weights from the package index, the encoder agrees with a hand-written loop and with minicons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from harness.contexts import Context
from harness.encoders.torch_setup import import_transformers, quiet
from harness.encoders.transformer import TransformerEncoder, folder_of, open_transformer
from harness.encoders.weights import find_weights

ASSETS = ("minilm-l6", "smollm2-135m")
TEXTS = (
    ("This is a [rose].", False),
    ("My friend [José] likes long walks in the evening, and so do I.", False),
    ("😀😀 The [nurse] said that the other nurse was late", False),
    ("They met [a person who is deaf] at the station.", False),
    ("The best [ice cream]!", False),
    ("[Aisha] is here", True),
    ("“[peaceful]” it says", True),
    ("the female was [male]", False),
)
"""Texts with the stimulus in brackets, and whether minicons, which searches for the word after a space, misses it."""


def contexts() -> list[Context]:
    found = []
    for text, _ in TEXTS:
        before, rest = text.split("[")
        stimulus, after = rest.split("]")
        found.append(Context(before + stimulus + after, len(before), len(before) + len(stimulus)))
    return found


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=ASSETS)
def asset(request: pytest.FixtureRequest, package: Callable[[str], str]) -> str:
    """A package asset."""
    return package(str(request.param))


def opened(asset: str, **options: Any) -> TransformerEncoder:
    return open_transformer({"name": asset, "asset": asset, "bos": "none", **options})


@cache
def model_folder(asset: str) -> Path:
    return folder_of(find_weights({"name": asset, "asset": asset}))


def encoded(encoder: TransformerEncoder, view: Any, layer: int) -> np.ndarray:
    found = np.empty((len(TEXTS), encoder.dim))
    for batch in encoder.encode(contexts(), views=[view], layers=[layer]):
        found[batch.indices] = batch.vectors[view, layer]
    return found


def assert_agree(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare to 1e-5 of a vector's length: SmolLM2 has components of 50, of which float32 keeps no sixth decimal."""
    distance = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert distance.max() < 1e-5


def test_word_vectors_are_those_of_a_hand_written_loop(asset: str) -> None:
    transformers = import_transformers()
    with quiet(transformers):
        tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder(asset))
        model = transformers.AutoModel.from_pretrained(model_folder(asset)).eval()
    words, sentences = [], []
    for context in contexts():
        encoding = tokenizer(context.text, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**encoding).last_hidden_state[0]
        pieces = {encoding.char_to_token(at) for at in range(context.start, context.end)} - {None}
        words.append(hidden[sorted(pieces)].mean(dim=0).numpy())
        sentences.append((hidden[-1] if asset.startswith("smollm2") else hidden[0]).numpy())
    encoder = opened(asset)
    assert_agree(encoded(encoder, "mean", encoder.layers), np.array(words))
    assert_agree(encoded(encoder, "sentence", encoder.layers), np.array(sentences))


def test_word_vectors_are_those_of_minicons(asset: str) -> None:
    cwe = pytest.importorskip("minicons.cwe")
    with quiet(import_transformers()):
        theirs = cwe.CWE(str(model_folder(asset)))
    found = [place for place, (_, missed) in enumerate(TEXTS) if not missed]
    asked = [(contexts()[place].text, (contexts()[place].start, contexts()[place].end)) for place in found]
    encoder = opened(asset)
    layer = encoder.layers - 1
    expected = theirs.extract_representation(asked, layer=layer, multi_strategy="first").numpy()
    assert_agree(encoded(encoder, "mean", layer)[found], expected)


def test_batches_change_nothing_on_real_weights(asset: str) -> None:
    encoder, other = opened(asset), opened(asset, token_budget=30)
    assert_agree(encoded(other, "mean", encoder.layers), encoded(encoder, "mean", encoder.layers))
