"""LPBS within CEAT: every sample's effect size by LPBS, combined by the random-effects model (husse2022, Table 14).

CEAT takes one context for each stimulus; here the stimuli that d compares are the attributes, so that a sample takes
one sentence for each of them, with bs of that sentence (equation 10). d compares the attributes of A and B (equation
11), and V is the variance of bs(w) over A ∪ B, where CEAT has that of s(w, A, B).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import Inputs, Measurement, PairLikelihoods, PairSentences
from harness.methods.ceat import QUANTILES, Ceat, combined_samples, measurement
from harness.methods.ceat_draws import generator
from harness.methods.lpbs import NAMES, corpus_sides, target_rows, template_sides
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Sampling, sample_indices
from harness.stats.errors import ZeroVarianceError

FloatArray = NDArray[np.float64]
ByAttribute = dict[tuple[str, str], FloatArray]
"""bs of every sentence of an attribute, by slot and word."""


def sentence_scores(found: PairLikelihoods | PairSentences, stats: StatsOptions) -> ByAttribute:
    """Return bs of equation (10) for each sentence of each attribute, those of A first."""
    sides = (
        corpus_sides(found)
        if isinstance(found, PairSentences)
        else {slot: list(bs.T) for slot, bs in template_sides(found, stats).items()}
    )
    return {(slot, word): column for slot in "AB" for word, column in zip(found.words[slot], sides[slot], strict=True)}


def bs_samples(
    scores: ByAttribute, *, stats: StatsOptions, seed: int = 0, test: str = "", model: str = ""
) -> FloatArray:
    """Return bs(w) of one sentence of every attribute in each of N samples, a column an attribute.

    Parameters
    ----------
    scores
        What ``sentence_scores`` gives.
    stats
        ``ceat_samples`` is N, ``ceat_sampling`` the rule of replacement; ``ceat_mode`` says whether the model matters.
    seed
        The cell's seed.
    test, model
        What tells tests and models apart; ``model`` has no effect on the fixed mode.
    """
    whose = model if stats.ceat_mode == "random" else ""
    columns = []
    for (slot, word), own in scores.items():
        rng = generator(seed, test, slot, word, stats.ceat_samples, whose)
        sampling = cast(Sampling, stats.ceat_sampling)
        columns.append(own[sample_indices([own.size], stats.ceat_samples, sampling=sampling, rng=rng)[:, 0]])
    return np.stack(columns, axis=1)


def ceat_lpbs(
    found: PairLikelihoods | PairSentences, *, stats: StatsOptions, seed: int = 0, test: str = "", model: str = ""
) -> Ceat:
    """Measure LPBS on every sample of sentences and combine the effect sizes by a random-effects model.

    ``s`` of the result holds bs(w) of the attributes, those of A first; the tail is that of ``lpbs_alternative``.
    """
    bs = bs_samples(sentence_scores(found, stats), stats=stats, seed=seed, test=test, model=model)
    border = len(found.words["A"])
    v = bs.var(axis=1, ddof=stats.ddof)
    if not v.all():
        raise ZeroVarianceError(f"All {bs.shape[1]} attributes have the same bs in a sample, so that d has no unit.")
    d = (bs[:, :border].mean(axis=1) - bs[:, border:].mean(axis=1)) / np.sqrt(v)
    return combined_samples(d, v, bs, border, stats=replace(stats, alternative=stats.lpbs_alternative), seed=seed)


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by CEAT whose samples are LPBS."""
    found = inputs.likelihoods
    if found is None:
        raise ValueError("LPBS needs log-probabilities")
    result = ceat_lpbs(found, stats=inputs.stats, seed=inputs.seed, test=inputs.test.name, model=inputs.model)
    counts = [own.size for own in sentence_scores(found, inputs.stats).values()]
    contexts = {
        "n_samples": float(result.d.size),
        "n_effective": float(min(result.d.size, *counts)),
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
