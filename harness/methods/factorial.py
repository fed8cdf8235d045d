"""Main effects and two-way interactions of a balanced design of two terms a category."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.stats.errors import ShapeError, ZeroVarianceError
from harness.stats.multiple import adjust

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-30
"""Of the variance: what is left of a perfect fit, so that no effect is divided by zero."""


@dataclass(frozen=True)
class Factorial:
    """Effects of a least-squares model with all main effects and two-way interactions.

    ``main`` has an entry a category, ``pairs`` lists the two indices of every interaction, ``interactions`` their
    effects. ``half_width`` is that of every effect's interval, the same for all because the design is balanced;
    ``p_holm`` (of the t test, the main effects first, then the interactions) is corrected within each of the two
    families. ``share_main`` and ``share_interactions`` are the shares of the variance that they explain.
    """

    mean: float
    main: FloatArray
    pairs: tuple[tuple[int, int], ...]
    interactions: FloatArray
    half_width: float
    confidence: float
    p_holm: FloatArray
    share_main: float
    share_interactions: float
    residual_std: float
    n: int

    @property
    def effects(self) -> FloatArray:
        """All main effects, then all interactions."""
        return np.concatenate([self.main, self.interactions])


def factorial(values: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> Factorial:
    """Fit the categories' main effects and two-way interactions.

    Parameters
    ----------
    values : array_like, shape (n,)
        The projection of every sentence.
    second : array_like of bool, shape (n, categories)
        Whether the sentence uses the second term of each category.
    confidence : float
        Coverage of the intervals.

    Notes
    -----
    With x = +1 for the first term and −1 for the second, y = μ + Σ βᵢxᵢ + Σ γᵢⱼxᵢxⱼ + ε. A design that holds every
    combination equally often is orthogonal, so least squares is a mean of products. A main effect is 2βᵢ, the mean with
    the first term minus the mean with the second; an interaction is 2γᵢⱼ, half of how much i's effect grows when j
    passes from its second to its first term. ε holds what the model leaves out, interactions of three and more
    categories and word order: the intervals treat that as noise.
    """
    from scipy.stats import t as student

    y = np.asarray(values, dtype=np.float64)
    x = 1.0 - 2.0 * np.asarray(second, dtype=bool)
    if y.ndim != 1 or x.ndim != 2 or len(x) != len(y):
        raise ShapeError(f"{len(y)} values and a design of shape {x.shape} do not belong together.")
    n, k = x.shape
    pairs = tuple((i, j) for i in range(k) for j in range(i + 1, k))
    columns = np.column_stack([x, *(x[:, i] * x[:, j] for i, j in pairs)])
    products = columns.T @ columns
    if np.abs(products - n * np.eye(len(products))).max() > 0.5 or np.abs(columns.sum(axis=0)).max() > 0.5:
        raise ShapeError(
            "The design is not balanced: every combination of two categories' terms must occur equally often."
        )
    freedom = n - 1 - len(products)
    if freedom < 1:
        raise ShapeError(f"{n} sentences leave nothing to judge {len(products)} effects by: give three categories.")
    centred = y - y.mean()
    total = float(centred @ centred)
    if total <= 1e-24 * max(1.0, float(y @ y)):
        raise ZeroVarianceError(f"All {n} projections are equal: no category moves them.")
    coefficients = columns.T @ centred / n
    residuals = centred - columns @ coefficients
    variance = max(float(residuals @ residuals) / freedom, _ROUNDING * total / n)
    error = math.sqrt(variance / n)
    half = 2.0 * error * float(student.isf((1.0 - confidence) / 2.0, freedom))
    p = np.maximum(2.0 * student.sf(np.abs(coefficients) / error, freedom), sys.float_info.min)
    shares = n * coefficients**2 / total
    return Factorial(
        mean=float(y.mean()),
        main=2.0 * coefficients[:k],
        pairs=pairs,
        interactions=2.0 * coefficients[k:],
        half_width=half,
        confidence=confidence,
        p_holm=adjust(p, families=["main"] * k + ["interaction"] * len(pairs)),
        share_main=float(shares[:k].sum()),
        share_interactions=float(shares[k:].sum()),
        residual_std=math.sqrt(variance),
        n=n,
    )
