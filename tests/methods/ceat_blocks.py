"""Generated blocks in which X leans to A and Y to B, and the plain loop that CEAT must agree with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import BlockSet, Inputs
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Drawn
from harness.stimuli import AssociationTest, Concept

SIZES = {"X": (30, 12, 25, 40), "Y": (18, 33, 9), "A": (20, 31, 14, 25, 22), "B": (27, 15, 19, 30)}
LEAN = {"X": 0.6, "Y": -0.6, "A": 1.5, "B": -1.5}


def block_sets(
    *, dtype: type = np.float64, dim: int = 16, seed: int = 0, lean: float = 1.0, sizes: Any = None
) -> dict[str, BlockSet]:
    rng = np.random.default_rng(seed)
    sets = {}
    for slot, counts in (sizes or SIZES).items():
        words = tuple(f"{slot.lower()}{i}" for i in range(len(counts)))
        centres = rng.normal(size=(len(counts), dim)) + lean * LEAN[slot] * np.eye(dim)[0]
        blocks = tuple(
            (centre + 0.5 * rng.normal(size=(count, dim))).astype(dtype)
            for centre, count in zip(centres, counts, strict=True)
        )
        sets[slot] = BlockSet(f"concept/{slot.lower()}", words, blocks)
    return sets


def blocks_of(sets: dict[str, BlockSet]) -> list[tuple[NDArray[Any], ...]]:
    return [sets[slot].blocks for slot in "XYAB"]


def inputs_of(sets: dict[str, BlockSet], *, unit: str = "item", model: str = "m", **options: Any) -> Inputs:
    concepts = {slot: Concept(name=f"concept/{slot.lower()}", words=sets[slot].words) for slot in "XYAB"}
    test = AssociationTest(name="generated", title="generated blocks", **concepts)
    return Inputs(test, {}, StatsOptions(**options), 0, encoding="word", unit=unit, blocks=sets, model=model)


def cosine(p: NDArray[Any], q: NDArray[Any]) -> float:
    return float(p @ q / math.sqrt(float(p @ p) * float(q @ q)))


def plain_effects(sets: dict[str, BlockSet], drawn: Drawn) -> tuple[list[float], list[float]]:
    """d and V of every sample, word by word and pair by pair."""
    effects, variances = [], []
    for sample in range(len(drawn.x)):
        X, Y, A, B = (
            [block[i].astype(np.float64) for block, i in zip(blocks, rows[sample], strict=True)]
            for blocks, rows in zip(blocks_of(sets), drawn, strict=True)
        )
        s = [sum(cosine(w, a) for a in A) / len(A) - sum(cosine(w, b) for b in B) / len(B) for w in X + Y]
        mean = sum(s) / len(s)
        variance = sum((value - mean) ** 2 for value in s) / (len(s) - 1)
        difference = sum(s[: len(X)]) / len(X) - sum(s[len(X) :]) / len(Y)
        effects.append(difference / math.sqrt(variance))
        variances.append(variance)
    return effects, variances


def plain_ces(effects: list[float], variances: list[float]) -> tuple[float, float, float]:
    """CES, SE and τ² by the sums of guo2021's appendix, as printed."""
    weights = [1 / v for v in variances]
    total = math.fsum(weights)
    q = math.fsum(w * e**2 for w, e in zip(weights, effects, strict=True))
    q -= math.fsum(w * e for w, e in zip(weights, effects, strict=True)) ** 2 / total
    c = total - math.fsum(w**2 for w in weights) / total
    tau2 = max(0.0, (q - (len(effects) - 1)) / c)
    random = [1 / (v + tau2) for v in variances]
    ces = math.fsum(w * e for w, e in zip(random, effects, strict=True)) / math.fsum(random)
    return ces, 1 / math.sqrt(math.fsum(random)), tau2
