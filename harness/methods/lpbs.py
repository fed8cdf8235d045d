"""LPBS: association as probability (Kurita et al. 2019; husse2022, Appendix A, equations 8 to 11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from harness.methods.base import Inputs, Measurement, PairLikelihoods, Row
from harness.methods.null import permutation_p
from harness.methods.seat import LARGEST_BOOTSTRAP
from harness.methods.weat import SIGNIFICANT, p_metrics
from harness.options import StatsOptions
from harness.stats.effect import Interval, bca_interval, cohens_d
from harness.stats.permutation import PermutationP

FloatArray = NDArray[np.float64]

NAMES = {"masked": "LPBS", "sentence": "causal LPBS (sentence)", "left": "causal LPBS (left context)"}
"""What each estimator is called; those of causal models are not the published one (`docs/lpbs.md`)."""


def log_ratio(given: FloatArray, prior: FloatArray, *, aggregate: str) -> FloatArray:
    """Return how much an attribute raises the probability of a set of targets, in logarithms.

    Parameters
    ----------
    given, prior
        log p_t and log p_p of each target, targets along the last axis (husse2022, equations 8 and 9).
    aggregate
        ``ratio_of_sums``: log Σ p_t − log Σ p_p (equation 10), where frequent targets weigh most;
        ``mean_log_ratio``: the mean of log p_t − log p_p, where all weigh the same.
    """
    if aggregate == "mean_log_ratio":
        return np.asarray((given - prior).mean(axis=-1))
    return np.asarray(logsumexp(given, axis=-1) - logsumexp(prior, axis=-1))


def scores(given: Mapping[str, FloatArray], prior: Mapping[str, FloatArray], *, aggregate: str) -> FloatArray:
    """Return bs of equation (10) for each sentence and attribute: the log ratio of X less that of Y."""
    ratio = {slot: log_ratio(given[slot], prior[slot], aggregate=aggregate) for slot in ("X", "Y")}
    return np.asarray(ratio["X"] - ratio["Y"])


@dataclass(frozen=True)
class Lpbs:
    """The effect size, its p, and what was exchanged between A and B."""

    d: float
    p: PermutationP
    bs_a: FloatArray
    bs_b: FloatArray


def lpbs(bs_a: FloatArray, bs_b: FloatArray, *, by: str, stats: StatsOptions, seed: int = 0) -> Lpbs:
    """Measure how much more A than B raises the probability of X rather than Y.

    Parameters
    ----------
    bs_a, bs_b
        bs of equation (10): a row for each sentence, a column for each attribute of A and of B.
    by
        What is exchangeable: ``item``, every sentence of an attribute, as published; or ``stimulus``, an attribute
        with the mean over its sentences.
    stats
        The conventions to follow; the tail is that of ``lpbs_alternative``.
    seed
        Seed of whatever is drawn.

    Notes
    -----
    d = (mean bs(a) − mean bs(b)) / std over A ∪ B (husse2022, equation 11).
    """
    first, second = (bs.mean(axis=0) if by == "stimulus" else bs.ravel() for bs in (bs_a, bs_b))
    d = cohens_d(first, second, ddof=stats.ddof, epsilon=stats.epsilon, names=("A", "B"))
    rng = np.random.default_rng([seed, 1])
    p = permutation_p(first, second, alternative=stats.lpbs_alternative, stats=stats, rng=rng)
    return Lpbs(d, p, first, second)


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by LPBS, by item and by stimulus; the cell's ``unit`` says which is d and p."""
    found = inputs.likelihoods
    if found is None:
        raise ValueError("LPBS needs log-probabilities")
    bs = scores(found.given, found.prior, aggregate=inputs.stats.lpbs_aggregate)
    border = len(found.words["A"])
    sides = {"A": bs[:, :border], "B": bs[:, border:]}
    both = {
        by: lpbs(sides["A"], sides["B"], by=by, stats=inputs.stats, seed=inputs.seed) for by in ("item", "stimulus")
    }
    chosen = both[inputs.unit or "item"]
    metrics = {"d": chosen.d, **p_metrics(chosen.p)}
    interval = _interval(chosen, inputs.stats, seed=inputs.seed)
    if interval is not None:
        metrics |= {"ci_low": interval.low, "ci_high": interval.high}
    for by, one in both.items():
        metrics |= {f"d_{by}": one.d, **p_metrics(one.p, f"_{by}")}
    metrics |= {"sentences": float(bs.shape[0]), "lowest_log_p": float(min(v.min() for v in found.given.values()))}
    labels = {
        "name": NAMES[found.estimator],
        "significance": "significant" if chosen.p.p < SIGNIFICANT else "not significant",
        "null_used": chosen.p.null,
        "ci_method": interval.method if interval else "none",
    }
    tables = {"attribute_scores": _attribute_rows(inputs, found, sides), "target_scores": _target_rows(inputs, found)}
    return Measurement(metrics, labels, tables)


def _attribute_rows(inputs: Inputs, found: PairLikelihoods, sides: Mapping[str, FloatArray]) -> list[Row]:
    """Return bs(w) of every attribute: the mean over its sentences, their spread, and each of them."""
    return [
        {
            "set": slot,
            "concept": getattr(inputs.test, slot).name,
            "word": word,
            "bs": float(column.mean()),
            "spread": float(column.std()),
            "items": [float(value) for value in column],
        }
        for slot, bs in sides.items()
        for word, column in zip(found.words[slot], bs.T, strict=True)
    ]


def _target_rows(inputs: Inputs, found: PairLikelihoods) -> list[Row]:
    """Return how much more A than B raises each target's probability, and its share of its set's sum (equation 10)."""
    border = len(found.words["A"])
    rows: list[Row] = []
    for slot in ("X", "Y"):
        given, prior = found.given[slot], found.prior[slot]
        lift = (given - prior).mean(axis=0)
        contrast = lift[:border].mean(axis=0) - lift[border:].mean(axis=0)
        share = np.exp(given - logsumexp(given, axis=-1, keepdims=True)).mean(axis=(0, 1))
        concept = getattr(inputs.test, slot).name
        rows += [
            {"set": slot, "concept": concept, "word": word, "lift": float(a), "share": float(b)}
            for word, a, b in zip(found.words[slot], contrast, share, strict=True)
        ]
    return rows


def _interval(found: Lpbs, stats: StatsOptions, *, seed: int) -> Interval | None:
    if not stats.ci_resamples or found.bs_a.size + found.bs_b.size > LARGEST_BOOTSTRAP:
        return None
    return bca_interval(
        found.bs_a,
        found.bs_b,
        confidence=stats.confidence,
        resamples=stats.ci_resamples,
        rng=np.random.default_rng([seed, 2]),
        ddof=stats.ddof,
        epsilon=stats.epsilon,
    )
