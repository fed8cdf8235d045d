"""Vectors of stimuli in context: from the store where they are, from the model where they are not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.balance import drawn, evened
from harness.cell import Cell
from harness.contexts.mixed import part_of_source
from harness.contexts.sources import BareSource, ContextSource
from harness.contexts.texts import stimulus_contexts
from harness.encoders.protocol import VIEWS, ContextualEncoder, View
from harness.encoding import Limits, Need, encode_missing
from harness.errors import HarnessError
from harness.methods.base import POLE_SLOTS, BlockSet, VectorSet
from harness.models import is_shared_space, is_static, open_contextual, vectors_identity
from harness.progress import Progress, silent
from harness.result import Result
from harness.stimuli import Concept
from harness.store import Block, BlockStore, encoder_id, tensor_name

Used = dict[str, dict[str, list[str]]]

BARE = BareSource()
"""How the poles of a subspace are read: alone (omrani2023, Section 4.1)."""


def reads_vectors(cell: Cell) -> bool:
    """Return whether a cell reads vectors of texts: its model is not static, and its method measures vectors."""
    return not is_static(cell.model) and not cell.spec.pairs


def view_of(cell: Cell) -> View:
    """Return the vectors that a cell measures: a pooling of the stimulus' subwords, or the sentence.

    A model of images and texts has one vector of each, in the space that they share.
    """
    if is_shared_space(cell.model):
        return "sentence"
    return "sentence" if cell.encoding == "sentence" else cell.pooling  # type: ignore[return-value]


class ContextualVectors:
    """Reads blocks and encodes those that are missing; the model is opened when the first one is.

    One model is held at a time: the cells of a plan share it.
    """

    def __init__(self, runs: Path, *, progress: Progress = silent) -> None:
        self.store = BlockStore(runs / "store")
        self._runs = runs
        self._progress = progress
        self._encoder: tuple[str, ContextualEncoder] | None = None
        self._homes: dict[tuple[str, str], str] = {}

    def encoder(self, cell: Cell) -> ContextualEncoder:
        """Return the cell's model, opened."""
        key = json.dumps(cell.model, sort_keys=True)
        if self._encoder is None or self._encoder[0] != key:
            self._encoder = None
            encoder = open_contextual(cell.model, runs=self._runs)
            if cell.model.get("layers") not in (None, encoder.layers):
                raise HarnessError(
                    f"model.layers={cell.model['layers']}: the last layer of {encoder.name} is {encoder.layers}."
                )
            self._encoder = (key, encoder)
        return self._encoder[1]

    def home(self, cell: Cell) -> str:
        """Return the folder of the cell's model in the store."""
        dtype = _limits(cell).dtype
        key = (json.dumps(cell.model, sort_keys=True), dtype)
        if key not in self._homes:
            self._homes[key] = encoder_id(vectors_identity(cell.model, runs=self._runs), dtype=dtype)
        return self._homes[key]

    def layers(self, cell: Cell, layer: str | int | None = None) -> list[int]:
        """Return the layers that ``last``, ``all`` or a number means; the model is opened if it never was before."""
        if is_shared_space(cell.model):
            return [0]
        layer = cell.layer if layer is None else layer
        if isinstance(layer, int):
            return [layer]
        stated, known = cell.model.get("layers"), self.store.description(self.home(cell))
        top = int(stated or (known["layers"] if known else self.encoder(cell).layers))
        return [top] if layer == "last" else list(range(top + 1))

    def needs(
        self, cell: Cell, concepts: Iterable[Concept], layers: Iterable[int], *, source: ContextSource | None = None
    ) -> Iterator[Need]:
        """Yield what a cell needs for some concepts, in the cell's contexts or in those of another source."""
        home, source, view = self.home(cell), source or cell.source, frozenset({view_of(cell)})
        wanted = frozenset(layers)
        gives = tuple(view) if is_shared_space(cell.model) else VIEWS
        for concept in concepts:
            part = part_of_source(source, concept)
            for word in concept.words:
                block = Block(home, part.label, word, stimulus_contexts(part, concept, word))
                yield Need(block, view, wanted, gives)

    def cell_needs(
        self, cell: Cell, layers: Iterable[int], more: Mapping[str, Collection[int]] | None = None
    ) -> Iterator[Need]:
        """Yield all that a cell needs: its stimuli in context, and its poles alone; ``more`` layers by source."""
        wanted, more = set(layers), more or {}
        yield from self.needs(cell, _concepts(cell), wanted | set(more.get(cell.source.label, ())))
        if cell.poles is not None:
            yield from self.needs(cell, cell.poles, wanted | set(more.get(BARE.label, ())), source=BARE)

    def prefetch(self, cells: Iterable[Cell], *, layers: Mapping[str, Sequence[str | int]] | None = None) -> None:
        """Encode everything that these cells lack, together.

        ``layers`` are those that other workers of the same sweep will ask for, by context source: a text is read once
        for all of them.
        """
        by_home: dict[str, list[Cell]] = {}
        for cell in cells:
            by_home.setdefault(self.home(cell), []).append(cell)
        for group in by_home.values():
            top = self.layers(group[0], "last")[0]
            more = {
                source: [number for layer in asked for number in self.layers(group[0], layer) if number <= top]
                for source, asked in (layers or {}).items()
            }
            # A layer that the model does not have fails in the cell that asks for it, not here for all cells.
            needs = [
                need
                for cell in group
                if (wanted := [number for number in self.layers(cell) if number <= top])
                for need in self.cell_needs(cell, wanted, more)
            ]
            self._encode(group[0], needs)

    def _encode(self, cell: Cell, needs: Iterable[Need]) -> None:
        encode_missing(self.store, needs, lambda: self.encoder(cell), limits=_limits(cell), progress=self._progress)

    def blocks(
        self, cell: Cell, concept: Concept, layer: int, *, source: ContextSource | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the vectors of each stimulus of a concept, a row for each text, as they are stored."""
        needs = list(self.needs(cell, [concept], [layer], source=source))
        name = tensor_name(view_of(cell), layer)
        found: dict[str, NDArray[Any]] = {}
        for attempt in range(2):
            lost = [need for need in needs if need.block.word not in found]
            if attempt:
                self._encode(cell, lost)
            for need in lost:
                rows = self.store.read(need.block, name)
                if rows is not None:
                    found[need.block.word] = rows
            if len(found) == len(needs):
                return found
        words = ", ".join(need.block.word for need in needs if need.block.word not in found)
        raise HarnessError(f"The vectors of {words} were written to {self.store.root} and could not be read back.")

    def begins_with(self, cell: Cell) -> str | None:
        """Return the special token that every text begins with, an empty text for none; None if that is not known."""
        token = (self.store.description(self.home(cell)) or {}).get("begins_with")
        return None if token is None else str(token)

    def notes(self, cell: Cell) -> list[str]:
        """Return which of the cell's blocks were damaged and computed again."""
        paths = [self.store.root / need.block.path for need in self.cell_needs(cell, [])]
        return [self.store.damaged[path] for path in paths if path in self.store.damaged]


def _concepts(cell: Cell) -> list[Concept]:
    return list(cell.concepts.values())


def _limits(cell: Cell) -> Limits:
    store: Mapping[str, Any] = cell.config.get("store") or {}
    cap = store.get("cap_gb")
    return Limits(str(store.get("dtype") or "float32"), None if cap is None else int(float(cap) * 1e9))


def contextual_sets(
    cell: Cell, vectors: ContextualVectors, concepts: Mapping[str, Concept], layer: int, result: Result
) -> tuple[dict[str, VectorSet], Used]:
    """Return the vectors of a test by slot: every text a row, or one row a stimulus, the mean over its texts."""
    items = cell.spec.items
    kept, lost = _kept_stimuli(cell, concepts, result)
    sets: dict[str, VectorSet] = {}
    for slot, concept in cell.concepts.items():
        blocks = vectors.blocks(cell, concept, layer)
        rows = [np.asarray(blocks[word], dtype=np.float64) for word in kept[slot]]
        if items:
            words = tuple(word for word, block in zip(kept[slot], rows, strict=True) for _ in block)
            sets[slot] = VectorSet(concept.name, words, np.concatenate(rows))
        else:
            means = np.stack([block.mean(axis=0) for block in rows])
            sets[slot] = VectorSet(concept.name, tuple(kept[slot]), means)
    if items and cell.unequal == "downsample" and "X" in sets and "Y" in sets:
        _even_items(sets, seed=cell.seed, result=result)
    sets |= _pole_sets(cell, vectors, layer)
    return _postprocessed(cell, sets), {slot: {"used": kept[slot], "dropped": lost[slot]} for slot in concepts}


def contextual_blocks(
    cell: Cell, vectors: ContextualVectors, concepts: Mapping[str, Concept], layer: int, result: Result
) -> tuple[dict[str, BlockSet], dict[str, VectorSet], Used]:
    """Return the vectors of a test by slot as they are stored: a block for each stimulus, mapped and not copied.

    Beside them stand the poles of the cell's subspace, if it has one, a row for each word.
    """
    kept, lost = _kept_stimuli(cell, concepts, result)
    sets: dict[str, BlockSet] = {}
    for slot, concept in cell.concepts.items():
        blocks = vectors.blocks(cell, concept, layer)
        sets[slot] = BlockSet(concept.name, tuple(kept[slot]), tuple(blocks[word] for word in kept[slot]))
    used = {slot: {"used": kept[slot], "dropped": lost[slot]} for slot in concepts}
    poles = _pole_sets(cell, vectors, layer)
    if cell.postprocess is None:
        return sets, poles, used
    changed = _postprocessed(cell, {slot: _joined(whole) for slot, whole in sets.items()} | poles)
    cut = {slot: _cut(s, changed[slot].vectors) for slot, s in sets.items()}
    return cut, {slot: changed[slot] for slot in poles}, used


def _pole_sets(cell: Cell, vectors: ContextualVectors, layer: int) -> dict[str, VectorSet]:
    """Return the vectors of the poles of a cell's subspace by slot, each word read alone; nothing if it has none."""
    sets: dict[str, VectorSet] = {}
    for slot, pole in zip(POLE_SLOTS, cell.poles or (), strict=False):
        blocks = vectors.blocks(cell, pole, layer, source=BARE)
        means = np.stack([np.asarray(blocks[word], dtype=np.float64).mean(axis=0) for word in pole.words])
        sets[slot] = VectorSet(pole.name, pole.words, means)
    return sets


def _joined(whole: BlockSet) -> VectorSet:
    words = tuple(word for word, block in zip(whole.words, whole.blocks, strict=True) for _ in block)
    return VectorSet(whole.name, words, np.concatenate(whole.blocks).astype(np.float64))


def _cut(whole: BlockSet, rows: NDArray[np.float64]) -> BlockSet:
    ends = np.cumsum([len(block) for block in whole.blocks])[:-1]
    return BlockSet(whole.name, whole.words, tuple(np.split(rows, ends)))


def _kept_stimuli(
    cell: Cell, concepts: Mapping[str, Concept], result: Result
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the stimuli of every slot that are kept and left out, as ``missing`` and ``unequal`` say; name the latter.

    A stimulus that the context source has too few texts for is out already; ``drop_balanced`` evens the pair of sets.
    """
    short = cell.supply.short if cell.supply else {}
    result.notes += [cell.supply.complaint(slot) + "." for slot in short] if cell.supply else []
    kept = {slot: list(concept.words) for slot, concept in cell.concepts.items()}
    lost = {slot: list(short.get(slot, ())) for slot in concepts}
    even = evened(kept, lost, result.notes, missing=cell.missing, unequal=cell.unequal, seed=cell.seed)
    kept |= {slot: [kept[slot][place] for place in places] for slot, places in even.items()}
    return kept, lost


def _even_items(sets: dict[str, VectorSet], *, seed: int, result: Result) -> None:
    """Even the targets' texts out too, where stimuli have unequal numbers of them (husse2022)."""
    size = min(len(sets["X"]), len(sets["Y"]))
    for slot in ("X", "Y"):
        whole = sets[slot]
        if len(whole) > size:
            at = drawn(len(whole), size, seed=seed)
            sets[slot] = VectorSet(whole.name, tuple(whole.words[i] for i in at), whole.vectors[at])
            result.notes.append(f"Left {len(whole) - size} of {len(whole)} texts of {slot} out to even the sets.")


def _postprocessed(cell: Cell, sets: dict[str, VectorSet]) -> dict[str, VectorSet]:
    """Apply what the model's config does against anisotropy, over all vectors that are compared with each other."""
    if cell.postprocess is None:
        return sets
    from harness.encoders.postprocess import postprocess

    together = np.concatenate([vectors.vectors for vectors in sets.values()])
    changed = postprocess(together, str(cell.model["postprocess"]), components=int(cell.model.get("components") or 0))
    ends = np.cumsum([len(vectors) for vectors in sets.values()])[:-1]
    return {
        slot: VectorSet(whole.name, whole.words, rows)
        for (slot, whole), rows in zip(sets.items(), np.split(changed, ends), strict=True)
    }


@dataclass(frozen=True)
class TextCount:
    """How many texts were asked for by all cells, how many of them differ, and how many were encoded."""

    asked: int
    distinct: int
    encoded: int


def wanted_layers(runs: Path, cells: Iterable[Cell]) -> Callable[[Cell], dict[str, list[str | int]]]:
    """Return a function that tells which layers of a cell's model any of these cells asks for, by context source."""
    vectors = ContextualVectors(runs)
    layers: dict[str, dict[str, set[str | int]]] = {}
    for cell in cells:
        if cell.layer is not None:
            sources = [cell.source.label, *([BARE.label] if cell.poles else [])]
            for source in sources:
                layers.setdefault(vectors.home(cell), {}).setdefault(source, set()).add(cell.layer)
    return lambda cell: (
        {}
        if cell.layer is None
        else {source: sorted(asked, key=str) for source, asked in layers[vectors.home(cell)].items()}
    )


class TextTally:
    """Counts, for a sweep, the texts that its cells need and those that were encoded for it by any worker."""

    def __init__(self, runs: Path, cells: Iterable[Cell]) -> None:
        self._store = BlockStore(runs / "store")
        vectors = ContextualVectors(runs)
        self._rows: dict[str, set[bytes]] = {}
        self._asked = 0
        for cell in cells:
            if not reads_vectors(cell):
                continue
            rows = self._rows.setdefault(vectors.home(cell), set())
            for need in vectors.cell_needs(cell, []):
                self._asked += len(need.block.contexts)
                rows.update(need.block.contexts.rows)
        self._before = self._encoded()

    def _encoded(self) -> int:
        return sum(self._store.texts_encoded(home) for home in self._rows)

    def count(self) -> TextCount | None:
        """Return the count until now; None where no cell reads texts."""
        if not self._rows:
            return None
        distinct = sum(len(rows) for rows in self._rows.values())
        return TextCount(self._asked, distinct, self._encoded() - self._before)
