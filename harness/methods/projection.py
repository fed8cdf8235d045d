"""A subspace between two concepts, and the projection onto it as an association (omrani2023, Sections 4.1 and 4.3)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import HarnessError
from harness.options import one_of
from harness.stats.effect import unit
from harness.stats.errors import ShapeError

FloatArray = NDArray[np.float64]

BUILD = ("svc", "pca")
LOSSES = ("hinge", "squared_hinge")
SCALES = ("none", "dimension")

CHANCE = 0.05
"""A split of the pole words that this share of random splits matches is no better than chance."""

_ITERATIONS = 100_000
_TOLERANCE = 1e-8
"""Of the classifier's optimum: at scikit-learn's own the fourth digit of a direction hangs on the words' order."""


@dataclass(frozen=True)
class SubspaceOptions:
    """How a subspace is found between two poles.

    ``subspace`` is ``svc``, the normal of a linear support vector classifier, or ``pca``, the first ``dimensions``
    principal components of the paired differences. ``C`` and ``loss`` are the classifier's. ``scale`` is what is done
    to its features: ``none`` (one number for all, so that C does not depend on the length of the vectors), or
    ``dimension`` (each dimension by its own length over the pole words, as the published code of omrani2023 has it).
    ``folds`` and ``permutations`` are those of the check that a random split is not as separable.
    """

    subspace: str = "svc"
    C: float = 1.0
    loss: str = "hinge"
    scale: str = "none"
    dimensions: int = 1
    folds: int = 5
    permutations: int = 99

    @classmethod
    def from_config(cls, config: Any) -> SubspaceOptions:
        """Take the options out of a config of the group ``association``."""
        options = cls(**{f.name: config[f.name] for f in fields(cls) if f.name in config})
        options.check()
        return options

    def check(self) -> None:
        """Raise one sentence for a value that no option has."""
        for key, allowed in (("subspace", BUILD), ("loss", LOSSES), ("scale", SCALES)):
            one_of(f"association.{key}", getattr(self, key), allowed)
        if self.C <= 0:
            raise HarnessError(f"association.C={self.C}: must be above 0.")
        if self.dimensions < 1 or (self.subspace == "svc" and self.dimensions != 1):
            raise HarnessError(
                f"association.dimensions={self.dimensions}: a classifier has one normal; association.subspace=pca "
                "takes 1 or more components."
            )
        if self.folds < 2 or self.permutations < 0:
            raise HarnessError(
                f"association.folds={self.folds} must be 2 or more, and association.permutations={self.permutations} "
                "0 (no check) or more."
            )

    @property
    def label(self) -> str:
        """The options that move a projection, as a factor of the cell."""
        if self.subspace == "pca":
            return f"pca/{self.dimensions}"
        return "/".join(["svc", f"C={self.C:g}", self.loss, *([self.scale] if self.scale != "none" else [])])


@dataclass(frozen=True)
class Subspace:
    """Orthogonal directions, each pointing from the second pole to the first.

    ``margin`` is the distance between the classifier's two margins in units of its features, whose mean square length
    is one with ``scale=none`` (None for ``pca``); ``wrong`` marks the pole words, first pole first, that the classifier
    takes for the other pole's.
    """

    basis: FloatArray
    margin: float | None
    wrong: NDArray[np.bool_]

    def project(self, vectors: ArrayLike) -> FloatArray:
        """Return S(v, U) = Σᵢ (v·uᵢ)/(uᵢ·uᵢ) of every row (omrani2023, equation 1)."""
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.shape[-1] != self.basis.shape[1]:
            raise ShapeError(f"The subspace has {self.basis.shape[1]} dimensions, the vectors have {rows.shape[-1]}.")
        lengths = np.einsum("ij,ij->i", self.basis, self.basis)
        return cast(FloatArray, (rows @ self.basis.T / lengths).sum(axis=-1))

    @property
    def accuracy(self) -> float:
        """The share of the pole words on their own side."""
        return float(1.0 - self.wrong.mean())


def word_projections(T: ArrayLike, W: ArrayLike) -> FloatArray:
    """Return S(t, {w}) = t·w/‖w‖, the scalar projection of every row of T on the direction of every row of W."""
    return np.asarray(T, dtype=np.float64) @ np.atleast_2d(unit(W, name="W")).T


