"""The strongest contexts: which terms stand in the most and the least pleasant sentences, and where (omrani2023)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.methods.base import Design, Row

SHARE = 0.1
"""Of the sentences at each end (omrani2023, Section 5.3)."""


@dataclass(frozen=True)
class Decile:
    """The sentences of one end.

    ``rows`` are their numbers, the strongest first. ``totals`` is the share of them that holds each term,
    ``positions[term]`` the share that holds it in each position, from left to right.
    """

    rows: NDArray[np.int64]
    totals: dict[str, float]
    positions: dict[str, NDArray[np.float64]]


def deciles(values: ArrayLike, design: Design, *, share: float = SHARE) -> dict[str, Decile]:
    """Return the ``top`` and the ``bottom`` end of the sentences by projection.

    Parameters
    ----------
    values
        The projection of every sentence.
    design
        The terms of each sentence and their order.
    share
        Of all sentences at each end.
    """
    projections = np.asarray(values, dtype=np.float64)
    count = max(1, int(share * len(projections)))
    ranked = np.argsort(-projections, kind="stable")
    return {"top": _decile(ranked[:count], design), "bottom": _decile(ranked[::-1][:count], design)}


def _decile(rows: NDArray[np.int64], design: Design) -> Decile:
    order, second = design.order[rows], design.second[rows]
    placed = np.take_along_axis(second, order, axis=1)
    totals: dict[str, float] = {}
    positions: dict[str, NDArray[np.float64]] = {}
    for index, category in enumerate(design.categories):
        here = order == index
        for term, chosen in ((category.first, ~placed), (category.second, placed)):
            positions[term] = (here & chosen).mean(axis=0)
            totals[term] = float(positions[term].sum())
    return Decile(rows, totals, positions)


def share_rows(ends: dict[str, Decile], design: Design) -> list[Row]:
    """Return a row for each end and term: its share, by position and in all."""
    return [
        {
            "end": end,
            "category": category.name,
            "term": term,
            "share": decile.totals[term],
            "positions": [float(share) for share in decile.positions[term]],
            "n": len(decile.rows),
        }
        for end, decile in ends.items()
        for category in design.categories
        for term in (category.first, category.second)
    ]
