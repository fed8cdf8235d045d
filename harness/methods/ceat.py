"""CEAT: the Contextualized Embedding Association Test of guo2021, a distribution of effect sizes over contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.methods.base import BlockSet, Inputs, Measurement, Row
from harness.methods.ceat_draws import SLOTS, draw_contexts
from harness.methods.ceat_tables import convergence_rows, histogram_rows, sample_rows, samples_enough
from harness.methods.null import permutation_p, permuted
from harness.methods.projection import Subspace
from harness.methods.weat import SIGNIFICANT, p_metrics
from harness.options import StatsOptions
from harness.stats.ceat_kernel import Drawn, ceat_samples, scored_samples
from harness.stats.effect import cohens_d
from harness.stats.meta import Alternative, RandomEffects, effect_variance, random_effects
from harness.stats.permutation import PermutationP

FloatArray = NDArray[np.float64]
Blocks = Sequence[NDArray[Any]]

NAMED_BY_UNIT = ("d", "p", "log10_p", "p_greater", "p_two_sided")
"""What is logged for both units of exchange: samples of contexts as published, and stimuli."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Ceat:
    """A CEAT: the effect size, in-sample variance and p of every sample, and what they combine to.

    ``s`` holds the association of each target word (X, then Y) in every sample. ``d_stimulus`` and ``p_stimulus`` are
    those of the words' mean associations over all samples, where a word counts once whatever its contexts.
    """

    d: FloatArray
    v: FloatArray
    p: FloatArray
    combined: RandomEffects
    s: FloatArray
    n_x: int
    d_stimulus: float
    p_stimulus: PermutationP

    @property
    def weights(self) -> FloatArray:
        """The weight of each sample in the combined effect size: 1 / (V + τ²)."""
        return 1.0 / (self.v + self.combined.tau2)


def ceat(
    X: Blocks,
    Y: Blocks,
    A: Blocks,
    B: Blocks,
    drawn: Drawn,
    *,
    stats: StatsOptions,
    seed: int = 0,
    subspace: Subspace | None = None,
) -> Ceat:
    """Measure a WEAT on every sample of contexts and combine the effect sizes by a random-effects model.

    Parameters
    ----------
    X, Y, A, B
        One block of vectors a stimulus, a row for each of its contexts.
    drawn
        The context of every stimulus in every sample: ``draw_contexts``, or ``harness.stats.ceat_kernel.draw``.
    stats
        The conventions to follow.
    seed
        Seed of whatever else is drawn: shuffles of the null.
    subspace
        What the targets' contexts are projected on in place of the cosines with A and B.

    Notes
    -----
    ES_i = (mean s(x) − mean s(y)) / std over X ∪ Y of the contexts drawn; CES = Σ v_i ES_i / Σ v_i with
    v_i = 1 / (V_i + τ²); two-sided p = 2 (1 − Φ(|CES / SE|)) (guo2021, "Random-Effects Model Details"). V is the
    variance of s(w, A, B) as published, or the sampling variance of d (``ceat_variance``). The samples share their
    words, so SE tells how exactly the mean over contexts is known, and nothing about other words: for those see
    ``p_stimulus``.
    """
    if subspace is not None:
        return combined_samples(
            *projected_samples(X, Y, drawn, subspace, ddof=stats.ddof), len(X), stats=stats, seed=seed
        )
    found = ceat_samples(X, Y, A, B, drawn, ddof=stats.ddof, keep_s=True)
    if found.s is None:
        raise TypeError("the kernel was asked to keep s")
    return combined_samples(found.d, found.v, found.s, len(X), stats=stats, seed=seed)


