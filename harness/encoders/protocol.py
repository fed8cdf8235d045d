"""What every contextual encoder is: texts with a span in, vectors out, in batches of its own choosing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.contexts import Context

View = Literal["mean", "first", "last", "sentence"]
"""The vectors that one forward pass gives of a text: three poolings of the stimulus' subwords, and the sentence."""

VIEWS: tuple[View, ...] = ("mean", "first", "last", "sentence")


@dataclass(frozen=True)
class EncodedBatch:
    """The vectors of some texts: ``indices`` into the contexts asked for, and for each (view, layer) a matrix."""

    indices: NDArray[np.int64]
    vectors: dict[tuple[View, int], NDArray[np.float32]]


class ContextualEncoder(Protocol):
    """A model that reads whole texts.

    ``identity`` is what determines the vectors (weights, revision or digest, tokenizer, dtype, options), without
    device and batch size. ``layers`` counts the layers above the embeddings; layer ``layers`` is the last, 0 the
    embeddings.
    """

    name: str
    identity: dict[str, Any]
    dim: int
    layers: int

    def encode(
        self, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
    ) -> Iterator[EncodedBatch]:
        """Encode each text once and yield the vectors batch by batch, every index exactly once."""
