"""LPBS within CEAT: every sample's effect size by LPBS, combined by the random-effects model (husse2022, Table 14).

A sample takes one sentence for each combination of a target and an attribute, as CEAT takes one context for each
stimulus. bs(w) of an attribute sums over the targets in the sentences that were drawn (equation 10), d compares the
attributes of A and B (equation 11), and V is the variance of bs(w) over A ∪ B, where CEAT has that of s(w, A, B).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import Inputs, Measurement, PairLikelihoods, PairSentences
from harness.methods.ceat import QUANTILES, Ceat, combined_samples, measurement
from harness.methods.ceat_draws import generator
from harness.methods.lpbs import NAMES, log_ratio, target_rows
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Sampling, sample_indices
from harness.stats.errors import ZeroVarianceError

FloatArray = NDArray[np.float64]
Numbers = NDArray[np.intp]

LARGEST_CHUNK = 2_000_000
"""So many log-probabilities of a set are gathered at once."""


@dataclass(frozen=True)
class Combination:
    """The sentences of a target and an attribute: their places among all, in order."""

    attribute: int
    slot: str
    target: str
    rows: Numbers


def combinations(found: PairLikelihoods | PairSentences) -> list[Combination]:
    """Return every combination of a target and an attribute that has sentences, by attribute.

    The sentences of templates are numbered for each combination alike; those of a corpus are rows of ``found``.
    """
    attributes = (*found.words["A"], *found.words["B"])
    pairs = [
        (number, slot, target) for number in range(len(attributes)) for slot in "XY" for target in found.words[slot]
    ]
    if isinstance(found, PairLikelihoods):
        every = np.arange(len(found.given["X"]))
        return [Combination(number, slot, target, every) for number, slot, target in pairs]
    targets = np.array(found.target)
    # A word is of X or of Y, never of both.
    rows = [np.flatnonzero((found.attribute == number) & (targets == target)) for number, _, target in pairs]
    return [Combination(*pair, places) for pair, places in zip(pairs, rows, strict=True) if places.size]


def draw_sentences(
    listed: Sequence[Combination],
    attributes: Sequence[str],
    *,
    stats: StatsOptions,
    seed: int = 0,
    test: str = "",
    model: str = "",
) -> Numbers:
    """Draw a sentence of every combination for each of N samples; return its places, a column a combination.

    Parameters
    ----------
    listed
        The combinations.
    attributes
        The attributes of A, then of B.
    stats
        ``ceat_samples`` is N, ``ceat_sampling`` the rule of replacement; ``ceat_mode`` says whether the model matters.
    seed
        The cell's seed.
    test, model
        What tells tests and models apart; ``model`` has no effect on the fixed mode.
    """
    whose = model if stats.ceat_mode == "random" else ""
    drawn = np.empty((stats.ceat_samples, len(listed)), dtype=np.intp)
    for column, one in enumerate(listed):
        rng = generator(seed, test, one.slot, one.target, attributes[one.attribute], stats.ceat_samples, whose)
        sampling = cast(Sampling, stats.ceat_sampling)
        drawn[:, column] = one.rows[
            sample_indices([one.rows.size], stats.ceat_samples, sampling=sampling, rng=rng)[:, 0]
        ]
    return drawn


def bs_samples(
    found: PairLikelihoods | PairSentences, listed: Sequence[Combination], drawn: Numbers, *, aggregate: str
) -> FloatArray:
    """Return bs(w) of every attribute (A, then B) in every sample, from the sentences that were drawn."""
    width = len(found.words["A"]) + len(found.words["B"])
    bs = np.empty((len(drawn), width))
    columns = [np.array([i for i, one in enumerate(listed) if one.attribute == number]) for number in range(width)]
    for rows in _chunks(len(drawn), len(listed)):
        for number, own in enumerate(columns):
            ratio = {
                slot: log_ratio(given, prior, aggregate=aggregate)
                for slot, (given, prior) in _sets(found, number, listed, own, drawn[rows][:, own]).items()
            }
            bs[rows, number] = ratio["X"] - ratio["Y"]
    return bs


def _sets(
    found: PairLikelihoods | PairSentences, number: int, listed: Sequence[Combination], own: Numbers, drawn: Numbers
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return log p_t and log p_p of an attribute's targets, by set: a row a sample."""
    if isinstance(found, PairSentences):
        # Each sentence has a word of X and one of Y, whichever of them it was found with.
        return {slot: (found.given[drawn, i], found.prior[drawn, i]) for i, slot in enumerate("XY")}
    sets = {}
    for slot in "XY":
        chosen = np.flatnonzero([listed[column].slot == slot for column in own])
        places = np.arange(len(found.words[slot]))
        at = (drawn[:, chosen], number, places)
        sets[slot] = (found.given[slot][at], found.prior[slot][at])
    return sets


