"""ValNorm: the correlation of words' valence in a model with people's ratings (Toney & Caliskan; omrani2023, 5.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import HarnessError
from harness.methods.base import Inputs, Measurement, Row
from harness.methods.null import above_zero
from harness.stats.effect import sc_weat_d
from harness.stats.regression import Correlation, pearson
from harness.stimuli import SingleTargetTest

FloatArray = NDArray[np.float64]

FEWEST = 3
"""A correlation needs at least so many rated words."""


@dataclass(frozen=True)
class ValNorm:
    """The correlation over all rated words, and over those that are not words of the poles (None: too few left)."""

    r: Correlation
    without_poles: Correlation | None
    scores: FloatArray


def valnorm(
    scores: ArrayLike, ratings: ArrayLike, is_pole: ArrayLike, *, confidence: float = 0.95, labels: Sequence[str] = ()
) -> ValNorm:
    """Correlate associations with human ratings.

    Parameters
    ----------
    scores
        The association of every word: its SC-WEAT effect size by cosine, or its projection on the valence dimension.
    ratings
        What people said of it.
    is_pole
        Whether it is one of the words that the dimension was learnt from: such a word is no evidence.
    confidence
        Coverage of the intervals.
    labels
        The words, for errors.
    """
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    others = ~np.asarray(is_pole, dtype=bool)
    enough = others.sum() >= FEWEST and np.ptp(s[others]) > 0 and np.ptp(y[others]) > 0
    return ValNorm(
        r=pearson(s, y, confidence=confidence, labels=labels or None),
        without_poles=pearson(s[others], y[others], confidence=confidence) if enough else None,
        scores=s,
    )


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by ValNorm, by cosine and by projection; the cell's association says which is r."""
    W, A, B, subspace = inputs.sets["W"], inputs.sets["A"], inputs.sets["B"], inputs.subspace
    if subspace is None:
        raise TypeError("valnorm needs a subspace")
    if not isinstance(inputs.test, SingleTargetTest):
        raise TypeError(f"valnorm measures tests of kind single, not {inputs.test.kind}")
    properties = inputs.test.W.properties
    if len(W) < FEWEST:
        raise HarnessError(f"{W.name} and the model share {len(W)} words; ValNorm needs at least {FEWEST}.")
    ratings = np.array([properties[word] for word in W.words])
    if np.ptp(ratings) == 0:
        raise HarnessError(f"All {len(W)} words of {W.name} have the same rating: nothing can be correlated with it.")
    poles = {word.casefold() for word in (*A.words, *B.words)}
    is_pole = np.array([word.casefold() in poles for word in W.words])
    scores = {
        "cosine": sc_weat_d(W.vectors, A.vectors, B.vectors, ddof=inputs.stats.ddof, labels=W.words),
        "projection": subspace.project(W.vectors),
    }
    found = {
        name: valnorm(s, ratings, is_pole, confidence=inputs.stats.confidence, labels=W.words)
        for name, s in scores.items()
    }
    metrics = _correlation_metrics(found[inputs.association], "")
    for name, one in found.items():
        metrics |= _correlation_metrics(one, f"_{name}")
    metrics |= {"n_words": float(len(W)), "n_pole_words": float(is_pole.sum())}
    rows: list[Row] = [
        {"word": word, "rating": float(rating), "pole": bool(pole), "cosine": float(c), "projection": float(p)}
        for word, rating, pole, c, p in zip(W.words, ratings, is_pole, *scores.values(), strict=True)
    ]
    return Measurement(
        metrics,
        {"lexicon": W.name.rpartition("/")[2]},
        {"valnorm": rows},
        _notes(W.name, is_pole),
    )


def _correlation_metrics(found: ValNorm, suffix: str) -> dict[str, float]:
    numbers = {"r": found.r.r, "p": above_zero(found.r.p), "log10_p": found.r.log10_p, "ci_low": found.r.ci_low}
    numbers["ci_high"] = found.r.ci_high
    if found.without_poles is not None:
        numbers["r_without_poles"] = found.without_poles.r
    return {f"{name}{suffix}": value for name, value in numbers.items() if math.isfinite(value)}


def _notes(name: str, is_pole: NDArray[np.bool_]) -> list[str]:
    lexicon = name.rpartition("/")[2]
    if not is_pole.any():
        return [f"None of the pole words is in the lexicon {lexicon}: r with and without them is the same."]
    if (~is_pole).sum() < FEWEST:
        return [
            f"Of the {len(is_pole)} words of the lexicon {lexicon}, {is_pole.sum()} are pole words: r says nothing "
            "new, and there are too few others for one without them."
        ]
    return []
