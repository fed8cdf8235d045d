"""How fast a text file is searched for all stimuli beside ripgrep, in what memory, and what a second worker brings.

``python -m tests.benchmarks corpus`` prints the ratios and writes a table to docs/benchmarks/. The text is made of runs
of three words of the asset gutenberg, 930 MB; ripgrep looks for the same words (``rg -o -w -F -f words``), and our time
is that of a whole build with 10,000 contexts a stimulus: reading, cleaning, sentences, matching, sampling, writing.
Wall clock and processor time are given both, because only the second means something on a machine that others use.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.assets import fetch
from harness.corpus.build import Settings, build
from harness.corpus.patterns import all_concepts, compile_patterns
from tests.benchmarks.bench_ceat_kernel import DOCS

MEGABYTES = 930
ROUNDS = 2


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock and of the processor, and the most memory held (MB)."""

    wall: float
    processor: float
    memory: float


def write_text(path: Path, size: int) -> Path:
    """Write about ``size`` bytes of English-like paragraphs."""
    words = np.array(
        [word for file in sorted(fetch("gutenberg").glob("*.txt")) for word in file.read_text("latin-1").split()],
        dtype=object,
    )
    rng, written = np.random.default_rng(0), 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            runs = rng.integers(0, len(words) - 3, 200_000)[:, None] + np.arange(3)
            lines = [" ".join(row) for row in words[runs.reshape(-1, 600)].tolist()]
            written += file.write("\n\n".join(lines) + "\n\n")
    return path


def all_words() -> list[str]:
    """Return every stimulus."""
    return sorted({word for concept in all_concepts() for word in concept.words})


def write_words(path: Path) -> Path:
    """Write every stimulus, one a line."""
    path.write_text("\n".join(all_words()) + "\n", encoding="utf-8")
    return path


def measured(command: list[str]) -> Cost:
    """Run a command, its output thrown away, and return what it cost."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)


def built(text: Path, folder: Path, *, k: int, workers: int) -> Cost:
    """Build a corpus in a process of its own; the start of Python and the compiling of patterns are left out."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_corpus", str(text), str(folder), str(k), str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(**json.loads(done.stdout))


def one_build(text: str, folder: str, k: str, workers: str) -> None:
    """Print the cost of one build."""
    patterns = compile_patterns(all_concepts())
    wall, processor = time.perf_counter(), time.process_time()
    build("bench", [text], patterns, Path(folder), settings=Settings(k=int(k)), workers=int(workers))
    cost = Cost(
        time.perf_counter() - wall,
        time.process_time() - processor,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    )
    print(json.dumps(vars(cost)))


def main() -> None:
    """Write down throughputs, their ratio, memory and the gain of a second worker."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, words = write_text(folder / "text.txt", MEGABYTES * 1_000_000), write_words(folder / "words.txt")
        size = text.stat().st_size / 1e6
        search = ["rg", "-o", "-w", "-F", "-f", str(words), str(text)]
        theirs, ours = [], []
        for _ in range(ROUNDS):
            theirs.append(measured(search))
            ours.append(built(text, folder, k=10_000, workers=1))
        two = min(built(text, folder, k=10_000, workers=2).wall for _ in range(ROUNDS))
        half = write_text(folder / "half.txt", MEGABYTES * 500_000)
        memory = [built(file, folder, k=500, workers=1).memory for file in (half, text)]
    text = page(size, theirs, ours, two, memory)
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / "corpus.md").write_text(text, encoding="utf-8")
    print(text)


def page(size: float, theirs: list[Cost], ours: list[Cost], two: float, memory: list[float]) -> str:
    """Return the table of a run; the best of all rounds counts for both."""
    wall = [min(cost.wall for cost in costs) for costs in (theirs, ours)]
    processor = [min(cost.processor for cost in costs) for costs in (theirs, ours)]
    return f"""# Searching a corpus

{size:,.0f} MB of text, all {len(all_words()):,} stimuli, in one run on {os.cpu_count()} cores. ripgrep is
`rg -o -w -F -f words text`; ours is a whole build with 10,000 contexts a stimulus: reading, cleaning, sentences,
matching, sampling, writing the sample. Both best of {ROUNDS}.

| | MB/s | MB/s of processor time |
|---|---:|---:|
| ripgrep | {size / wall[0]:.0f} | {size / processor[0]:.0f} |
| `harness corpus build`, one worker | {size / wall[1]:.0f} | {size / processor[1]:.0f} |
| share (at least .25 is asked) | {wall[0] / wall[1]:.2f} | {processor[0] / processor[1]:.2f} |
| two workers | {size / two:.0f} | |

Two workers are {wall[1] / two:.2f} times as fast as one (1.7 is asked of a machine with nothing else to do). Memory
peaks at {memory[0]:.0f} MB for {size / 2:.0f} MB of text and at {memory[1]:.0f} MB for {size:.0f} MB (500 contexts a
stimulus).

Measured with `python -m tests.benchmarks corpus` on {platform.machine()}, Python {platform.python_version()}.
"""


if __name__ == "__main__":
    one_build(*sys.argv[1:])
