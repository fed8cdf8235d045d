"""SEAT: the WEAT over sentences (May et al. 2019; Tan & Celis 2019; husse2022, Section 2 and Appendix A.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import Inputs, Measurement, Row, VectorSet
from harness.methods.null import permutation_p
from harness.methods.weat import SIGNIFICANT, p_metrics
from harness.options import StatsOptions
from harness.stats.effect import Interval, bca_interval, cohens_d, unit
from harness.stats.paired import cluster_means
from harness.stats.permutation import PermutationP

NAMES = {"sentence": "s-SEAT", "word": "w-SEAT"}
"""What the literature calls the method by encoding (husse2022, Table 2)."""

LARGEST_BOOTSTRAP = 4_096
"""Items up to which an interval is bootstrapped: resampling tens of thousands takes gigabytes and minutes."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Seat:
    """A SEAT with one unit of exchange: what s is, what it belongs to, the effect size and its p."""

    d: float
    p: PermutationP
    s_x: FloatArray
    s_y: FloatArray


def seat(sets: dict[str, VectorSet], *, by: str, stats: StatsOptions, seed: int = 0) -> Seat:
    """Measure how much more the sentences of X than those of Y are associated with A's rather than B's.

    Parameters
    ----------
    sets
        X, Y, A and B, a row for each sentence, with the stimulus that it holds.
    by
        What is exchangeable: ``item``, every sentence by itself, as published; or ``stimulus``, all sentences of a
        word together, so that a word counts once however many sentences it has.
    stats
        The conventions to follow.
    seed
        Seed of whatever is drawn.

    Notes
    -----
    s(i, A, B) = mean cos(i, a) − mean cos(i, b) of sentence i over the sentences of A and of B; d = (mean s(x) −
    mean s(y)) / std over X ∪ Y (husse2022, Appendix A.2, after caliskan2017). By stimulus, each attribute word weighs
    the same in the means over A and B, and s is averaged over the sentences of each target word before d and p.
    """
    units = {slot: unit(vectors.vectors, name=slot, labels=vectors.words) for slot, vectors in sets.items()}
    towards, away = (_centre(units[slot], sets[slot], by=by) for slot in ("A", "B"))
    s_x, s_y = (_values(units[slot] @ (towards - away), sets[slot], by=by) for slot in ("X", "Y"))
    d = cohens_d(s_x, s_y, ddof=stats.ddof, epsilon=stats.epsilon, names=("X", "Y"))
    p = permutation_p(s_x, s_y, alternative=stats.alternative, stats=stats, rng=np.random.default_rng([seed, 1]))
    return Seat(d, p, s_x, s_y)


def _centre(rows: FloatArray, vectors: VectorSet, *, by: str) -> FloatArray:
    """Return the mean unit vector of a set: over its sentences, or over its words."""
    if by == "stimulus":
        rows = np.asarray(cluster_means(rows.T, vectors.words).means).T
    return np.asarray(rows.mean(axis=0))


def _values(s: FloatArray, vectors: VectorSet, *, by: str) -> FloatArray:
    return np.asarray(cluster_means(s, vectors.words).means) if by == "stimulus" else s


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by SEAT, by item and by stimulus; the cell's ``unit`` says which is d and p."""
    sets = {slot: inputs.sets[slot] for slot in ("X", "Y", "A", "B")}
    found = {by: seat(sets, by=by, stats=inputs.stats, seed=inputs.seed) for by in ("item", "stimulus")}
    chosen = found[inputs.unit or "item"]
    metrics = {"d": chosen.d, **p_metrics(chosen.p)}
    interval = item_interval(chosen.s_x, chosen.s_y, stats=inputs.stats, seed=inputs.seed)
    if interval is not None:
        metrics |= {"ci_low": interval.low, "ci_high": interval.high}
    for by, one in found.items():
        metrics |= {f"d_{by}": one.d, **p_metrics(one.p, f"_{by}")}
    for slot, vectors in sets.items():
        metrics[f"n_stimuli_{slot.lower()}"] = float(len(set(vectors.words)))
    labels = {
        "name": NAMES[inputs.encoding or "word"],
        "significance": "significant" if chosen.p.p < SIGNIFICANT else "not significant",
        "null_used": chosen.p.null,
        "ci_method": interval.method if interval else "none",
    }
    rows = [
        row for slot, s in (("X", found["item"].s_x), ("Y", found["item"].s_y)) for row in _rows(slot, sets[slot], s)
    ]
    return Measurement(metrics, labels, {"associations": rows})


def item_interval(first: FloatArray, second: FloatArray, *, stats: StatsOptions, seed: int) -> Interval | None:
    """Return the bootstrap interval of d, if there are few enough items for one."""
    if not stats.ci_resamples or first.size + second.size > LARGEST_BOOTSTRAP:
        return None
    return bca_interval(
        first,
        second,
        confidence=stats.confidence,
        resamples=stats.ci_resamples,
        rng=np.random.default_rng([seed, 2]),
        ddof=stats.ddof,
        epsilon=stats.epsilon,
    )


def _rows(slot: str, vectors: VectorSet, s: FloatArray) -> list[Row]:
    """Return the association of every target word: the mean over its sentences, their spread and number."""
    means, squares = cluster_means(s, vectors.words), cluster_means(s**2, vectors.words)
    spread = np.sqrt(np.maximum(squares.means - means.means**2, 0.0))
    return [
        {"set": slot, "concept": vectors.name, "word": word, "s": float(mean), "spread": float(std), "texts": int(size)}
        for word, mean, std, size in zip(means.labels, means.means, spread, means.sizes, strict=True)
    ]
