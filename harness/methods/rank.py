"""Open-vocabulary detection: rank all words of a model, or a list of them, for one group."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import HarnessError
from harness.methods.detection import pair_scores


@dataclass(frozen=True)
class Ranked:
    """A word, its largest score for the group, and the group that it was compared with there."""

    word: str
    score: float
    against: str


def rank_vocabulary(
    batches: Iterable[tuple[Sequence[str], ArrayLike]],
    group: ArrayLike,
    others: Mapping[str, ArrayLike],
    *,
    top: int = 50,
    exclude: Iterable[str] = (),
    ddof: int = 1,
) -> list[Ranked]:
    """Rank a vocabulary for a group by IBD's score, the largest of its pairwise effect sizes.

    Parameters
    ----------
    batches
        Words with their vectors, such as ``StaticEncoder.iterate`` gives; memory is bounded by one batch.
    group
        Vectors of the group's names.
    others
        The same for every group to compare with.
    top
        How many words to return, the highest score first.
    exclude
        Words to leave out, usually the names themselves.
    ddof
        Of the standard deviation.

    Notes
    -----
    IBD with threshold t detects the words whose score exceeds t (guo2021, IBD). Vectors of length zero have no score
    and are passed over. Words of equal score stand in alphabetical order.
    """
    if top < 1:
        raise HarnessError(f"top={top}: give at least 1.")
    if not others:
        raise HarnessError("There is no other group to compare with.")
    without = frozenset(exclude)
    best: list[Ranked] = []
    for words, vectors in batches:
        rows = np.asarray(vectors, dtype=np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        usable = [i for i, word in enumerate(words) if lengths[i] > 0 and word not in without]
        if not usable:
            continue
        found = pair_scores(rows[usable], group, others, ddof=ddof, labels=[words[i] for i in usable])
        largest = found.scores.max(axis=1)
        floor = np.partition(largest, -top)[-top] if largest.size > top else -np.inf
        for i in np.flatnonzero(largest >= floor).tolist():
            against = found.against[int(found.scores[i].argmax())]
            best.append(Ranked(words[usable[i]], float(largest[i]), against))
        best = heapq.nsmallest(top, best, key=lambda ranked: (-ranked.score, ranked.word))
    return best
