"""Time CEAT's inner kernel against a per-word cosine_similarity loop, in one run.

``python -m tests.benchmarks.bench_ceat_kernel`` prints the ratios and writes a table and a figure to docs/benchmarks/.
"""

from __future__ import annotations

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.stats.ceat_kernel import Drawn, ceat_levels, ceat_samples, draw

WORDS, CONTEXTS, DIM, N = 25, 1_000, 768, 10_000
GROWTH = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
LOOP_SAMPLES = 20
REPEATS = 5
REQUIRED_RATIO, ALLOWED_MEGABYTES = 500, 200

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"

Blocks = list[NDArray[np.float32]]
Sets = tuple[Blocks, Blocks, Blocks, Blocks]


@dataclass(frozen=True)
class Row:
    n: int
    kernel: float
    levels: float
    loop: float
    megabytes: float

    @property
    def ratio(self) -> float:
        return self.loop / self.kernel


def make_sets(*, seed: int = 0) -> Sets:
    rng = np.random.default_rng(seed)

    def blocks() -> Blocks:
        return [rng.standard_normal((CONTEXTS, DIM), dtype=np.float32) + np.float32(0.3) for _ in range(WORDS)]

    return blocks(), blocks(), blocks(), blocks()


def loop_sample(sets: Sets, drawn: Drawn, sample: int) -> tuple[float, float]:
    """One sample as a straightforward program computes it: two calls of cosine_similarity a word."""
    from sklearn.metrics.pairwise import cosine_similarity

    X, Y, A, B = (
        np.array([block[i] for block, i in zip(blocks, rows[sample], strict=True)])
        for blocks, rows in zip(sets, drawn, strict=True)
    )

    def association(w: NDArray[Any]) -> float:
        word = w.reshape(1, -1)
        return float(cosine_similarity(word, A).mean() - cosine_similarity(word, B).mean())

    s_x, s_y = [association(x) for x in X], [association(y) for y in Y]
    std = np.std(s_x + s_y, ddof=1)
    return float((np.mean(s_x) - np.mean(s_y)) / std), float(std**2)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def extra_megabytes(action: Callable[[], object]) -> float:
    """Largest amount of memory allocated during a call, on top of what was there before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def check_agreement(sets: Sets, drawn: Drawn) -> float:
    """Largest difference of d between loop and kernel over the samples that the loop is timed on."""
    d = ceat_samples(*sets, drawn).d
    return max(abs(loop_sample(sets, drawn, i)[0] - float(d[i])) for i in range(LOOP_SAMPLES))


def measure(sets: Sets, n: int) -> Row:
    drawn = draw(*sets, n, rng=n)
    part = range(LOOP_SAMPLES // REPEATS)
    kernels, loops = [], []
    # Loop and kernel take turns, so that both see the same machine.
    for _ in range(REPEATS):
        kernels.append(seconds(lambda: ceat_samples(*sets, drawn)))
        loops.append(seconds(lambda: [loop_sample(sets, drawn, i) for i in part]) / len(part))
    return Row(
        n=n,
        kernel=min(kernels),
        levels=seconds(lambda: ceat_levels(*sets, drawn)),
        loop=min(loops) * n,
        megabytes=extra_megabytes(lambda: ceat_samples(*sets, drawn)),
    )


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| N | kernel, s | loop, s (scaled) | times faster | all three levels, s | extra memory, MB |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.n:,} | {r.kernel:.3f} | {r.loop:,.0f} | {r.ratio:,.0f} | {r.levels:.2f} | {r.megabytes:.0f} |"
        for r in rows
    ]
    return "\n".join(lines)


def page(rows: Sequence[Row], difference: float) -> str:
    return f"""# CEAT's inner kernel

d and V of every sample: {WORDS} words a set, {CONTEXTS:,} contexts a word, {DIM} dimensions, float32. The loop calls
scikit-learn's `cosine_similarity` twice a target word; it is timed on {LOOP_SAMPLES} samples and scaled to N. It
computes every s(w) once, so a program that computes them again for the standard deviation takes about twice as long.
Loop and kernel take turns in one run, best of {REPEATS}. Extra memory is what the kernel allocates on top of the
blocks. Both agree on d to {difference:.0e}.

{table(rows)}

![Time against the number of samples](ceat_kernel.png)

Measured with `python -m tests.benchmarks.bench_ceat_kernel` on {platform.machine()},
Python {platform.python_version()}, numpy {np.__version__}. The kernel's time grows in proportion to N: it reads one
row a stimulus and sample, whatever the number of contexts.
"""


def figure(rows: Sequence[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    n = [r.n for r in rows]
    fig, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    series = (
        ("cosine_similarity loop (scaled)", [r.loop for r in rows], "#D55E00", "s", 8),
        ("kernel: all three levels", [r.levels for r in rows], "#009E73", "^", 8),
        ("kernel: d and V", [r.kernel for r in rows], "#0072B2", "o", -34),
    )
    for label, values, colour, marker, offset in series:
        axes.plot(n, values, color=colour, marker=marker)
        place = {"xytext": (0, offset), "textcoords": "offset points", "ha": "right"}
        axes.annotate(label, (n[-1], values[-1]), color=colour, **place)
    axes.set(xscale="log", yscale="log", xlabel="samples N", ylabel="seconds", title="CEAT: time against N")
    axes.set_xticks(n, [f"{k:,}" for k in n])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.12)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for the table and the figure")
    docs: Path = parser.parse_args(argv).docs
    sets = make_sets()
    difference = check_agreement(sets, draw(*sets, N, rng=N))
    rows = [measure(sets, n) for n in GROWTH]
    main_row = next(row for row in rows if row.n == N)
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "ceat_kernel.md").write_text(page(rows, difference), encoding="utf-8")
    figure(rows, docs / "ceat_kernel.png")
    print(f"CEAT kernel, N = {N:,}, {WORDS} words a set, {CONTEXTS:,} contexts each, {DIM} dimensions, float32:")
    print(f"  kernel {main_row.kernel:.3f} s; loop {main_row.loop:,.0f} s, scaled from {LOOP_SAMPLES} samples")
    print(f"  {main_row.ratio:,.0f} times faster (at least {REQUIRED_RATIO} asked)")
    print(f"  extra memory {main_row.megabytes:.0f} MB (under {ALLOWED_MEGABYTES} asked); d agrees to {difference:.0e}")
    print(table(rows))


if __name__ == "__main__":
    main()
