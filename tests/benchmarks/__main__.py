"""Run every benchmark, or those named: ``python -m tests.benchmarks [NAME ...]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        print(f"There is no benchmark named {unknown[0]!r}; there are {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    for name in chosen:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"tests.benchmarks.bench_{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
