"""Detection of words by threshold: IBD, EIBD, and how well a threshold separates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import FloatArray, finite_array, one_of
from .errors import EmptySetError, OptionError, ShapeError

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Exclude = Literal["all", "any"]


@dataclass(frozen=True)
class RocCurve:
    """Counts of a detector at every threshold; every array has one entry a threshold.

    Attributes
    ----------
    thresholds : array
    tp, fp, tn, fn : array of int
        Words detected rightly and wrongly, and left out rightly and wrongly.
    positives, negatives : int
        Words that belong to the group, and the others.
    """

    thresholds: FloatArray
    tp: IntArray
    fp: IntArray
    positives: int
    negatives: int

    @property
    def tn(self) -> IntArray:
        """Words left out rightly."""
        return self.negatives - self.fp

    @property
    def fn(self) -> IntArray:
        """Words left out wrongly."""
        return self.positives - self.tp

    @property
    def tpr(self) -> FloatArray:
        """Share of the group's words that are detected."""
        return self.tp / self.positives

    @property
    def fpr(self) -> FloatArray:
        """Share of the other words that are detected."""
        return self.fp / self.negatives

    @property
    def accuracy(self) -> FloatArray:
        """(TP + TN) / all words (guo2021)."""
        return (self.tp + self.tn) / (self.positives + self.negatives)

    @property
    def balanced_accuracy(self) -> FloatArray:
        """Mean of the true positive and the true negative rate: .5 for any detector that ignores the words."""
        return (self.tpr + 1.0 - self.fpr) / 2.0


@dataclass(frozen=True)
class OperatingPoint:
    """The chosen threshold and what it gives, beside the accuracy of never detecting anything."""

    threshold: float
    index: int
    tp: int
    fp: int
    tn: int
    fn: int
    tpr: float
    fpr: float
    youden: float
    accuracy: float
    balanced_accuracy: float
    baseline_accuracy: float


def threshold_grid(*, low: float = -2.0, high: float = 1.95, step: float = 0.05) -> FloatArray:
    """Thresholds from ``low`` to ``high`` inclusive; the default is guo2021's grid of 80."""
    if step <= 0.0 or high < low:
        raise OptionError(f"low={low}, high={high}, step={step} is no rising grid.")
    count = round((high - low) / step) + 1
    # Rounded, so that the grid holds the doubles nearest to −1.95, −1.9, … and a printed threshold selects them again.
    return np.round(low + step * np.arange(count), 10)


def score_predict(scores: ArrayLike, t: ArrayLike) -> BoolArray:
    """Detect the words whose single score exceeds ``t``, strictly; shape of ``t`` + (words,)."""
    values = finite_array(scores, name="scores", ndims=(1,))
    return _above(values, t)


def ibd_predict(scores: ArrayLike, t: ArrayLike) -> BoolArray:
    """Detect words of an intersectional group: any pairwise score exceeds ``t``, strictly.

    Parameters
    ----------
    scores : array_like, shape (words, pairs)
        Effect sizes of each word for the group against each other group.
    t : float or array_like, shape (thresholds,)

    Returns
    -------
    array of bool, shape (words,) or (thresholds, words)

    Notes
    -----
    guo2021, IBD: the union over the pairs of the words that exceed the threshold. That is the largest score.
    """
    values = finite_array(scores, name="scores", ndims=(2,))
    return _above(values.max(axis=1), t)


def eibd_predict(
    scores: ArrayLike, constituent_scores: ArrayLike, t: ArrayLike, *, exclude: Exclude = "all"
) -> BoolArray:
    """Detect emergent words: of the group by IBD, but not of its constituents.

    Parameters
    ----------
    scores : array_like, shape (words, pairs)
        As in :func:`ibd_predict`.
    constituent_scores : array_like, shape (words, constituent pairs)
        Effect sizes for the constituent categories (race pairs, gender pair) without the pair of a category with
        itself, whose score is always 0.
    t : float or array_like, shape (thresholds,)
        The same threshold for both stages.
    exclude : {"all", "any"}
        Remove a word if all its constituent scores exceed ``t`` (appendix of guo2021), or any (its main text).

    Returns
    -------
    array of bool, shape (words,) or (thresholds, words)

    Notes
    -----
    The appendix's formula is a union of differences, ∪ᵢ (W_IB − Wᵢ): a word stays unless every Wᵢ holds it.
    """
    one_of(exclude, get_args(Exclude), name="exclude")
    values = finite_array(scores, name="scores", ndims=(2,))
    constituents = finite_array(constituent_scores, name="constituent_scores", ndims=(2,))
    if len(values) != len(constituents):
        raise ShapeError(f"scores has {len(values)} words, but constituent_scores has {len(constituents)}.")
    deciding = constituents.min(axis=1) if exclude == "all" else constituents.max(axis=1)
    return _above(values.max(axis=1), t) & ~_above(deciding, t)