@dataclass(frozen=True)
class Separability:
    """Cross-validated accuracy of a split of words, beside that of random splits of the same words.

    ``p`` is the share of random splits that are told apart at least as well, the given one counted among them; None
    where none was drawn.
    """

    accuracy: float
    random_accuracy: float | None
    p: float | None


def fit_subspace(A: ArrayLike, B: ArrayLike, *, options: SubspaceOptions | None = None, seed: int = 0) -> Subspace:
    """Find the subspace between two poles.

    Parameters
    ----------
    A, B
        Vectors, a row for each word; a positive projection is on the side of A.
    options
        How; by default a linear support vector classifier.
    seed
        Of the classifier's order of samples (``squared_hinge``).

    Notes
    -----
    ``svc``: the coefficients of the maximum-margin classifier, scaled to length one (omrani2023, Section 4.1). With
    ``scale=dimension`` the classifier sees scaled features, and raw vectors are projected on its coefficients.
    ``pca``: the components of the pairs' differences from their own mean, pairs taken in the order of the lists
    (Bolukbasi et al. 2016).
    """
    options = options or SubspaceOptions()
    rows, inside = _poles(A, B, options)
    found = _fit(rows, inside, options, seed)
    if not found.basis.any():
        raise HarnessError("The poles have the same vectors: no direction tells them apart.")
    return Subspace(found.basis, found.margin, found.side(rows) != inside)


def _poles(A: ArrayLike, B: ArrayLike, options: SubspaceOptions) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the vectors of both poles, and which of them are the first's."""
    first, second = _pole(A, "A"), _pole(B, "B")
    if first.shape[1] != second.shape[1]:
        raise ShapeError(f"The poles do not share one space: {first.shape[1]} and {second.shape[1]} dimensions.")
    if options.subspace == "pca":
        check_pairs(len(first), len(second))
    rows = np.concatenate([first, second])
    return rows, np.arange(len(rows)) < len(first)


def check_pairs(first: int, second: int) -> None:
    """Raise one sentence for poles of so many words that are no pairs."""
    if first != second:
        raise ShapeError(
            f"association.subspace=pca takes differences of pairs, and the poles have {first} and {second} words; "
            "choose lists of one size, or association.subspace=svc."
        )


def _pole(vectors: ArrayLike, name: str) -> FloatArray:
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
    if len(rows) < 2:
        raise ShapeError(f"Pole {name} has {len(rows)} words; a subspace needs two or more on each side.")
    if not np.isfinite(rows).all():
        raise ShapeError(f"Pole {name} holds numbers that are not finite.")
    return rows


def _scale(rows: FloatArray, options: SubspaceOptions) -> FloatArray:
    """Return what the features of the classifier are divided by."""
    if options.scale == "dimension":
        lengths = np.sqrt(np.einsum("ij,ij->j", rows, rows))
        return np.where(lengths > 0, lengths, 1.0)
    return np.full(rows.shape[1], np.sqrt((rows**2).sum(axis=1).mean()) or 1.0)


def _classifier(features: FloatArray, inside: NDArray[np.bool_], options: SubspaceOptions, seed: int) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC, LinearSVC

    if options.loss == "hinge":
        return SVC(kernel="linear", C=options.C, tol=_TOLERANCE).fit(features, inside)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            return LinearSVC(C=options.C, dual=True, random_state=seed, max_iter=_ITERATIONS).fit(features, inside)
        except ConvergenceWarning:
            raise HarnessError(
                f"The classifier between the poles did not converge in {_ITERATIONS} steps: choose a smaller "
                "association.C, or association.loss=hinge."
            ) from None


class _Fit(NamedTuple):
    """A basis, its margin, and the rule that tells the poles apart: rows · weights + offset > 0."""

    basis: FloatArray
    margin: float | None
    weights: FloatArray
    offset: float

    def side(self, rows: FloatArray) -> NDArray[np.bool_]:
        """Return which rows lie on the side of the first pole."""
        return rows @ self.weights + self.offset > 0


