"""Which context of every stimulus each sample of CEAT takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import BlockSet
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Drawn, Sampling, sample_indices

SLOTS = ("X", "Y", "A", "B")


def draw_contexts(
    sets: Mapping[str, BlockSet], *, stats: StatsOptions, seed: int = 0, test: str = "", model: str = ""
) -> Drawn:
    """Draw one context of every stimulus for each of N samples.

    Parameters
    ----------
    sets
        X, Y, A and B.
    stats
        ``ceat_samples`` is N, ``ceat_sampling`` the rule of replacement; ``ceat_mode`` says whether the model matters.
    seed
        The cell's seed.
    test, model
        What tells tests and models apart; ``model`` has no effect on the fixed mode.

    Notes
    -----
    Every stimulus has a generator of its own, whose seed is a digest of seed, test, slot, stimulus and N, and in the
    random mode of the model: leaving a stimulus out moves no other one's draw, and in the fixed mode ("a fixed set of
    contexts for each model", guo2021, Evaluation of CEAT) every model reads the same sentences.
    """
    whose = model if stats.ceat_mode == "random" else ""

    def of(slot: str) -> NDArray[np.intp]:
        columns = [
            sample_indices(
                [len(block)],
                stats.ceat_samples,
                sampling=cast(Sampling, stats.ceat_sampling),
                rng=generator(seed, test, slot, word, stats.ceat_samples, whose),
            )
            for word, block in zip(sets[slot].words, sets[slot].blocks, strict=True)
        ]
        return np.concatenate(columns, axis=1)

    return Drawn(*(of(slot) for slot in SLOTS))


def generator(*parts: object) -> np.random.Generator:
    """Return a generator whose seed is a digest of what it is for."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
