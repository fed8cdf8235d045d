"""How fast a large GloVe text file is filtered to the stimuli, beside gensim's text loader in the same run.

Run with ``python -m tests.benchmarks.bench_static``; ``--words`` makes the file smaller.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.stimuli import all_words

DIMENSION = 300
_BLOCK = 1_000


@dataclass(frozen=True)
class StaticTimes:
    """Seconds of the three ways to open one file, and the most memory that filtering took."""

    gensim: float
    filtered: float
    cached: float
    megabytes: float

    @property
    def speedup(self) -> float:
        """How many times faster filtering is than gensim's loader."""
        return self.gensim / self.filtered

    @property
    def cached_speedup(self) -> float:
        """How many times faster the second opening is than the first."""
        return self.filtered / self.cached


def write_glove(path: Path, words: int) -> None:
    """Write a GloVe text file of random vectors that holds the stimuli among other words."""
    rng = np.random.default_rng(0)
    stimuli = sorted({word for stimulus in all_words() for word in stimulus.split()})[:words]
    names = [*stimuli, *(f"word{i}" for i in range(words - len(stimuli)))]
    order = rng.permutation(len(names))
    numbers = [" ".join(f"{value:.5f}" for value in row) for row in rng.normal(scale=0.4, size=(_BLOCK, DIMENSION))]
    with path.open("w", encoding="utf-8") as file:
        for place, chosen in enumerate(order):
            file.write(f"{names[chosen]} {numbers[place % _BLOCK]}\n")


_OPEN = """
import resource, sys, time
from pathlib import Path
from harness.encoders import open_static
from harness.stimuli import all_words
words = all_words()
before = time.perf_counter()
encoder = open_static({"name": "bench", "path": sys.argv[1]}, cache=Path(sys.argv[2]), wanted=words)
seconds = time.perf_counter() - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(seconds, peak)
"""


def _open(path: Path, cache: Path) -> tuple[float, float]:
    command = [sys.executable, "-c", _OPEN, str(path), str(cache)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def measure(words: int) -> StaticTimes:
    """Generate a file and open it in the three ways, each in turn on the same machine."""
    from gensim.models import KeyedVectors

    with tempfile.TemporaryDirectory() as folder:
        path, cache = Path(folder) / "glove.txt", Path(folder) / "cache"
        write_glove(path, words)
        filtered, megabytes = _open(path, cache)
        cached, _ = _open(path, cache)
        before = time.perf_counter()
        KeyedVectors.load_word2vec_format(str(path), binary=False, no_header=True)
        return StaticTimes(time.perf_counter() - before, filtered, cached, megabytes)


def main(argv: Sequence[str] = ()) -> None:
    """Print the times and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=400_000)
    times = measure(parser.parse_args(argv).words)
    print(f"gensim's text loader   {times.gensim:8.2f} s")
    print(f"filtered, first time   {times.filtered:8.2f} s   {times.speedup:.1f} times faster (10 asked for)")
    print(
        f"from the cache         {times.cached:8.4f} s   {times.cached_speedup:.0f} times faster still (100 asked for)"
    )
    print(f"most memory, filtering {times.megabytes:8.0f} MB  (under 500 asked for)")


if __name__ == "__main__":
    main(sys.argv[1:])
