"""Stimuli that a sweep has encoded in their texts: what random tests of texts are drawn from, at no new encoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from harness.audit.frequency import Frequencies
from harness.audit.redraw import NAMES, WORDS, Design, Pool
from harness.cell import Cell
from harness.contextual import ContextualVectors, view_of
from harness.errors import HarnessError
from harness.result import Result
from harness.store import tensor_name

Block = NDArray[Any]
Key = tuple[str, ...]

SETTING = ("model", "context", "encoding", "pooling", "layer", "postprocess")
"""The factors that tell one set of stored vectors from another."""


@dataclass(frozen=True)
class StoredPool:
    """The blocks of all stimuli that cells of one setting used, and the words among them."""

    setting: Key
    pool: Pool
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        """The setting in one text."""
        return ", ".join(part for part in self.setting if part != "None")


def pools_in_words(pools: Iterable[StoredPool]) -> list[str]:
    """Say what was drawn from: a line for pools of one size, whatever their encoding and pooling."""
    settings: dict[tuple[int, int], dict[str, set[str]]] = {}
    for one in pools:
        models = settings.setdefault((one.pool.size(NAMES), one.pool.size(WORDS)), {})
        models.setdefault(one.setting[1], set()).add(one.setting[0])
    return [
        f"{names} names and {words} words that the sweep has encoded in their texts: "
        + ", ".join(f"{context} ({' and '.join(sorted(models))})" for context, models in by_context.items())
        for (names, words), by_context in settings.items()
    ]


def stored_pools(
    results: Sequence[Result], *, runs: Path, frequencies: Frequencies | None, bands: int
) -> dict[Key, StoredPool]:
    """Read the blocks of all stimuli of these cells from the store, by setting; nothing is encoded."""
    found: dict[Key, dict[str, Block]] = {}
    vectors = ContextualVectors(runs)
    seen: set[tuple[Key, str]] = set()
    for result in results:
        key = setting_of(result)
        for cell in _cells(result):
            for word, block in _blocks(cell, vectors, seen, key):
                found.setdefault(key, {})[word] = block
    return {
        key: StoredPool(
            key,
            Pool(tuple(blocks), frequencies=frequencies, bands=bands),
            tuple(blocks.values()),
        )
        for key, blocks in found.items()
    }


def setting_of(result: Result) -> Key:
    """Return what tells the vectors of a cell from those of others."""
    return tuple(str(result.factors.get(name)) for name in SETTING)


def _cells(result: Result) -> Iterable[Cell]:
    try:
        yield Cell.from_config(result.config)
    except (HarnessError, KeyError, TypeError):
        return


def _blocks(
    cell: Cell, vectors: ContextualVectors, seen: set[tuple[Key, str]], key: Key
) -> Iterable[tuple[str, Block]]:
    """Yield the stimuli of a cell that the store has and that were not read before."""
    if cell.postprocess is not None:
        return
    try:
        layers = vectors.layers(cell)
    except (HarnessError, ImportError, OSError):
        return
    name = tensor_name(view_of(cell), layers[-1])
    for need in vectors.needs(cell, cell.concepts.values(), layers[-1:]):
        if (key, need.block.word) in seen:
            continue
        seen.add((key, need.block.word))
        if vectors.store.holds(need.block, [name]):
            rows = vectors.store.read(need.block, name)
            if rows is not None:
                yield need.block.word, rows


def designs_of(results: Iterable[Result], pools: Mapping[Key, StoredPool]) -> list[tuple[Key, Design]]:
    """Return the distinct designs of cells whose setting has stored vectors."""
    found: dict[tuple[Key, Design], None] = {}
    for result in results:
        key = setting_of(result)
        if key in pools:
            used = {slot: list(dict.fromkeys(words["used"])) for slot, words in result.words.items()}
            design = pools[key].pool.design(pools[key].name, used)
            if design is not None:
                found[key, design] = None
    return list(found)
