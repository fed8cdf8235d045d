"""A contextual model in which the words of a text shift its stimulus along one known direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.contexts import Context
from harness.encoders.protocol import EncodedBatch, View
from tests.fake_encoder import FakeEncoder, fake_vector

AXIS = 0


class PlantedEncoder(FakeEncoder):
    """``poles`` and ``terms`` give a word's shift along the axis, ``together`` that of two words in one text."""

    def __init__(
        self,
        *,
        poles: Mapping[str, float],
        terms: Mapping[str, float] | None = None,
        together: Mapping[tuple[str, str], float] | None = None,
        noise: float = 0.0,
        begins_with: str | None = None,
    ) -> None:
        super().__init__(name="planted", batch=512)
        self.poles, self.terms, self.together = dict(poles), dict(terms or {}), dict(together or {})
        self.noise = noise
        if begins_with is not None:
            self.begins_with = begins_with

    def vector(self, context: Context, layer: int) -> NDArray[np.float32]:
        words = context.text.split()
        shift = self.poles.get(context.text, 0.0) + sum(self.terms.get(word, 0.0) for word in words)
        shift += sum(size for pair, size in self.together.items() if set(pair) <= set(words))
        noise = self.noise * fake_vector(context, "mean", layer, self.dim)
        return noise + np.float32(shift) * np.eye(self.dim, dtype=np.float32)[AXIS]

    def encode(
        self, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
    ) -> Iterator[EncodedBatch]:
        for begin in range(0, len(contexts), self.batch):
            part = contexts[begin : begin + self.batch]
            self.read.update(context.text for context in part)
            rows = {layer: np.stack([self.vector(context, layer) for context in part]) for layer in layers}
            vectors = {(view, layer): rows[layer] for view in views for layer in layers}
            yield EncodedBatch(np.arange(begin, begin + len(part)), vectors)
