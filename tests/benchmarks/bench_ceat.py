"""Time the statistics of a CEAT cell, from mapped blocks to the combined effect size, against the published loop.

``python -m tests.benchmarks.bench_ceat`` prints the ratios and writes a table to docs/benchmarks/.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import BlockSet, Inputs, Measurement
from harness.methods.ceat import combine, inputs_draw, measure
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Drawn, ceat_samples
from harness.stats.meta import RandomEffects
from harness.stimuli import load_test
from tests.benchmarks.bench_ceat_kernel import DOCS, seconds

TEST, CONTEXTS, DIM, N = "c1", 1_000, 768, 10_000
LOOP_SAMPLES, REPEATS = 20, 5
REQUIRED_RATIO = 500


@dataclass(frozen=True)
class Times:
    """Seconds of the same N samples: by the published loop (scaled), to d, V and CES, and for the whole cell."""

    loop: float
    combined: float
    cell: float


def mapped_inputs(folder: Path, *, seed: int = 0) -> Inputs:
    """Blocks of the size of C1 in files, opened as the store opens them."""
    rng = np.random.default_rng(seed)
    test = load_test(TEST)
    sets = {}
    for slot in "XYAB":
        words = getattr(test, slot).words
        blocks = []
        for word in words:
            path = folder / f"{slot}-{word}.f32"
            (rng.standard_normal((CONTEXTS, DIM), dtype=np.float32) + np.float32(0.3)).tofile(path)
            blocks.append(np.memmap(path, dtype=np.float32, mode="r", shape=(CONTEXTS, DIM)))
        sets[slot] = BlockSet(getattr(test, slot).name, words, tuple(blocks))
    return Inputs(test, {}, StatsOptions(ceat_samples=N), seed, encoding="word", unit="item", blocks=sets, model="m")


def published_sample(inputs: Inputs, drawn: Drawn, sample: int) -> tuple[float, float]:
    """One sample as the authors' program computes it: d from the words, then their std from all words once more."""
    from sklearn.metrics.pairwise import cosine_similarity

    X, Y, A, B = (
        np.array([block[i] for block, i in zip(inputs.blocks[slot].blocks, rows[sample], strict=True)])
        for slot, rows in zip("XYAB", drawn, strict=True)
    )

    def association(w: NDArray[Any]) -> float:
        word = w.reshape(1, -1)
        return float(cosine_similarity(word, A).mean() - cosine_similarity(word, B).mean())

    difference = np.mean([association(x) for x in X]) - np.mean([association(y) for y in Y])
    std = np.std([association(w) for w in np.concatenate([X, Y])], ddof=1)
    return float(difference / std), float(std**2)


def combined(inputs: Inputs) -> RandomEffects:
    """Draw, measure every sample, combine: what the published loop gives."""
    X, Y, A, B = (inputs.blocks[slot].blocks for slot in "XYAB")
    found = ceat_samples(X, Y, A, B, inputs_draw(inputs))
    return combine(found.d, found.v, stats=inputs.stats)


def time_all(inputs: Inputs, drawn: Drawn) -> Times:
    """Loop and ours take turns, so that both see the same machine; the best of each counts."""
    part = range(LOOP_SAMPLES // REPEATS)
    published_sample(inputs, drawn, 0)
    loops, ours, cells = [], [], []
    for _ in range(REPEATS):
        loops.append(seconds(lambda: [published_sample(inputs, drawn, i) for i in part]) / len(part))
        ours.append(seconds(lambda: combined(inputs)))
        cells.append(seconds(lambda: measure(inputs)))
    return Times(min(loops) * N, min(ours), min(cells))


def largest_difference(inputs: Inputs, drawn: Drawn, found: Measurement) -> float:
    """How far d differs between the loop and the cell's own record of its samples."""
    kept = {row["sample"]: row["d"] for row in found.tables["samples"]}
    shared = sorted(kept)[:LOOP_SAMPLES]
    return max(abs(published_sample(inputs, drawn, i)[0] - kept[i]) for i in shared)


def page(times: Times, difference: float) -> str:
    return f"""# The statistics of a CEAT cell

N = {N:,} samples of C1 (25 stimuli a set), {CONTEXTS:,} contexts a stimulus, {DIM} dimensions, float32, blocks read by
memory map. The published loop calls scikit-learn's `cosine_similarity` twice a target word and computes every
association twice, once for the difference of means and once for the standard deviation; it is timed on {LOOP_SAMPLES}
samples and scaled. Both take turns in one run, best of {REPEATS}. d agrees to {difference:.0e}.

| | seconds | times faster |
|---|---:|---:|
| published loop (scaled) | {times.loop:,.0f} | 1 |
| the same: draws, d and V of every sample, CES, SE, τ², p | {times.combined:.2f} | {times.loop / times.combined:,.0f} |
| the whole cell: also a permutation p for every sample, tables | {times.cell:.2f} | {times.loop / times.cell:,.0f} |

Measured with `python -m tests.benchmarks.bench_ceat` on {platform.machine()}, Python {platform.python_version()},
numpy {np.__version__}. At least {REQUIRED_RATIO} is asked of the second line.
"""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for the table")
    docs: Path = parser.parse_args(argv).docs
    with tempfile.TemporaryDirectory() as folder:
        inputs = mapped_inputs(Path(folder))
        drawn = inputs_draw(inputs)
        times = time_all(inputs, drawn)
        text = page(times, largest_difference(inputs, drawn, measure(inputs)))
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "ceat.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