def _chunks(samples: int, combinations: int) -> Iterator[slice]:
    step = max(1, LARGEST_CHUNK // max(1, combinations))
    yield from (slice(begin, begin + step) for begin in range(0, samples, step))


def ceat_lpbs(
    found: PairLikelihoods | PairSentences, *, stats: StatsOptions, seed: int = 0, test: str = "", model: str = ""
) -> Ceat:
    """Measure LPBS on every sample of sentences and combine the effect sizes by a random-effects model.

    ``s`` of the result holds bs(w) of the attributes, those of A first; the tail is that of ``lpbs_alternative``.
    """
    listed = combinations(found)
    attributes = (*found.words["A"], *found.words["B"])
    drawn = draw_sentences(listed, attributes, stats=stats, seed=seed, test=test, model=model)
    bs = bs_samples(found, listed, drawn, aggregate=stats.lpbs_aggregate)
    border = len(found.words["A"])
    v = bs.var(axis=1, ddof=stats.ddof)
    if not v.all():
        raise ZeroVarianceError(
            f"All {len(attributes)} attributes have the same bs in a sample, so that d has no unit."
        )
    d = (bs[:, :border].mean(axis=1) - bs[:, border:].mean(axis=1)) / np.sqrt(v)
    return combined_samples(d, v, bs, border, stats=replace(stats, alternative=stats.lpbs_alternative), seed=seed)


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by CEAT whose samples are LPBS."""
    found = inputs.likelihoods
    if found is None:
        raise ValueError("LPBS needs log-probabilities")
    result = ceat_lpbs(found, stats=inputs.stats, seed=inputs.seed, test=inputs.test.name, model=inputs.model)
    counts = [one.rows.size for one in combinations(found)]
    contexts = {
        "n_samples": float(result.d.size),
        "n_effective": float(min(result.d.size, *counts)),
        "combinations": float(len(counts)),
        "contexts_min": float(min(counts)),
        "contexts_median": float(np.median(counts)),
    }
    tables = {
        "attribute_scores": _attribute_rows(inputs, found.words, result),
        "target_scores": target_rows(inputs, found),
    }
    measured = measurement(result, inputs, contexts=contexts, words=tables)
    measured.labels["name"] = f"CEAT of {NAMES[found.estimator]}"
    return measured


def _attribute_rows(inputs: Inputs, words: Mapping[str, tuple[str, ...]], found: Ceat) -> list[dict[str, object]]:
    """Return bs(w) of every attribute: its mean over the samples, its spread, and its quantiles among them."""
    quantiles = np.quantile(found.s, QUANTILES, axis=0).T
    named = [(slot, word) for slot in "AB" for word in words[slot]]
    return [
        {
            "set": slot,
            "concept": getattr(inputs.test, slot).name,
            "word": word,
            "bs": float(mean),
            "spread": float(spread),
            "items": [float(value) for value in items],
        }
        for (slot, word), mean, spread, items in zip(
            named, found.s.mean(axis=0), found.s.std(axis=0), quantiles, strict=True
        )
    ]
