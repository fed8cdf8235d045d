"""WEFAT: the Word Embedding Factual Association Test of caliskan2017."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import HarnessError
from harness.methods.base import Inputs, Measurement, Row
from harness.options import StatsOptions
from harness.result import Result
from harness.stats.effect import sc_weat_d, unit
from harness.stats.regression import (
    Correlation,
    Influence,
    LeastSquares,
    least_squares,
    leave_one_out,
    pearson,
    spearman,
)
from harness.stimuli import SingleTargetTest


@dataclass(frozen=True)
class Wefat:
    """Every word's association with A rather than B, and how it predicts the property.

    ``kept`` marks the words that went into the fit; all other arrays have one entry a kept word.
    """

    scores: NDArray[np.float64]
    kept: NDArray[np.bool_]
    r: Correlation
    rho: Correlation
    line: LeastSquares
    without: Influence


def wefat(
    W: ArrayLike,
    A: ArrayLike,
    B: ArrayLike,
    properties: ArrayLike,
    *,
    stats: StatsOptions,
    labels: Sequence[str] | None = None,
) -> Wefat:
    """Measure how well words' associations with A rather than B predict a property of theirs.

    Parameters
    ----------
    W, A, B
        Vectors, a row for each stimulus. A higher score is nearer to A; caliskan2017 has female terms there.
    properties
        A number for each word of W.
    stats
        The conventions to follow; ``wefat_keep`` below 1 drops the words least like the others first.
    labels
        The words of W, for errors.

    Notes
    -----
    s(w, A, B) = (mean cos(w, a) − mean cos(w, b)) / std over A ∪ B of cos(w, ·); a linear regression predicts the
    property from it (caliskan2017, WEFAT).
    """
    words = np.asarray(W, dtype=np.float64)
    kept = most_alike(words, keep=stats.wefat_keep)
    names = None if labels is None else [label for label, keep in zip(labels, kept, strict=True) if keep]
    scores = sc_weat_d(words[kept], A, B, ddof=stats.ddof, epsilon=stats.epsilon, labels=names)
    y = np.asarray(properties, dtype=np.float64)[kept]
    return Wefat(
        scores=scores,
        kept=kept,
        r=pearson(scores, y, confidence=stats.confidence, labels=names),
        rho=spearman(scores, y, confidence=stats.confidence, labels=names),
        line=least_squares(scores, y, confidence=stats.confidence, labels=names),
        without=leave_one_out(scores, y, labels=names),
    )


def most_alike(vectors: ArrayLike, *, keep: float) -> NDArray[np.bool_]:
    """Mark the share of vectors that lies nearest to the centroid of all.

    Notes
    -----
    caliskan2017 (supplement) measures how name-like a vector is by its distance to the centroid of all names, and
    drops the least name-like 20 %. Distance is taken between directions, 1 − cosine, as everywhere in these methods:
    our reading, the paper does not say which distance it is.
    """
    directions = np.atleast_2d(unit(vectors, name="W"))
    if keep == 1.0:
        return np.ones(len(directions), dtype=bool)
    nearness = directions @ unit(directions.mean(axis=0), name="the centroid of W")
    nearest = np.argsort(-nearness, kind="stable")[: math.ceil(keep * len(directions) - 1e-9)]
    return np.isin(np.arange(len(directions)), nearest)


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by WEFAT."""
    test = inputs.test
    if not isinstance(test, SingleTargetTest):
        raise TypeError(f"WEFAT measures tests of kind single, not {test.kind}")
    W, A, B = (inputs.sets[slot] for slot in ("W", "A", "B"))
    lacking = [word for word in W.words if word not in test.W.properties]
    if lacking:
        raise HarnessError(
            f"Test {test.name}: {', '.join(lacking)} of {test.W.name} has no number under `properties`; give it one "
            f"({test.property_name}), or take the word out."
        )
    properties = np.array([test.W.properties[word] for word in W.words])
    found = wefat(W.vectors, A.vectors, B.vectors, properties, stats=inputs.stats, labels=W.words)
    words = [word for word, keep in zip(W.words, found.kept, strict=True) if keep]
    unlike = [word for word, keep in zip(W.words, found.kept, strict=True) if not keep]
    rows: list[Row] = [
        {
            "word": word,
            "concept": W.name,
            "a_concept": A.name,
            "b_concept": B.name,
            "property_name": test.property_name,
            "property": float(value),
            "s": float(score),
            "r_without": float(r),
            "slope_without": float(slope),
            "leverage": float(leverage),
            "cooks_distance": float(distance),
        }
        for word, value, score, r, slope, leverage, distance in zip(
            words,
            properties[found.kept],
            found.scores,
            found.without.r,
            found.without.slope,
            found.without.leverage,
            found.without.cooks_distance,
            strict=True,
        )
    ]
    decisive = max(rows, key=lambda row: row["cooks_distance"])
    labels = {"property": test.property_name, "most_influential": str(decisive["word"])}
    notes = [f"Least like the other words, so left out: {', '.join(unlike)}."] if unlike else []
    return Measurement(metrics=_metrics(found), labels=labels, tables={"scores": rows}, notes=notes)


def _metrics(found: Wefat) -> dict[str, float]:
    metrics = {
        "r": found.r.r,
        "p": found.r.p,
        "log10_p": found.r.log10_p,
        "ci_low": found.r.ci_low,
        "ci_high": found.r.ci_high,
        "rho": found.rho.r,
        "rho_p": found.rho.p,
        "slope": found.line.slope,
        "slope_low": found.line.slope_low,
        "slope_high": found.line.slope_high,
        "intercept": found.line.intercept,
        "r2": found.line.r2,
        "residual_std": found.line.residual_std,
        "r_without_lowest": float(found.without.r.min()),
        "r_without_highest": float(found.without.r.max()),
        "n_kept": float(found.kept.sum()),
    }
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


@dataclass(frozen=True)
class Agreement:
    """How far two models agree on the words that both know: Pearson, Spearman and the words with both scores."""

    pearson: Correlation
    spearman: Correlation
    words: tuple[str, ...]
    first: NDArray[np.float64]
    second: NDArray[np.float64]


def compare_scores(first: Result, second: Result) -> Agreement:
    """Correlate two models' word scores, as the supplement of caliskan2017 does for GloVe and word2vec (.88, .86)."""
    tables = []
    for result in (first, second):
        if not result.tables.get("scores"):
            raise HarnessError(f"Cell {result.fingerprint[:16]} holds no word scores; it was not measured by wefat.")
        tables.append({str(row["word"]): float(row["s"]) for row in result.tables["scores"]})
    words = tuple(word for word in tables[0] if word in tables[1])
    if len(words) < 3:
        raise HarnessError(f"The two cells share {len(words)} words; a correlation needs at least three.")
    one, other = (np.array([table[word] for word in words]) for table in tables)
    return Agreement(pearson(one, other, labels=words), spearman(one, other, labels=words), words, one, other)
