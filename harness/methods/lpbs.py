"""LPBS: association as probability (Kurita et al. 2019; husse2022, Appendix A, equations 8 to 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from harness.methods.base import Inputs, Measurement, PairLikelihoods, PairSentences, Row
from harness.methods.null import permutation_p
from harness.methods.seat import item_interval
from harness.methods.weat import SIGNIFICANT, p_metrics
from harness.options import StatsOptions
from harness.stats.effect import cohens_d
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


Scores = FloatArray | Sequence[FloatArray]
"""bs of equation (10): a row for each sentence and a column for each attribute, or an array for each attribute."""


def lpbs(bs_a: Scores, bs_b: Scores, *, by: str, stats: StatsOptions, seed: int = 0) -> Lpbs:
    """Measure how much more A than B raises the probability of X rather than Y.

    Parameters
    ----------
    bs_a, bs_b
        bs of the attributes of A and of B.
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
    first, second = (_exchanged(bs, by=by) for bs in (bs_a, bs_b))
    d = cohens_d(first, second, ddof=stats.ddof, epsilon=stats.epsilon, names=("A", "B"))
    rng = np.random.default_rng([seed, 1])
    p = permutation_p(first, second, alternative=stats.lpbs_alternative, stats=stats, rng=rng)
    return Lpbs(d, p, first, second)


def _exchanged(bs: Scores, *, by: str) -> FloatArray:
    if isinstance(bs, np.ndarray):
        return np.asarray(bs.mean(axis=0) if by == "stimulus" else bs.ravel())
    return np.array([column.mean() for column in bs]) if by == "stimulus" else np.concatenate(list(bs))


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by LPBS, by item and by stimulus; the cell's ``unit`` says which is d and p."""
    found = inputs.likelihoods
    if found is None:
        raise ValueError("LPBS needs log-probabilities")
    corpus = isinstance(found, PairSentences)
    sides = corpus_sides(found) if isinstance(found, PairSentences) else template_sides(found, inputs.stats)
    both = {
        by: lpbs(sides["A"], sides["B"], by=by, stats=inputs.stats, seed=inputs.seed) for by in ("item", "stimulus")
    }
    chosen = both[inputs.unit or "item"]
    metrics = {"d": chosen.d, **p_metrics(chosen.p)}
    interval = item_interval(chosen.bs_a, chosen.bs_b, stats=inputs.stats, seed=inputs.seed)
    if interval is not None:
        metrics |= {"ci_low": interval.low, "ci_high": interval.high}
    for by, one in both.items():
        metrics |= {f"d_{by}": one.d, **p_metrics(one.p, f"_{by}")}
    if isinstance(found, PairSentences):
        metrics |= {"sentences": float(found.gap.size), "gap_median": float(np.median(found.gap))}
        metrics["lowest_log_p"] = float(found.given.min())
    else:
        metrics |= {"sentences": float(len(found.given["X"]))}
        metrics["lowest_log_p"] = float(min(v.min() for v in found.given.values()))
    labels = {
        "name": NAMES[found.estimator] + (", corpus sentences" if corpus else ""),
        "significance": "significant" if chosen.p.p < SIGNIFICANT else "not significant",
        "null_used": chosen.p.null,
        "ci_method": interval.method if interval else "none",
    }
    tables = {
        "attribute_scores": attribute_rows(inputs, found.words, sides),
        "target_scores": target_rows(inputs, found),
    }
    if isinstance(found, PairSentences):
        tables |= {"gaps": gap_rows(found, inputs), "sentences": sentence_rows(found)}
    return Measurement(metrics, labels, tables)


def template_sides(found: PairLikelihoods, stats: StatsOptions) -> dict[str, FloatArray]:
    """Return bs of A and of B, a row for each sentence and a column for each attribute."""
    bs = scores(found.given, found.prior, aggregate=stats.lpbs_aggregate)
    border = len(found.words["A"])
    return {"A": bs[:, :border], "B": bs[:, border:]}