def projected_samples(
    X: Blocks, Y: Blocks, drawn: Drawn, subspace: Subspace, *, ddof: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return d, V and s of every sample where s(w) = S(w, U), the projection of the context drawn (omrani2023, eq. 1).

    Every context is projected once, whatever the number of samples.
    """
    columns = [
        subspace.project(block)[rows]
        for blocks, drawn_rows in ((X, drawn.x), (Y, drawn.y))
        for block, rows in zip(blocks, np.asarray(drawn_rows).T, strict=True)
    ]
    s = np.stack(columns, axis=1)
    return *scored_samples(s, len(X), ddof=ddof), s


def combined_samples(d: FloatArray, v: FloatArray, s: FloatArray, n_x: int, *, stats: StatsOptions, seed: int) -> Ceat:
    """Combine the effect sizes of samples, with the p-value of each and of the words' means."""
    variances = in_sample_variance(d, v, n_x, s.shape[1] - n_x, stats=stats)
    means = s.mean(axis=0)
    return Ceat(
        d=d,
        v=variances,
        p=sample_p(s, n_x, alternative=stats.alternative, stats=stats, rng=np.random.default_rng([seed, 5])),
        combined=combine(d, variances, stats=stats),
        s=s,
        n_x=n_x,
        d_stimulus=cohens_d(means[:n_x], means[n_x:], ddof=stats.ddof, names=("X", "Y")),
        p_stimulus=permutation_p(
            means[:n_x],
            means[n_x:],
            alternative=stats.alternative,
            stats=stats,
            rng=np.random.default_rng([seed, 1]),
        ),
    )


def in_sample_variance(d: FloatArray, v: FloatArray, n_first: int, n_second: int, *, stats: StatsOptions) -> FloatArray:
    """Return V by the definition asked for: ``v``, the variance of the associations, or that of d itself."""
    return effect_variance(d, n_first, n_second, ddof=stats.ddof) if stats.ceat_variance == "effect" else v


def combine(d: FloatArray, v: FloatArray, *, stats: StatsOptions) -> RandomEffects:
    """Combine effect sizes by the tail and the coverage asked for."""
    return random_effects(d, v, alternative=cast(Alternative, stats.ceat_alternative), confidence=stats.confidence)


def sample_p(
    values: FloatArray, first: int, *, alternative: str, stats: StatsOptions, rng: np.random.Generator
) -> FloatArray:
    """Return the permutation p-value of every sample: exact up to 8 v 8 words, else by the saddle-point."""
    found = permuted(values, first, alternative=alternative, stats=stats, rng=rng)
    return np.asarray(found.p, dtype=np.float64)


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by CEAT."""
    X, Y, A, B = (inputs.blocks[slot].blocks for slot in SLOTS)
    found = ceat(X, Y, A, B, inputs_draw(inputs), stats=inputs.stats, seed=inputs.seed, subspace=inputs.subspace)
    return measurement(found, inputs)


def inputs_draw(inputs: Inputs) -> Drawn:
    """Draw the contexts of a cell."""
    return draw_contexts(inputs.blocks, stats=inputs.stats, seed=inputs.seed, test=inputs.test.name, model=inputs.model)


def measurement(
    found: Ceat,
    inputs: Inputs,
    *,
    contexts: Mapping[str, float] | None = None,
    words: Mapping[str, list[Row]] | None = None,
) -> Measurement:
    """Return a CEAT's metrics, labels, and the tables that its figures are drawn from.

    Parameters
    ----------
    found, inputs
        The measured samples and what they were drawn from.
    contexts, words
        The counts of contexts and the tables of words, where they are not those of blocks of vectors.
    """
    by_item = effect_metrics(found.combined, found.d, found.v, stats=inputs.stats)
    by_stimulus = {"d": found.d_stimulus, **p_metrics(found.p_stimulus)}
    chosen = by_stimulus if inputs.unit == "stimulus" else by_item
    enough = samples_enough(
        found.d,
        found.weights,
        found.combined.ces,
        tolerance=inputs.stats.ceat_tolerance,
        confidence=inputs.stats.confidence,
    )
    metrics = {
        **chosen,
        **{f"{name}_item": by_item[name] for name in NAMED_BY_UNIT},
        **{f"{name}_stimulus": by_stimulus[name] for name in NAMED_BY_UNIT},
        "ces": found.combined.ces,
        "ces_se": found.combined.se,
        "ces_z": found.combined.z,
        "tau2": found.combined.tau2,
        "q": found.combined.q,
        "i2": found.combined.i2,
        **spread_metrics(found.d),
        "share_positive": float((found.d > 0).mean()),
        "share_significant": float((found.p < SIGNIFICANT).mean()),
        "mean_sample_p": float(found.p.mean()),
        **(context_metrics(inputs.blocks, samples=found.d.size) if contexts is None else contexts),
        "n_enough": float(enough.samples),
        "ces_error": enough.error,
    }
    if found.combined.prediction_low is not None and found.combined.prediction_high is not None:
        metrics |= {
            "prediction_low": found.combined.prediction_low,
            "prediction_high": found.combined.prediction_high,
        }
    labels = {
        "significance": "significant" if chosen["p"] < SIGNIFICANT else "not significant",
        "samples_enough": "yes" if enough.reached else "no",
        "samples_enough_in_words": enough.sentence,
        "null_used": found.p_stimulus.null,
    }
    tables: dict[str, list[Row]] = {
        "samples": sample_rows(found.d, found.v, found.p, seed=inputs.seed),
        "histogram": histogram_rows(found.d, found.p),
        "convergence": convergence_rows(found.d, found.v, found.weights, found.combined.ces, stats=inputs.stats),
        **(
            {"associations": association_rows(found, inputs.blocks["X"], inputs.blocks["Y"])}
            if words is None
            else words
        ),
    }
    return Measurement(metrics, labels, tables, [] if enough.reached else [enough.sentence])


def effect_metrics(combined: RandomEffects, d: FloatArray, v: FloatArray, *, stats: StatsOptions) -> dict[str, float]:
    """Return the combined effect size as d with its p, in both tails, and its interval."""
    return {
        "d": combined.ces,
        "p": combined.p,
        "log10_p": combined.log10_p,
        "p_greater": random_effects(d, v, alternative="greater", confidence=stats.confidence).p,
        "p_two_sided": random_effects(d, v, alternative="two-sided", confidence=stats.confidence).p,
        "ci_low": combined.ci_low,
        "ci_high": combined.ci_high,
    }


def spread_metrics(d: ArrayLike, prefix: str = "d") -> dict[str, float]:
    """Return mean, standard deviation and quantiles of the samples' effect sizes."""
    values = np.asarray(d, dtype=np.float64)
    quantiles = np.quantile(values, QUANTILES)
    return {
        f"{prefix}_mean": float(values.mean()),
        f"{prefix}_sd": float(values.std(ddof=1)),
        **{f"{prefix}_q{round(100 * q):02d}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
    }


def context_metrics(sets: Mapping[str, BlockSet], *, samples: int) -> dict[str, float]:
    """Return N, the contexts of the stimuli, and how many samples could be drawn without using a context twice."""
    counts = [len(block) for slot in SLOTS for block in sets[slot].blocks]
    return {
        "n_samples": float(samples),
        "n_effective": float(min(samples, *counts)),
        "contexts_min": float(min(counts)),
        "contexts_median": float(np.median(counts)),
    }


def association_rows(found: Ceat, X: BlockSet, Y: BlockSet) -> list[Row]:
    """Return the association of every target word: its mean over the samples, its spread, its contexts."""
    words = [(slot, s.name, word, len(block)) for slot, s in (("X", X), ("Y", Y)) for word, block in _each(s)]
    return [
        {"set": slot, "concept": concept, "word": word, "s": float(mean), "spread": float(spread), "texts": texts}
        for (slot, concept, word, texts), mean, spread in zip(
            words, found.s.mean(axis=0), found.s.std(axis=0), strict=True
        )
    ]


def _each(blocks: BlockSet) -> list[tuple[str, NDArray[Any]]]:
    return list(zip(blocks.words, blocks.blocks, strict=True))
