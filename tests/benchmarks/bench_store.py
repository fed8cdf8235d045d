"""How often each text passes through the model, what the store costs beside the bare encoder, and how fast it reads.

Run with ``python -m tests.benchmarks store``. The model is the package asset minilm-l6; the texts are those of
husse2022's eight tests, names and terms, in the templates of SEAT and in the prompt of wolfe2024.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.assets import fetch
from harness.cell import slots
from harness.contexts import Context
from harness.contexts.sources import context_source
from harness.encoders.protocol import VIEWS
from harness.encoders.transformer import TransformerEncoder, open_transformer
from harness.encoding import Need, encode_missing
from harness.stimuli import NoVariantError, load_test
from harness.store import Block, BlockStore, encoder_id

MODEL = {"name": "minilm", "asset": "minilm-l6", "sentence": "mean"}
TESTS = ("h-c1", "h-c3", "h-c6", "h-c9", "h-dis", "h-occ", "h-i1", "h-i2")
SOURCES = ({"name": "templates", "templates": "seat"}, {"name": "prompt", "templates": "this_is"})


@dataclass(frozen=True)
class StoreTimes:
    """What encoding through the store and reading back took."""

    texts: int
    passes: int
    bare: float
    stored: float
    again: float
    read: float
    read_bytes: int

    @property
    def passes_per_text(self) -> float:
        """Forward passes for each distinct text; 1.00 is the only right answer."""
        return self.passes / self.texts

    @property
    def ratio(self) -> float:
        """Texts per second through the store as a share of the bare encoder's."""
        return self.bare / self.stored


def needs_of(home: str, layer: int) -> Iterator[Need]:
    """Yield what a sweep over the tests, their targets and both sources needs."""
    for source in map(context_source, SOURCES):
        for name in TESTS:
            for target in ("names", "terms"):
                try:
                    test = load_test(name, target=target)
                except NoVariantError:
                    continue
                for _, concept in slots(test):
                    for word in concept.words:
                        block = Block(home, source.label, word, source.contexts(concept, word))
                        yield Need(block, frozenset({"mean"}), frozenset({layer}))


def bare_seconds(encoder: TransformerEncoder, texts: list[Context]) -> float:
    """Return the time of one call of the encoder on all texts, nothing kept."""
    started = time.perf_counter()
    for _ in encoder.encode(texts, views=VIEWS, layers=[encoder.layers]):
        pass
    return time.perf_counter() - started


def run_store(root: Path) -> StoreTimes:
    """Measure on a fresh folder."""
    fetch("minilm-l6")
    encoder = open_transformer(MODEL)
    home = encoder_id(encoder.identity)
    needs = list(needs_of(home, encoder.layers))
    texts = list(
        {
            row: c for need in needs for row, c in zip(need.block.contexts.rows, need.block.contexts, strict=True)
        }.values()
    )
    bare_seconds(encoder, texts[:512])
    bare = bare_seconds(encoder, texts)
    store = BlockStore(root)
    started = time.perf_counter()
    encode_missing(store, needs, lambda: encoder)
    stored = time.perf_counter() - started
    started = time.perf_counter()
    assert encode_missing(store, needs, lambda: encoder) == 0
    again = time.perf_counter() - started
    fresh, name = BlockStore(root), f"mean@{encoder.layers}"
    started = time.perf_counter()
    total = 0.0
    for need in needs:
        rows = fresh.read(need.block, name)
        assert rows is not None
        total += float(np.asarray(rows).sum())
    read = time.perf_counter() - started
    return StoreTimes(
        texts=len(texts),
        passes=store.texts_encoded(home),
        bare=bare,
        stored=stored,
        again=again,
        read=read,
        read_bytes=sum(block.bytes for block in store.blocks()),
    )


def main() -> None:
    """Print the counts and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        times = run_store(Path(folder))
    print(f"{times.texts:,} distinct texts, {times.passes:,} forward passes: {times.passes_per_text:.2f} a text")
    print(f"through the store {times.texts / times.stored:,.0f} texts/s, {times.ratio:.0%} of the bare encoder")
    print(f"asking again: {times.again:.2f} s, no forward pass")
    print(f"reading and checking {times.read_bytes / 1e6:.0f} MB: {times.read:.2f} s")


if __name__ == "__main__":
    main()
