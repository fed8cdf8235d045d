"""A small ELMo of random weights in the published files, and its forward pass again, one token at a time, in numpy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

OPTIONS: dict[str, Any] = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 5,
        "cell_clip": 0.6,
        "proj_clip": 0.5,
        "dim": 7,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 3], [2, 4], [3, 2]],
        "n_highway": 2,
        "embedding": {"dim": 4},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}
DIM, CELL, CHAR, FILTERS = 5, 7, 4, 9


def random_weights(*, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, CHAR)}
    for i, (width, number) in enumerate([(1, 3), (2, 4), (3, 2)]):
        shapes |= {f"CNN/W_cnn_{i}": (1, width, CHAR, number), f"CNN/b_cnn_{i}": (number,)}
    for i in range(2):
        shapes |= {f"CNN_high_{i}/{w}": (FILTERS, FILTERS) for w in ("W_carry", "W_transform")}
        shapes |= {f"CNN_high_{i}/{b}": (FILTERS,) for b in ("b_carry", "b_transform")}
    shapes |= {"CNN_proj/W_proj": (FILTERS, DIM), "CNN_proj/b_proj": (DIM,)}
    for direction in (0, 1):
        for layer in (0, 1):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/W_0": (2 * DIM, 4 * CELL), f"{cell}/B": (4 * CELL,), f"{cell}/W_P_0": (CELL, DIM)}
    return {name: rng.normal(scale=0.7, size=shape).astype(np.float32) for name, shape in shapes.items()}


def save(folder: Path, options: dict[str, Any], weights: dict[str, np.ndarray]) -> dict[str, Any]:
    import h5py

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny_options.json").write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(folder / "tiny_weights.hdf5", "w") as file:
        for name, array in weights.items():
            file[name] = array
    return {"name": "tiny", "kind": "elmo", "path": str(folder), "device": "cpu"}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def clip(x: np.ndarray, bound: float | None) -> np.ndarray:
    return x if bound is None else np.maximum(np.minimum(x, bound), -bound)


def word_vector(word: str | int, w: dict[str, np.ndarray], options: dict[str, Any]) -> np.ndarray:
    """One word: characters, filters, highways, projection. A number stands for the begin or end of a sentence."""
    inner = [word] if isinstance(word, int) else list(word.encode("utf-8"))[:48]
    signs = [258, *inner, 259]
    signs += [260] * (50 - len(signs))
    characters = w["char_embed"][signs]
    squash = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}[options["char_cnn"]["activation"]]
    found = []
    for i, (width, _) in enumerate(options["char_cnn"]["filters"]):
        kernel, bias = w[f"CNN/W_cnn_{i}"][0], w[f"CNN/b_cnn_{i}"]
        windows = [
            np.einsum("wc,wcf->f", characters[place : place + width], kernel) + bias for place in range(51 - width)
        ]
        found.append(squash(np.max(windows, axis=0)))
    x = np.concatenate(found)
    for i in range(2):
        high = f"CNN_high_{i}"
        gate = sigmoid(x @ w[f"{high}/W_carry"] + w[f"{high}/b_carry"])
        x = gate * np.maximum(x @ w[f"{high}/W_transform"] + w[f"{high}/b_transform"], 0) + (1 - gate) * x
    return x @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"]


def lstm(inputs: list[np.ndarray], w: dict[str, np.ndarray], cell: str, options: dict[str, Any]) -> list[np.ndarray]:
    """TensorFlow's LSTMCell with projection: gates i, j, f, o; forget bias 1; both clips."""
    c, m, outputs = np.zeros(CELL), np.zeros(DIM), []
    for x in inputs:
        i, j, f, o = np.split(np.concatenate([x, m]) @ w[f"{cell}/W_0"] + w[f"{cell}/B"], 4)
        c = clip(sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j), options["lstm"]["cell_clip"])
        m = clip((sigmoid(o) * np.tanh(c)) @ w[f"{cell}/W_P_0"], options["lstm"]["proj_clip"])
        outputs.append(m)
    return outputs


def oracle(words: list[str], weights: dict[str, np.ndarray], options: dict[str, Any]) -> np.ndarray:
    """Return the three layers of a sentence, shape (3, words, 2 * DIM), its edges taken off."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    tokens = [word_vector(word, w, options) for word in [256, *words, 257]]
    sides = []
    for direction in (0, 1):
        sequence = tokens if direction == 0 else tokens[::-1]
        first = lstm(sequence, w, f"RNN_{direction}/RNN/MultiRNNCell/Cell0/LSTMCell", options)
        second = lstm(first, w, f"RNN_{direction}/RNN/MultiRNNCell/Cell1/LSTMCell", options)
        layers = [sequence, first, [below + above for below, above in zip(first, second, strict=True)]]
        sides.append([layer if direction == 0 else layer[::-1] for layer in layers])
    whole = [np.concatenate([forward, backward], axis=1) for forward, backward in zip(*sides, strict=True)]
    return np.stack(whole)[:, 1:-1]