def _fit(rows: FloatArray, inside: NDArray[np.bool_], options: SubspaceOptions, seed: int) -> _Fit:
    if options.subspace == "pca":
        basis = _components(rows[inside], rows[~inside], options.dimensions)
        weights = basis.sum(axis=0)
        sums = rows @ weights
        return _Fit(basis, None, weights, -float((sums[inside].mean() + sums[~inside].mean()) / 2.0))
    scale = _scale(rows, options)
    fitted = _classifier(rows / scale, inside, options, seed)
    coefficients = np.asarray(fitted.coef_, dtype=np.float64)[0]
    length = float(np.linalg.norm(coefficients))
    offset = float(fitted.intercept_[0])
    if length <= _TOLERANCE:  # both sides have the same vectors, as a random split of repeated ones may
        return _Fit(np.zeros_like(coefficients)[np.newaxis], None, np.zeros_like(coefficients), offset)
    return _Fit((coefficients / length)[np.newaxis], 2.0 / length, coefficients / scale, offset)


def _components(first: FloatArray, second: FloatArray, dimensions: int) -> FloatArray:
    half = (first - second) / 2.0
    if dimensions > min(half.shape):
        raise HarnessError(
            f"association.dimensions={dimensions}: {len(half)} pairs in {half.shape[1]} dimensions have at most "
            f"{min(half.shape)} components."
        )
    # A pair's two differences from its mean are ± half its difference: the components of those are these.
    basis = np.linalg.svd(half, full_matrices=False)[2][:dimensions]
    towards = np.sign(basis @ half.mean(axis=0))
    return cast(FloatArray, basis * np.where(towards == 0, 1.0, towards)[:, np.newaxis])


def separability(A: ArrayLike, B: ArrayLike, *, options: SubspaceOptions | None = None, seed: int = 0) -> Separability:
    """Tell whether the poles are told apart on words that were held out, and better than random splits are.

    Parameters
    ----------
    A, B
        Vectors, a row for each word.
    options
        How the subspace is found; ``folds`` and ``permutations`` are those of this check.
    seed
        Of the folds and of the random splits.

    Notes
    -----
    Fewer words than dimensions are separable however they are split, so that the accuracy on the words themselves says
    nothing: hence held-out words and random splits. p = (1 + splits at least as accurate) / (1 + splits). ``pca`` holds
    whole pairs out, so that those it learns from stay pairs.
    """
    options = options or SubspaceOptions()
    rows, inside = _poles(A, B, options)
    rng = np.random.default_rng([seed, 5])
    accuracy = _held_out(rows, inside, options, rng, seed)
    if not options.permutations:
        return Separability(accuracy, None, None)
    random = np.array(
        [_held_out(rows, rng.permutation(inside), options, rng, seed) for _ in range(options.permutations)]
    )
    reached = int((random >= accuracy - 1e-12).sum())
    return Separability(accuracy, float(random.mean()), (1 + reached) / (1 + options.permutations))


def _held_out(
    rows: FloatArray, inside: NDArray[np.bool_], options: SubspaceOptions, rng: np.random.Generator, seed: int
) -> float:
    """Return the mean accuracy of both sides on folds that the subspace was not found on."""
    right = np.zeros(len(rows), dtype=bool)
    for held in _folds(inside, options.folds, rng, paired=options.subspace == "pca"):
        kept = ~held
        right[held] = _fit(rows[kept], inside[kept], options, seed).side(rows[held]) == inside[held]
    return float((right[inside].mean() + right[~inside].mean()) / 2.0)


def _folds(
    inside: NDArray[np.bool_], folds: int, rng: np.random.Generator, *, paired: bool
) -> Iterator[NDArray[np.bool_]]:
    """Deal both sides out over the folds, pairs together; never so many that a side would be left without words."""
    smaller = int(min(inside.sum(), (~inside).sum()))
    count = min(folds, smaller)
    number = np.empty(len(inside), dtype=np.int64)
    if paired:
        number[inside] = number[~inside] = rng.permutation(smaller) % count
    else:
        for side in (inside, ~inside):
            at = rng.permutation(np.flatnonzero(side))
            number[at] = np.arange(len(at)) % count
    for fold in range(count):
        yield number == fold