def corpus_sides(found: PairSentences, chosen: NDArray[np.bool_] | None = None) -> dict[str, list[FloatArray]]:
    """Return bs of A and of B, an array for each attribute that some sentence holds, of all sentences or of some."""
    rows = np.ones(found.gap.size, dtype=bool) if chosen is None else chosen
    border = len(found.words["A"])
    by_word = [found.bs[rows & (found.attribute == number)] for number in range(len(found.attributes))]
    return {
        "A": [values for values in by_word[:border] if values.size],
        "B": [values for values in by_word[border:] if values.size],
    }


def gap_rows(found: PairSentences, inputs: Inputs) -> list[Row]:
    """Return the effect size by the largest gap that is let in, as in husse2022's Figure 4.

    A row for every number of words up to the widest, where A and B have at least two sentences each.
    """
    rows: list[Row] = []
    for widest in range(found.widest + 1):
        sides = corpus_sides(found, found.gap <= widest)
        counts = {slot: sum(values.size for values in side) for slot, side in sides.items()}
        row: Row = {"gap": widest, "sentences": sum(counts.values()), "n_a": counts["A"], "n_b": counts["B"]}
        row["at_gap"] = int((found.gap == widest).sum())
        for by in ("item", "stimulus"):
            row |= {f"d_{by}": None, f"p_{by}": None}
            if min(counts.values() if by == "item" else map(len, sides.values())) >= 2:
                one = lpbs(sides["A"], sides["B"], by=by, stats=inputs.stats, seed=inputs.seed)
                row |= {f"d_{by}": one.d, f"p_{by}": one.p.p}
        rows.append(row)
    return rows


def sentence_rows(found: PairSentences) -> list[Row]:
    """Return every sentence with its two targets, its attribute, the gap between them, and its bs."""
    border = len(found.words["A"])
    return [
        {"set": "AB"[number >= border], "attribute": found.attributes[number], "target": x, "counterpart": y}
        | {"gap": int(gap), "bs": float(bs), "text": text}
        for number, x, y, gap, bs, text in zip(
            found.attribute.tolist(), found.target, found.counterpart, found.gap, found.bs, found.texts, strict=True
        )
    ]


def attribute_rows(inputs: Inputs, words: Mapping[str, tuple[str, ...]], sides: Mapping[str, Scores]) -> list[Row]:
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
        for word, column in zip(words[slot], bs.T if isinstance(bs, np.ndarray) else bs, strict=True)
    ]


def target_rows(inputs: Inputs, found: PairLikelihoods | PairSentences) -> list[Row]:
    """Return how much more A than B raises each target's probability, and its share of its set's sum (equation 10).

    The targets of a corpus stand in other sentences each, so that there is no share: they have their number of
    sentences, and a lift where both A and B occur beside them.
    """
    border = len(found.words["A"])
    rows: list[Row] = []
    for column, slot in enumerate(("X", "Y")):
        concept = getattr(inputs.test, slot).name
        if isinstance(found, PairSentences):
            lift = (found.given - found.prior)[:, column]
            pairs = zip(found.target, found.counterpart, strict=True)
            shown = np.array([x if x in found.words[slot] else y for x, y in pairs])
            for word in found.words[slot]:
                sides = [lift[(shown == word) & side] for side in (found.attribute < border, found.attribute >= border)]
                contrast = float(sides[0].mean() - sides[1].mean()) if all(side.size for side in sides) else None
                number = sum(side.size for side in sides)
                rows.append({"set": slot, "concept": concept, "word": word, "lift": contrast, "sentences": number})
            continue
        given, prior = found.given[slot], found.prior[slot]
        mean = (given - prior).mean(axis=0)
        contrasts = mean[:border].mean(axis=0) - mean[border:].mean(axis=0)
        share = np.exp(given - logsumexp(given, axis=-1, keepdims=True)).mean(axis=(0, 1))
        rows += [
            {"set": slot, "concept": concept, "word": word, "lift": float(a), "share": float(b)}
            for word, a, b in zip(found.words[slot], contrasts, share, strict=True)
        ]
    return rows
