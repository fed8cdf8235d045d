"""A contextual model of numbers that follow from the text alone, in place of a real one."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contexts import Context
from harness.encoders.protocol import EncodedBatch, View
from harness.models import ContextualKind


def fake_vector(context: Context, view: str, layer: int, dim: int = 12) -> NDArray[np.float32]:
    what = context.text if view == "sentence" else f"{context.start}:{context.end}:{context.text}"
    seed = hashlib.sha256(f"{what}|{view}|{layer}".encode()).digest()[:8]
    return np.random.default_rng(int.from_bytes(seed, "little")).normal(size=dim).astype(np.float32)


class FakeEncoder:
    """Encodes in batches, the longest texts first, and counts every text that it reads."""

    dim = 12
    layers = 3

    def __init__(self, *, name: str = "fake", batch: int = 16, delay: float = 0.0, fails_on: str = "") -> None:
        self.name = name
        self.identity: dict[str, Any] = {"kind": "fake", "name": name}
        self.read: Counter[str] = Counter()
        self.opened = 0
        self.batch = batch
        self.delay = delay
        self.fails_on = fails_on

    def encode(
        self, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
    ) -> Iterator[EncodedBatch]:
        order = sorted(range(len(contexts)), key=lambda i: -len(contexts[i].text))
        for begin in range(0, len(order), self.batch):
            indices = order[begin : begin + self.batch]
            for i in indices:
                if self.fails_on and self.fails_on in contexts[i].text:
                    raise ValueError(f"{contexts[i].text} cannot be read")
            time.sleep(self.delay)
            self.read.update(contexts[i].text for i in indices)
            vectors = {
                (view, layer): np.stack([fake_vector(contexts[i], view, layer) for i in indices])
                for view in views
                for layer in layers
            }
            yield EncodedBatch(np.array(indices, dtype=np.int64), vectors)

    def kind(self) -> ContextualKind:
        """Return this encoder as the kind of model ``fake``."""

        def identity(model: Mapping[str, Any], runs: Path) -> dict[str, Any]:
            return dict(self.identity)

        def opened(model: Mapping[str, Any], runs: Path) -> FakeEncoder:
            self.opened += 1
            return self

        return ContextualKind(opened, identity, identity)
