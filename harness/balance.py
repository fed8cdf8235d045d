"""Even sets out by a seeded draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

PAIRS = (("X", "Y"), ("A", "B"))
"""The sets of a test that are compared with each other."""


def drawn(count: int, size: int, *, seed: int) -> NDArray[np.int64]:
    """Return which ``size`` of ``count`` are kept, in their first order: caliskan2017 deleted names at random."""
    rng = np.random.default_rng([seed, count])
    return np.sort(rng.permutation(count)[:size])


def evened(
    words: Mapping[str, Sequence[str]],
    lost: dict[str, list[str]],
    notes: list[str],
    *,
    missing: str | None,
    unequal: str,
    seed: int,
) -> dict[str, list[int]]:
    """Return the places of the stimuli that are kept in each set that is made as small as its pair.

    Parameters
    ----------
    words
        The stimuli of each slot.
    lost
        Those left out before; those left out now are added.
    notes
        Where those left out now are named.
    missing, unequal
        The cell's: ``drop_balanced`` evens a pair that lost a stimulus, ``downsample`` the targets.
    seed
        Seed of the draw.
    """
    kept: dict[str, list[int]] = {}
    for pair in PAIRS:
        if not all(slot in words for slot in pair):
            continue
        balanced = missing == "drop_balanced" and any(lost[slot] for slot in pair)
        if not balanced and not (unequal == "downsample" and "X" in pair):
            continue
        size = min(len(words[slot]) for slot in pair)
        for slot in pair:
            places = drawn(len(words[slot]), size, seed=seed).tolist()
            gone = [word for place, word in enumerate(words[slot]) if place not in set(places)]
            if gone:
                kept[slot] = places
                lost[slot] += gone
                notes.append(f"Left out of {slot} to even the sets: {', '.join(gone)}.")
    return kept
