"""Texts of like length go through the model together, as many as a budget of tokens allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def buckets(lengths: Sequence[int], *, budget: int) -> Iterator[NDArray[np.int64]]:
    """Yield the places of texts in batches whose padded size stays within a budget.

    The longest come first: a batch that does not fit into memory shows at once, and an estimate of the time left errs
    on the safe side. The order depends on the lengths alone.

    Parameters
    ----------
    lengths
        Tokens of each text.
    budget
        Tokens of a batch, padding included. A text longer than that goes alone.
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").astype(np.int64)
    begin = 0
    while begin < len(order):
        size = max(1, budget // max(1, lengths[int(order[begin])]))
        yield order[begin : begin + size]
        begin += size


def pad(rows: Sequence[Sequence[int]], *, value: int) -> NDArray[np.int64]:
    """Return rows as one matrix, filled up on the right.

    On the right, because positions count from the left: neither absolute positions nor a causal mask then depend on
    how much is filled up.
    """
    matrix = np.full((len(rows), max(len(row) for row in rows)), value, dtype=np.int64)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return matrix