def roc_curve(predictions: ArrayLike, labels: ArrayLike, thresholds: ArrayLike) -> RocCurve:
    """Count hits and false alarms at every threshold.

    Parameters
    ----------
    predictions : array_like of bool, shape (thresholds, words)
        From :func:`score_predict`, :func:`ibd_predict` or :func:`eibd_predict`.
    labels : array_like of bool, shape (words,)
        Words that belong to the group.
    thresholds : array_like, shape (thresholds,)
    """
    truth = _truth(labels)
    grid = finite_array(thresholds, name="thresholds", ndims=(1,))
    detected = np.asarray(predictions)
    if detected.dtype != np.bool_ or detected.shape != (grid.size, truth.size):
        raise ShapeError(
            f"predictions must be booleans of shape {(grid.size, truth.size)} (thresholds, words); "
            f"they are {detected.dtype} of shape {detected.shape}."
        )
    positives = int(truth.sum())
    return RocCurve(
        thresholds=grid,
        tp=detected[:, truth].sum(axis=1),
        fp=detected[:, ~truth].sum(axis=1),
        positives=positives,
        negatives=truth.size - positives,
    )


def choose_threshold(curve: RocCurve) -> OperatingPoint:
    """Choose the threshold with the largest TPR − FPR; of equals that with the largest TP; of those the largest.

    Notes
    -----
    The first two rules are guo2021's. Thresholds that are still equal have the same counts, and the strictest of them
    is taken, which lets the fewest words pass in an open vocabulary. TPR − FPR is compared in whole numbers
    (TP · negatives − FP · positives), so that rounding breaks no tie.
    """
    gain = curve.tp * curve.negatives - curve.fp * curve.positives
    index = int(np.lexsort((curve.thresholds, curve.tp, gain))[-1])
    tpr, fpr = float(curve.tpr[index]), float(curve.fpr[index])
    return OperatingPoint(
        threshold=float(curve.thresholds[index]),
        index=index,
        tp=int(curve.tp[index]),
        fp=int(curve.fp[index]),
        tn=int(curve.tn[index]),
        fn=int(curve.fn[index]),
        tpr=tpr,
        fpr=fpr,
        youden=tpr - fpr,
        accuracy=float(curve.accuracy[index]),
        balanced_accuracy=float(curve.balanced_accuracy[index]),
        baseline_accuracy=curve.negatives / (curve.positives + curve.negatives),
    )


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve of a score: the chance that a word of the group outscores another, ties half."""
    from scipy.stats import rankdata

    truth = _truth(labels)
    values = finite_array(scores, name="scores", ndims=(1,))
    if values.shape != truth.shape:
        raise ShapeError(f"scores has {values.size} words, but labels has {truth.size}.")
    positives = int(truth.sum())
    wins = float(rankdata(values)[truth].sum()) - positives * (positives + 1) / 2.0
    return wins / (positives * (truth.size - positives))


def hull_auc(curve: RocCurve) -> float:
    """Area under the convex hull of a curve's points and the corners (0, 0) and (1, 1).

    Notes
    -----
    EIBD's detections are not nested: a low threshold removes a word again, its curve runs back to (0, 0), and no
    score ranks its words. The hull is what mixing its thresholds can reach (Provost & Fawcett 2001); it is defined for
    every detector and is at least the area under the points of a nested one.
    """
    points = sorted(
        {(0, 0), (curve.negatives, curve.positives), *zip(curve.fp.tolist(), curve.tp.tolist(), strict=True)}
    )
    hull: list[tuple[int, int]] = []
    for x, y in points:
        while len(hull) > 1 and _on_or_below(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    twice = sum((x1 - x0) * (y0 + y1) for (x0, y0), (x1, y1) in pairwise(hull))
    return twice / (2 * curve.positives * curve.negatives)


def baseline_accuracy(labels: ArrayLike) -> float:
    """Accuracy of a detector that never detects anything: the share of words outside the group."""
    return float((~_truth(labels)).mean())


def _on_or_below(a: Sequence[int], b: Sequence[int], c: Sequence[int]) -> bool:
    """Whether b lies on or below the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])


def _above(values: FloatArray, t: ArrayLike) -> BoolArray:
    thresholds = finite_array(np.atleast_1d(np.asarray(t)), name="t", ndims=(1,))
    detected: BoolArray = values > thresholds[:, np.newaxis]
    return detected if np.ndim(t) else detected[0]


def _truth(labels: ArrayLike) -> BoolArray:
    truth: NDArray[Any] = np.asarray(labels)
    if truth.dtype != np.bool_ or truth.ndim != 1:
        raise ShapeError(f"labels must be one row of booleans; they are {truth.dtype} of shape {truth.shape}.")
    if not truth.any() or truth.all():
        missing = "no word" if not truth.any() else "every word"
        raise EmptySetError(f"{missing} of {truth.size} belongs to the group; a detector needs some that do, some not.")
    return truth
