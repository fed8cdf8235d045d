"""Models of images and texts: vectors of both after projection into the space that they share, of unit length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.contexts import Context, ImageContext
from harness.encoders.pictures import PictureError, read_rgb, refusal
from harness.encoders.postprocess import POSTPROCESS
from harness.encoders.protocol import EncodedBatch, View
from harness.encoders.torch_setup import import_torch, usable_device
from harness.errors import HarnessError
from harness.options import one_of

BACKENDS = ("open_clip", "transformers")
DTYPES = ("float32", "float64", "bfloat16", "float16")

SHARED: tuple[View, int] = ("sentence", 0)
"""The one vector of a text or an image; nothing below the projection is comparable between the two."""

_DECODERS = 2
"""Threads that decode the next batch while the model reads this one."""


class ClipNetwork(Protocol):
    """What a backend gives: tensors in, features in the shared space out, not yet scaled."""

    dim: int
    longest: int

    def prepared(self, image: Any) -> Any:
        """Return an RGB image as the model's own transform makes it."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text takes, with those that the tokenizer adds."""

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the features of texts."""

    def images(self, batch: Any) -> Any:
        """Return the features of prepared images."""


@dataclass(frozen=True)
class ClipOptions:
    """The keys of a model's config that every backend knows, checked."""

    backend: str
    dtype: str
    device: str
    batch_size: int

    @classmethod
    def from_config(cls, model: Mapping[str, Any]) -> ClipOptions:
        """Read a model's config; a key that it lacks has its default."""
        options = cls(
            backend=str(model.get("backend") or "open_clip"),
            dtype=str(model.get("dtype") or "float32"),
            device=str(model.get("device") or "auto"),
            batch_size=int(model.get("batch_size") or 32),
        )
        one_of("model.backend", options.backend, BACKENDS)
        one_of("model.dtype", options.dtype, DTYPES)
        if options.batch_size < 1:
            raise HarnessError(f"model.batch_size={options.batch_size}: must be 1 or more.")
        return options


def vectors_identity(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return what determines the vectors: weights, architecture, transform of images, tokenizer and type of number."""
    options = ClipOptions.from_config(model)
    if options.backend == "open_clip":
        from harness.encoders.clip_open import open_clip_identity

        found = open_clip_identity(model)
    else:
        from harness.encoders.weights import weights_identity

        found = dict(weights_identity(model))
    return {"kind": "clip", "backend": options.backend, **found, "dtype": options.dtype}


def clip_identity(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return what determines a measurement's numbers: the vectors, and what is done to them."""
    how = str(model.get("postprocess") or "none")
    one_of("model.postprocess", how, POSTPROCESS)
    removed = {"components": model["components"]} if how == "all_but_the_top" else {}
    after = {} if how == "none" else {"postprocess": how, **removed}
    return {"name": str(model["name"]), **vectors_identity(model), **after}


def open_clip_model(model: Mapping[str, Any]) -> ClipEncoder:
    """Open a model of images and texts.

    Parameters
    ----------
    model
        The model's config: name, backend; for open_clip architecture with pretrained, id, or path; for transformers
        id with revision, or path; dtype, device, batch_size.
    """
    options, identity = ClipOptions.from_config(model), vectors_identity(model)
    torch = import_torch("clip")
    device, dtype = usable_device(torch, options.device), getattr(torch, options.dtype)
    network: ClipNetwork
    if options.backend == "open_clip":
        from harness.encoders.clip_open import OpenClipNetwork, find_open_clip

        network = OpenClipNetwork(str(model["name"]), find_open_clip(model), dtype=dtype, device=device)
    else:
        from harness.encoders.clip_hf import HfClipNetwork
        from harness.encoders.weights import find_weights

        network = HfClipNetwork(str(model["name"]), find_weights(model).path, dtype=dtype, device=device)
    return ClipEncoder(str(model["name"]), identity, network, batch_size=options.batch_size)


class ClipEncoder:
    """Reads texts and images and gives one vector of each.

    Attributes
    ----------
    name, identity, dim, layers
        As in `harness.encoders.protocol.ContextualEncoder`; there are no layers to choose from.
    """

    layers = 0

    def __init__(self, name: str, identity: dict[str, Any], network: ClipNetwork, *, batch_size: int) -> None:
        self.name = name
        self.identity = identity
        self.dim = network.dim
        self._network = network
        self._size = batch_size
        self._torch = import_torch("clip")

    def encode(
        self, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
    ) -> Iterator[EncodedBatch]:
        """Encode each text and each image once and yield the vectors batch by batch, every index exactly once."""
        if set(views) != {SHARED[0]} or set(layers) != {SHARED[1]}:
            raise HarnessError(f"{self.name} has one vector of a text or an image: the one after its projection.")
        images = [place for place, context in enumerate(contexts) if isinstance(context, ImageContext)]
        known = set(images)
        texts = [place for place in range(len(contexts)) if place not in known]
        yield from self._encode_texts(contexts, texts)
        yield from self._encode_images(contexts, images)

    def _encode_texts(self, contexts: Sequence[Context], places: Sequence[int]) -> Iterator[EncodedBatch]:
        for begin in range(0, len(places), self._size):
            batch = places[begin : begin + self._size]
            texts = [contexts[place].text for place in batch]
            for text, length in zip(texts, self._network.lengths(texts), strict=True):
                if length > self._network.longest:
                    raise HarnessError(
                        f"{text!r} takes {length} tokens, and {self.name} reads {self._network.longest}: choose a "
                        "shorter prompt."
                    )
            yield self._batch(batch, lambda texts=texts: self._network.texts(texts), "texts")  # type: ignore[misc]

    def _encode_images(self, contexts: Sequence[Context], places: Sequence[int]) -> Iterator[EncodedBatch]:
        """Decode one batch ahead of the model: at most two batches of prepared images are in memory."""
        batches = [places[begin : begin + self._size] for begin in range(0, len(places), self._size)]
        paths = {place: _path(contexts[place]) for place in places}
        with ThreadPoolExecutor(_DECODERS) as pool:
            ahead: list[Future[Any]] = []
            for number in range(len(batches) + 1):
                ready, ahead = ahead, []
                if number < len(batches):
                    ahead = [pool.submit(self._prepared, paths[place]) for place in batches[number]]
                if not ready:
                    continue
                batch = batches[number - 1]
                try:
                    stacked = self._torch.stack([future.result() for future in ready])
                except PictureError:
                    pool.shutdown(cancel_futures=True)
                    raise refusal([paths[place] for place in places]) from None
                yield self._batch(batch, lambda stacked=stacked: self._network.images(stacked), "images")  # type: ignore[misc]

    def _prepared(self, path: str) -> Any:
        return self._network.prepared(read_rgb(path))

    def _batch(self, places: Sequence[int], features: Callable[[], Any], what: str) -> EncodedBatch:
        torch = self._torch
        try:
            with torch.inference_mode():
                found: NDArray[np.float64] = features().double().cpu().numpy()
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error):
                raise HarnessError(
                    f"{self.name}: memory ran out on a batch of {len(places)} {what}; lower model.batch_size (now "
                    f"{self._size}). What was encoded before is kept."
                ) from None
            raise
        unit = found / np.linalg.norm(found, axis=1, keepdims=True)
        return EncodedBatch(np.array(places, dtype=np.int64), {SHARED: unit.astype(np.float32)})


def _path(context: Context) -> str:
    assert isinstance(context, ImageContext)
    return context.path
