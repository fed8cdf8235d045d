"""How fast the transformer encoder is beside a bare loop over length-sorted batches, and whether memory stays bounded.

Run with ``python -m tests.benchmarks.bench_transformer``. The model is the package asset minilm-l6.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.assets import fetch
from harness.contexts import Context
from harness.encoders.torch_setup import import_torch, import_transformers, quiet
from harness.encoders.transformer import TransformerEncoder, open_transformer
from harness.stimuli import all_words

MODEL = {"name": "minilm", "asset": "minilm-l6", "sentence": "mean"}
TEMPLATES = (
    "This is {}.",
    "{} is here.",
    "Everybody in the town had heard about {} by then.",
    "When they came back from the market, they talked of {} and of little else until it was dark.",
)
BATCH_SIZES = (16, 32, 64, 128)
"""Batch sizes of the bare loop; the fastest counts."""


def contexts_of(count: int) -> list[Context]:
    """Return distinct short texts that hold stimuli."""
    texts = []
    numbered = ((number, word) for number in itertools.count() for word in all_words())
    for place, (number, word) in enumerate(numbered):
        if place == count:
            return texts
        before, after = TEMPLATES[place % len(TEMPLATES)].split("{}")
        tail = f" {number}" if number else ""
        texts.append(Context(f"{before}{word}{after}{tail}", len(before), len(before) + len(word)))
    return texts


@dataclass(frozen=True)
class TransformerTimes:
    """Seconds that the same texts took."""

    texts: int
    bare: float
    batch_size: int
    encoder: float

    @property
    def ratio(self) -> float:
        """The encoder's texts per second as a share of the bare loop's."""
        return self.bare / self.encoder


def bare_loop(contexts: Sequence[Context], tokenizer: Any, model: Any, *, batch_size: int) -> float:
    """Tokenise, sort by length, pad and run; keep the mean over all tokens. Return the seconds."""
    torch = import_torch()
    before = time.perf_counter()
    ids = sorted(tokenizer([context.text for context in contexts])["input_ids"], key=len, reverse=True)
    with torch.inference_mode():
        for begin in range(0, len(ids), batch_size):
            batch = tokenizer.pad({"input_ids": ids[begin : begin + batch_size]}, return_tensors="pt")
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"][:, :, None]
            ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    return time.perf_counter() - before


def encoder_loop(contexts: Sequence[Context], encoder: TransformerEncoder) -> float:
    """Encode with all four views of the last layer. Return the seconds."""
    before = time.perf_counter()
    for _ in encoder.encode(contexts, views=("mean", "first", "last", "sentence"), layers=(encoder.layers,)):
        pass
    return time.perf_counter() - before


def measure(*, texts: int, rounds: int) -> TransformerTimes:
    """Time both in turn, on the same texts and threads; the best round of each counts."""
    folder = fetch("minilm-l6")
    transformers = import_transformers()
    with quiet(transformers):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModel.from_pretrained(folder).eval()
    encoder = open_transformer(MODEL)
    contexts = contexts_of(texts)
    bare: dict[int, list[float]] = {size: [] for size in BATCH_SIZES}
    ours = []
    encoder_loop(contexts[:200], encoder)
    for _ in range(rounds):
        for size in BATCH_SIZES:
            bare[size].append(bare_loop(contexts, tokenizer, model, batch_size=size))
            ours.append(encoder_loop(contexts, encoder))
    best = min(BATCH_SIZES, key=lambda size: min(bare[size]))
    return TransformerTimes(texts, min(bare[best]), best, min(ours))


_PEAK = """
import resource, sys
from tests.benchmarks.bench_transformer import MODEL, contexts_of, encoder_loop, open_transformer
encoder_loop(contexts_of(int(sys.argv[1])), open_transformer(MODEL))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))
"""


def peak_megabytes(texts: int) -> float:
    """Return the most memory that encoding takes in a process of its own."""
    command = [sys.executable, "-c", _PEAK, str(texts)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(argv: Sequence[str] = ()) -> None:
    """Print the times, the ratio and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--more", type=int, default=5, help="how many times the texts for the second look at memory")
    options = parser.parse_args(argv)
    times = measure(texts=options.texts, rounds=options.rounds)
    more = options.texts * options.more
    few, many = peak_megabytes(options.texts), peak_megabytes(more)
    print(f"bare loop, batches of {times.batch_size:<4} {times.texts / times.bare:8.0f} texts/s")
    print(
        f"encoder, four views        {times.texts / times.encoder:8.0f} texts/s   ratio {times.ratio:.2f} (0.90 asked)"
    )
    print(f"most memory                {few:8.0f} MB for {options.texts:,} texts, {many:.0f} MB for {more:,}")


if __name__ == "__main__":
    main(sys.argv[1:])
