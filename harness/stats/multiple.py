"""Adjust p-values of many tests within named families."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ._checks import FloatArray, culprit, finite_array, one_of
from .errors import ShapeError, StatsError

Method = Literal["holm", "bh"]


def adjust(
    p: ArrayLike,
    *,
    method: Method = "holm",
    families: Sequence[Hashable] | None = None,
    labels: Sequence[Any] | None = None,
) -> FloatArray:
    """Adjust p-values for the number of tests in their family.

    Parameters
    ----------
    p : array_like, shape (tests,)
        One p-value a test.
    method : {"holm", "bh"}
        Holm (1979) bounds the chance of any false finding in a family; Benjamini & Hochberg (1995) bounds the expected
        share of false findings among all findings of a family.
    families : sequence, optional
        The family of each test; tests of other families do not count. Without it all tests form one family.
    labels : sequence, optional
        One label a test; an error names it.

    Returns
    -------
    array, shape (tests,)
        Adjusted p-values in the order of ``p``: a test is significant at α when its adjusted p is at most α.

    Notes
    -----
    Both agree with ``statsmodels.stats.multitest.multipletests``, which takes a second to import and collects garbage
    at every call: too slow for hundreds of families.

    Raises
    ------
    NotFiniteError
        A p is NaN: a test without p must be left out before, because it changes the size of its family.
    """
    one_of(method, get_args(Method), name="method")
    values = finite_array(p, name="p", ndims=(1,), labels=labels)
    outside = (values < 0.0) | (values > 1.0)
    if outside.any():
        index = int(np.argmax(outside))
        raise StatsError(f"{culprit('p', index, labels)} is {values[index]:.6g}; a p-value lies between 0 and 1.")
    if families is not None and len(families) != values.size:
        raise ShapeError(f"families has {len(families)} entries, but p has {values.size}; give one each.")
    members: dict[Hashable, list[int]] = {}
    for index, family in enumerate(families if families is not None else [None] * values.size):
        members.setdefault(family, []).append(index)
    adjusted = np.empty_like(values)
    for indices in members.values():
        adjusted[indices] = _holm(values[indices]) if method == "holm" else _benjamini_hochberg(values[indices])
    return adjusted


def _holm(p: FloatArray) -> FloatArray:
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _benjamini_hochberg(p: FloatArray) -> FloatArray:
    falling = np.argsort(p)[::-1]
    stepped = np.minimum.accumulate(p[falling] * p.size / np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[falling] = np.minimum(stepped, 1.0)
    return adjusted
