"""Generated sweeps whose answer is known: result files as the runner writes them, from planted associations."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.methods.base import VectorSet
from harness.methods.weat import Weat, measurement
from harness.result import Result, ResultStore
from harness.stats.effect import cohens_d
from harness.stats.permutation import permutation_pvalue

BASE: dict[str, Any] = {
    "model": "made-up", "test": "t1", "method": "weat", "target": None, "context": None, "encoding": None,
    "pooling": None, "layer": None, "association": "cosine", "unit": None, "missing": "drop", "unequal": "error",
    "stats": "default", "ddof": 1, "alternative": "greater", "null": "normal", "ties": "inclusive",
    "resamples": 100_000, "seed": 0,
}  # fmt: skip

Values = Callable[[Mapping[str, Any], np.random.Generator], tuple[np.ndarray, np.ndarray]]


def cell(factors: Mapping[str, Any], s_x: np.ndarray, s_y: np.ndarray) -> Result:
    """One finished cell with these associations, its d and p computed as the methods do."""
    both = {**BASE, **factors}
    mask = np.arange(len(s_x) + len(s_y)) < len(s_x)
    p = permutation_pvalue(
        np.concatenate([s_x, s_y]), mask, alternative=both["alternative"], null=both["null"], resamples=200, rng=0
    )
    d = cohens_d(s_x, s_y, ddof=int(both["ddof"]))
    names = [[f"{slot}{i}" for i in range(len(s))] for slot, s in (("x", s_x), ("y", s_y))]
    sets = [VectorSet(f"set {slot}", tuple(n), np.empty((len(n), 1))) for slot, n in zip("XY", names, strict=True)]
    found = measurement(Weat(d, p, d - 0.3, d + 0.3, "percentile", s_x, s_y), *sets)
    return Result(
        fingerprint=fingerprint(both),
        status="finished",
        identity={},
        factors=both,
        metrics={**found.metrics, "n_x": float(len(s_x)), "n_y": float(len(s_y))},
        labels=found.labels,
        tables=found.tables,
        words={slot: {"used": n, "dropped": []} for slot, n in zip("XY", names, strict=True)},
        seconds=0.01,
        versions={"eat-harness": "0"},
        config={"stats": {"name": both["stats"]}},
    )


def fingerprint(factors: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(factors), sort_keys=True).encode()).hexdigest()


def unfinished(factors: Mapping[str, Any], *, status: Any, reason: str) -> Result:
    both = {**BASE, **factors}
    return Result(fingerprint(both), status, {}, both, reason=reason)


def multiverse(axes: Mapping[str, Sequence[Any]], values: Values, *, seed: int = 0) -> list[Result]:
    """Every combination of the axes; ``values`` gives s(x) and s(y) of one, from a generator that all share."""
    names = list(axes)
    found = []
    for combination in itertools.product(*axes.values()):
        factors = dict(zip(names, combination, strict=True))
        found.append(cell(factors, *values(factors, np.random.default_rng(seed))))
    return found


def write_sweep(runs: Path, results: Sequence[Result], *, sweep: str = "planted", lost: Sequence[str] = ()) -> str:
    """Write results as a recorded sweep."""
    store = ResultStore(runs)
    for result in results:
        result.sweep = sweep
        store.write(result)
    folder = runs / "sweeps" / sweep
    folder.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {"command": "harness run -m", "sweep": sweep, "seconds": 1.0}
    record["factors"] = {result.fingerprint: result.factors for result in results}
    record["factors"] |= {key: {**BASE, "model": "a", "test": "t13"} for key in lost}
    record["fingerprints"] = list(record["factors"])
    (folder / "sweep.json").write_text(json.dumps(record))
    return sweep
