"""How long the audit of 10,000 cells takes, from result files to the page with its figures.

Run with ``python -m tests.benchmarks audit``. The cells are generated: ten tests of 8 v 8 words, a thousand
specifications each, every one with associations of its own. Measured on quiet cores, it is to stay under ten seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.audit.report import write_report
from harness.audit.robustness import audit
from tests.audit.multiverse import multiverse, write_sweep

AXES = {
    "test": [f"t{i}" for i in range(1, 11)],
    "model": ["a", "b", "c", "d", "e"],
    "encoding": ["word", "sentence"],
    "pooling": ["mean", "first", "last", "max", "cls"],
    "layer": [0, 3, 6, 9, 12],
    "ddof": [0, 1],
    "alternative": ["greater", "two-sided"],
}


def made_up(factors: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Associations that hang on every choice a little."""
    own = np.random.default_rng([ord(str(factors["model"])), int(factors["layer"]), len(str(factors["pooling"]))])
    s = rng.normal(size=16) + 0.3 * own.normal(size=16)
    return s[:8] + 0.6, s[8:]


def main() -> None:
    """Print the seconds of each step: on the wall, and of the processor where other work slows the wall down."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        results = multiverse(AXES, made_up)
        write_sweep(runs, results)
        clocks = [(time.perf_counter(), time.process_time())]
        found = audit(runs, "planted")
        clocks.append((time.perf_counter(), time.process_time()))
        write_report(found, runs / "audit")
        clocks.append((time.perf_counter(), time.process_time()))
    for name, (wall, busy), (wall_after, busy_after) in zip(("audit", "report"), clocks, clocks[1:], strict=False):
        print(f"{len(results):,} cells, {name}: {wall_after - wall:.1f} s, of which busy {busy_after - busy:.1f} s")


if __name__ == "__main__":
    main()
