"""How evenly a set of vectors points in all directions, and whether its cosines can be trusted."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ._checks import ROUNDING, FloatArray
from .effect import unit
from .errors import EmptySetError, NotFiniteError, ShapeError, StatsError, ZeroVarianceError

Verdict = Literal["low", "mild", "strong", "uniform"]

# Mean cosines at which the verdict changes, each taken from what wolfe2024 prints and says of it.
# Table 1: static GloVe vectors, taken as sound, have level 3 means up to .32.
MILD = 0.35
# Table 3: GPT-2 XL "may exhibit mild anisotropy" with level 3 means up to .49, and its effects are consistent.
STRONG = 0.5
# Table 3: GPT-2 base shows "directional uniformity" with level 3 means from .97; .9 leaves no room for the
# differences of .01 to .1 between cosines on which effects of static vectors rest (Table 1).
UNIFORM = 0.9

_WORDS: dict[Verdict, str] = {
    "low": "cosines spread as they do in static word vectors",
    "mild": "mildly anisotropic, more than static word vectors are; read level 2 with level 3 beside it",
    "strong": "strongly anisotropic: all vectors share much of their direction, and small differences of cosine are "
    "standardised into effects",
    "uniform": "directionally uniform: all vectors point the same way, so effects at levels 1 and 2 should not be "
    "relied on",
}


@dataclass(frozen=True)
class Anisotropy:
    """Directional uniformity of a vector set.

    Attributes
    ----------
    mean_cosine, std_cosine : float
        Mean and standard deviation (over all pairs) of the pairwise cosines.
    top_share : float
        Share of the variance of the unit vectors, about their mean, in the first principal component: near 1 when a
        single direction ("rogue dimension", Timkey & van Schijndel 2021) makes the differences that are left.
    verdict : {"low", "mild", "strong", "uniform"}
    sentence : str
        The verdict in words, with its numbers.
    n : int
    """

    mean_cosine: float
    std_cosine: float
    top_share: float
    verdict: Verdict
    sentence: str
    n: int


def anisotropy(vectors: ArrayLike, *, name: str = "vectors") -> Anisotropy:
    """Describe how uniformly a set of vectors points.

    Parameters
    ----------
    vectors : array_like, shape (n, dim)
        All stimuli of a test, usually.
    name : str
        What the set is called in an error.

    Raises
    ------
    ZeroVectorError, ZeroVarianceError, EmptySetError, NotFiniteError, ShapeError
    """
    rows = _rows(vectors, name=name)
    mean = _mean_pairwise(rows)
    std = _std_pairwise(rows, mean)
    decided = verdict(mean)
    return Anisotropy(
        mean_cosine=mean,
        std_cosine=std,
        top_share=_top_share(rows, name=name),
        verdict=decided,
        sentence=verdict_sentence(mean, std),
        n=len(rows),
    )


def mean_pairwise_cosine(vectors: ArrayLike, *, name: str = "vectors") -> float:
    """Mean cosine over all pairs of different rows, in time proportional to the size of the array.

    Notes
    -----
    ‖Σ v̂‖² = n + Σ_{i≠j} cos(vᵢ, vⱼ), so the mean is (‖Σ v̂‖² − n) / (n (n − 1)).
    """
    return _mean_pairwise(_rows(vectors, name=name))


def top_component_share(vectors: ArrayLike, *, name: str = "vectors") -> float:
    """Share of the variance of the unit vectors, about their mean, that lies in the first principal component."""
    return _top_share(_rows(vectors, name=name), name=name)


def verdict(mean_cosine: float) -> Verdict:
    """Judge a mean cosine, of all pairs of a set or of the four level 3 matrices of ML-EAT."""
    if not np.isfinite(mean_cosine):
        raise NotFiniteError(f"mean_cosine is {mean_cosine}; it must be finite.")
    if abs(mean_cosine) > 1.0 + ROUNDING:
        raise StatsError(f"mean_cosine is {mean_cosine:.6g}; a cosine lies between −1 and 1.")
    if mean_cosine < MILD:
        return "low"
    if mean_cosine < STRONG:
        return "mild"
    return "strong" if mean_cosine < UNIFORM else "uniform"


def verdict_sentence(mean_cosine: float, std_cosine: float) -> str:
    """Put the verdict in words."""
    return f"Mean cosine {mean_cosine:.2f} (std {std_cosine:.2f}): {_WORDS[verdict(mean_cosine)]}."


def _rows(vectors: ArrayLike, *, name: str) -> FloatArray:
    rows = unit(vectors, name=name)
    if rows.ndim != 2:
        raise ShapeError(f"{name} has shape {rows.shape}; it needs one row a vector.")
    if len(rows) < 2:
        raise EmptySetError(f"{name} holds one vector; a pairwise cosine needs at least two.")
    return rows


def _mean_pairwise(rows: FloatArray) -> float:
    n = len(rows)
    total = rows.sum(axis=0)
    return float(np.clip((total @ total - n) / (n * (n - 1)), -1.0, 1.0))


def _std_pairwise(rows: FloatArray, mean: float) -> float:
    """Σ cos² over all ordered pairs is the squared Frobenius norm of either Gram matrix; take the smaller."""
    n, dim = rows.shape
    gram = rows @ rows.T if n <= dim else rows.T @ rows
    mean_square = (float((gram * gram).sum()) - n) / (n * (n - 1))
    return float(np.sqrt(max(0.0, mean_square - mean**2)))


def _top_share(rows: FloatArray, *, name: str) -> float:
    centred = rows - rows.mean(axis=0)
    n, dim = rows.shape
    total = float((centred * centred).sum())
    if total <= n * ROUNDING**2 * dim:
        raise ZeroVarianceError(f"All {n} vectors of {name} point the same way: they have no variance to share out.")
    gram = centred @ centred.T if n <= dim else centred.T @ centred
    return min(1.0, float(np.linalg.eigvalsh(gram)[-1]) / total)
