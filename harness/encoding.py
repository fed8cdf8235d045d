"""Encode what the store lacks: all missing blocks together, each text once, each block written when it is whole."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contexts import Context
from harness.encoders.protocol import VIEWS, ContextualEncoder, EncodedBatch, View
from harness.errors import HarnessError
from harness.progress import Progress, silent
from harness.sizes import size_text
from harness.store import Block, BlockStore, tensor_name

ALL_VIEWS_UP_TO = 1_000
"""A stimulus with at most so many texts is stored in every view, one with more only in those asked for."""

GROUP_TEXTS = 2_048
"""Texts that are encoded before the next blocks begin: what a killed process loses at most, if blocks are smaller."""


@dataclass(frozen=True)
class Need:
    """A block, and the views of the layers that are wanted of it; ``gives`` are those that the encoder has at all."""

    block: Block
    views: frozenset[View]
    layers: frozenset[int]
    gives: tuple[View, ...] = VIEWS

    @property
    def stored_views(self) -> tuple[View, ...]:
        """The views that are kept: one forward pass gives all, so all that cost little."""
        few = len(self.block.contexts) <= ALL_VIEWS_UP_TO
        return tuple(view for view in self.gives if few or view in self.views)

    @property
    def keys(self) -> list[tuple[View, int]]:
        """Every view and layer to be stored."""
        return [(view, layer) for view in self.stored_views for layer in sorted(self.layers)]

    @property
    def names(self) -> list[str]:
        """The tensors that answer what was asked for."""
        return [tensor_name(view, layer) for view in VIEWS if view in self.views for layer in sorted(self.layers)]


@dataclass(frozen=True)
class Limits:
    """How vectors are kept: the type of number, and how many bytes all blocks may take (None: as the disk allows)."""

    dtype: str = "float32"
    cap: int | None = None


def merged(needs: Iterable[Need]) -> list[Need]:
    """Return one need for each block, with everything that is wanted of it."""
    found: dict[Path, Need] = {}
    for need in needs:
        known = found.get(need.block.path)
        found[need.block.path] = (
            replace(need, views=need.views | known.views, layers=need.layers | known.layers) if known else need
        )
    return list(found.values())


def estimated_bytes(needs: Iterable[Need], *, dim: int, dtype: str = "float32") -> int:
    """Return how much room the vectors of these needs take."""
    return sum(len(need.block.contexts) * len(need.keys) * dim * np.dtype(dtype).itemsize for need in needs)


def encode_missing(
    store: BlockStore,
    needs: Iterable[Need],
    encoder: Callable[[], ContextualEncoder],
    *,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> int:
    """Bring every block that is needed into the store; return how many texts were encoded for it.

    Parameters
    ----------
    store
        Where blocks are kept.
    needs
        What is wanted, all of one encoder.
    encoder
        Opens the model; called only if something is missing.
    limits
        How vectors are kept.
    progress
        Shows the texts done; its description tells how many there are and how much room they take.
    """
    everything = merged(needs)
    limits = limits or Limits()
    missing = [need for need in everything if not store.holds(need.block, need.names)]
    if not missing:
        return 0
    with store.locked(need.block for need in missing):
        # Another process may have encoded them while this one waited.
        missing = [need for need in missing if not store.holds(need.block, need.names)]
        if not missing:
            return 0
        return _Job(store, encoder(), limits, {store.root / need.block.path for need in everything}).run(
            missing, progress
        )


@dataclass
class _Job:
    """One encoder at work under the locks of what it writes."""

    store: BlockStore
    encoder: ContextualEncoder
    limits: Limits
    keep: set[Path]
    encoded: int = 0
    rows: dict[bytes, dict[str, NDArray[Any]]] = field(default_factory=dict)
    """Rows known already that blocks still to come need."""

    def run(self, missing: Sequence[Need], progress: Progress) -> int:
        """Encode the missing blocks; return how many texts were read."""
        home = missing[0].block.encoder
        self._check_layers(missing)
        self._make_room(missing)
        layers = frozenset().union(*(need.layers for need in missing))
        views = frozenset().union(*(need.stored_views for need in missing))
        keys = [(view, layer) for view in VIEWS if view in views for layer in sorted(layers)]
        names = [tensor_name(*key) for key in keys]
        self.store.describe(
            home,
            {
                "name": self.encoder.name,
                "identity": self.encoder.identity,
                "dim": self.encoder.dim,
                "layers": self.encoder.layers,
                "stored": self.limits.dtype,
                "begins_with": getattr(self.encoder, "begins_with", None),
            },
        )
        wanted = {row for need in missing for row in need.block.contexts.rows}
        self.rows = self.store.rows(home, wanted, names)
        uses = Counter(row for need in missing for row in set(need.block.contexts.rows))
        size = size_text(estimated_bytes(missing, dim=self.encoder.dim, dtype=self.limits.dtype))
        total = len(wanted) - len(self.rows)
        description = f"{self.encoder.name}: {total:,} texts, about {size} of vectors"
        with progress(description, total) as advance:
            for group in _groups(missing):
                started, before = time.monotonic(), self.encoded
                try:
                    self._encode(group, keys, uses, advance)
                finally:
                    if self.encoded > before:
                        self.store.count(home, texts=self.encoded - before, seconds=time.monotonic() - started)
        if self.limits.cap is not None:
            self.store.prune(cap=self.limits.cap, keep=self.keep)
        return self.encoded

    def _check_layers(self, missing: Sequence[Need]) -> None:
        asked = max(layer for need in missing for layer in need.layers)
        if asked > self.encoder.layers:
            raise HarnessError(
                f"layer={asked}: {self.encoder.name} has the layers 0 (the embeddings) to {self.encoder.layers}."
            )

    def _make_room(self, missing: Sequence[Need]) -> None:
        needed = estimated_bytes(missing, dim=self.encoder.dim, dtype=self.limits.dtype)
        if self.limits.cap is not None and needed > self.limits.cap:
            raise HarnessError(
                f"The vectors of this run take about {size_text(needed)}, and store.cap_gb allows "
                f"{size_text(self.limits.cap)}: raise it, or choose store.dtype=float16 or fewer contexts."
            )
        free = shutil.disk_usage(self.store.root).free
        if needed > free:
            raise HarnessError(
                f"The vectors of this run take about {size_text(needed)}, and {self.store.root} has {size_text(free)} "
                "left: make room (`harness store prune`), or choose another folder with paths.runs."
            )

    def _encode(
        self, group: Sequence[Need], keys: Sequence[tuple[View, int]], uses: Counter[bytes], advance: Any
    ) -> None:
        """Encode one group and write each of its blocks as soon as the last of its rows has arrived."""
        texts: dict[bytes, Context] = {}
        for need in group:
            texts.update(zip(need.block.contexts.rows, need.block.contexts, strict=True))
        place = {row: i for i, row in enumerate(texts)}
        arrays = {key: np.empty((len(texts), self.encoder.dim), dtype=self.limits.dtype) for key in keys}
        for row in texts.keys() & self.rows.keys():
            for key, array in arrays.items():
                array[place[row]] = self.rows[row][tensor_name(*key)]
        new = [row for row in texts if row not in self.rows]
        missing = [set(need.block.contexts.rows) - self.rows.keys() for need in group]
        waiting: dict[bytes, list[int]] = {}
        for number, rows in enumerate(missing):
            for row in rows:
                waiting.setdefault(row, []).append(number)
            if not rows:
                self._write(group[number], place, arrays)
        at = np.array([place[row] for row in new], dtype=np.int64)
        views, layers = list(dict.fromkeys(v for v, _ in keys)), list(dict.fromkeys(n for _, n in keys))
        batches = self.encoder.encode([texts[row] for row in new], views=views, layers=layers) if new else iter(())
        for batch in batches:
            self._receive(batch, arrays, at, [texts[row] for row in new])
            self.encoded += len(batch.indices)
            advance(len(batch.indices))
            for index in batch.indices:
                for number in waiting.pop(new[index]):
                    missing[number].discard(new[index])
                    if not missing[number]:
                        self._write(group[number], place, arrays)
        if waiting:
            raise RuntimeError(f"{self.encoder.name} gave no vectors for {len(waiting)} of {len(new)} texts")
        for need in group:
            uses.subtract(set(need.block.contexts.rows))
        for row in texts:
            if uses[row] > 0:
                self.rows[row] = {tensor_name(*key): array[place[row]].copy() for key, array in arrays.items()}
            else:
                self.rows.pop(row, None)

    def _receive(
        self,
        batch: EncodedBatch,
        arrays: dict[tuple[View, int], NDArray[Any]],
        at: NDArray[np.int64],
        contexts: Sequence[Context],
    ) -> None:
        for key, array in arrays.items():
            with np.errstate(over="ignore"):
                rows = batch.vectors[key].astype(array.dtype)
            if not np.isfinite(rows).all():
                bad = contexts[int(batch.indices[int(np.argmin(np.isfinite(rows).all(axis=1)))])]
                way_out = "choose store.dtype=float32" if self.limits.dtype == "float16" else "check the model's dtype"
                raise HarnessError(f"{self.encoder.name} gave numbers that are not finite for {bad.text!r}; {way_out}.")
            array[at[batch.indices]] = rows

    def _write(self, need: Need, place: dict[bytes, int], arrays: dict[tuple[View, int], NDArray[Any]]) -> None:
        at = [place[row] for row in need.block.contexts.rows]
        tensors = {tensor_name(*key): arrays[key][at] for key in need.keys}
        self.store.write(need.block, tensors, identity=self.encoder.identity)


def _groups(needs: Sequence[Need]) -> Iterator[list[Need]]:
    """Cut blocks into groups of similar text length, so that little is padded and little is lost when killed."""
    group: list[Need] = []
    texts = 0
    for need in sorted(needs, key=lambda need: (max(len(c.text) for c in need.block.contexts), need.block.path)):
        group.append(need)
        texts += len(need.block.contexts)
        if texts >= GROUP_TEXTS:
            yield group
            group, texts = [], 0
    if group:
        yield group
