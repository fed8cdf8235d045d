"""Multilevel CEAT: ML-EAT's three levels on every sample of CEAT, and how often each of the nine patterns occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.methods.base import BlockSet, Inputs, Measurement, Row
from harness.methods.ceat import (
    Blocks,
    Ceat,
    combine,
    combined_samples,
    effect_metrics,
    in_sample_variance,
    inputs_draw,
    projected_samples,
    sample_p,
)
from harness.methods.ceat import measurement as ceat_measurement
from harness.methods.ceat_draws import SLOTS
from harness.methods.mleat import PATTERNS, Attribute, associated
from harness.methods.null import permutation_p
from harness.methods.projection import Subspace
from harness.options import StatsOptions
from harness.stats.ceat_kernel import CeatLevels, Drawn, ceat_levels
from harness.stats.effect import cohens_d
from harness.stats.meta import RandomEffects, association_variance

FloatArray = NDArray[np.float64]

PAIRS = ("XA", "XB", "YA", "YB")


@dataclass(frozen=True)
class SampledLevel2:
    """One target's association with A rather than B in every sample, combined, and by the attribute words' means.

    ``u`` is the mean over samples of u(T, a) for each attribute word, A then B; ``by_words`` is what the target is
    associated with where these means are compared, so that a word counts once whatever its contexts.
    """

    d: FloatArray
    v: FloatArray
    p: FloatArray
    combined: RandomEffects
    u: FloatArray
    by_words: Attribute

    @property
    def associations(self) -> list[Attribute]:
        """The attribute that the target is associated with in each sample."""
        return [associated(float(d), float(p)) for d, p in zip(self.d, self.p, strict=True)]


@dataclass(frozen=True)
class MlCeat:
    """All three levels over samples; ``level3`` maps XA, XB, YA, YB to mean and std, averaged over the samples."""

    level1: Ceat
    level2: dict[str, SampledLevel2]
    level3: dict[str, tuple[float, float]]
    patterns: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many samples show each of the nine patterns."""
        found = Counter(self.patterns)
        return {pattern: found[pattern] for pattern in PATTERNS.values()}

    @property
    def modal(self) -> str:
        """The pattern that most samples show; the first of them in the order of wolfe2024 where some tie."""
        return max(self.counts, key=self.counts.__getitem__)

    @property
    def modal_share(self) -> float:
        """The share of samples that show the modal pattern."""
        return self.counts[self.modal] / len(self.patterns)

    @property
    def pattern_by_words(self) -> str:
        """The pattern of the words' means over samples."""
        return PATTERNS[self.level2["X"].by_words, self.level2["Y"].by_words]


def mlceat(
    X: Blocks,
    Y: Blocks,
    A: Blocks,
    B: Blocks,
    drawn: Drawn,
    *,
    stats: StatsOptions,
    seed: int = 0,
    subspace: Subspace | None = None,
) -> MlCeat:
    """Measure ML-EAT on every sample of contexts.

    Parameters as in ``harness.methods.ceat.ceat``.

    Notes
    -----
    wolfe2024 leaves contexts other than one sentence a word to future work. Level 1 is the CEAT of guo2021. At level 2
    every sample has a d and a p for each target (wolfe2024, eq. 5–8), hence one of the nine patterns; the effect sizes
    are combined by the same random-effects model as at level 1. Level 3 averages means and standard deviations. With
    a subspace, level 1 has S(t, U) and the levels below have S(t, {a}), as in ``harness.methods.mleat.mleat``.
    """
    found = ceat_levels(X, Y, A, B, drawn, ddof=stats.ddof, by="cosine" if subspace is None else "projection")
    level1 = (found.d, found.v, found.s)
    if subspace is not None:
        level1 = projected_samples(X, Y, drawn, subspace, ddof=stats.ddof)
    level2 = {
        target: _level2(d, u, len(A), stats=stats, seed=[seed, stream])
        for target, d, u, stream in (("X", found.d_x, found.u_x, 3), ("Y", found.d_y, found.u_y, 4))
    }
    sides = zip(level2["X"].associations, level2["Y"].associations, strict=True)
    return MlCeat(
        level1=combined_samples(*level1, len(X), stats=stats, seed=seed),
        level2=level2,
        level3=_level3(found),
        patterns=tuple(PATTERNS[x, y] for x, y in sides),
    )


def _level2(d: FloatArray, u: FloatArray, n_a: int, *, stats: StatsOptions, seed: Sequence[int]) -> SampledLevel2:
    v = association_variance(u, ddof=stats.ddof)
    variances = in_sample_variance(d, v, n_a, u.shape[1] - n_a, stats=stats)
    tail = stats.alternative_level2
    means = u.mean(axis=0)
    first, second = means[:n_a], means[n_a:]
    p_words = permutation_p(first, second, alternative=tail, stats=stats, rng=np.random.default_rng([*seed, 1]))
    return SampledLevel2(
        d=d,
        v=variances,
        p=sample_p(u, n_a, alternative=tail, stats=stats, rng=np.random.default_rng(seed)),
        combined=combine(d, variances, stats=stats),
        u=means,
        by_words=associated(cohens_d(first, second, ddof=stats.ddof, names=("A", "B")), float(p_words.p)),
    )


def _level3(found: CeatLevels) -> dict[str, tuple[float, float]]:
    means, stds = found.cosine_mean.mean(axis=0), found.cosine_std.mean(axis=0)
    return {pair: (float(means[i]), float(stds[i])) for i, pair in enumerate(PAIRS)}


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by multilevel CEAT."""
    sets = {slot: inputs.blocks[slot] for slot in SLOTS}
    X, Y, A, B = (blocks.blocks for blocks in sets.values())
    found = mlceat(X, Y, A, B, inputs_draw(inputs), stats=inputs.stats, seed=inputs.seed, subspace=inputs.subspace)
    result = ceat_measurement(found.level1, inputs)
    modal = next(sides for sides, pattern in PATTERNS.items() if pattern == found.modal)
    for (target, level2), side in zip(found.level2.items(), modal, strict=True):
        name = f"level2_{target.lower()}"
        numbers = effect_metrics(level2.combined, level2.d, level2.v, stats=inputs.stats)
        result.metrics |= {f"{name}_{key}": value for key, value in numbers.items()}
        result.metrics[f"{name}_d_sd"] = float(level2.d.std(ddof=1))
        result.labels[f"{target.lower()}_association"] = side
    for pair, (mean, std) in found.level3.items():
        result.metrics |= {f"level3_{pair.lower()}_mean": mean, f"level3_{pair.lower()}_std": std}
    result.metrics["pattern_share"] = found.modal_share
    result.labels |= {"pattern": found.modal, "pattern_stimulus": found.pattern_by_words}
    result.tables |= {"patterns": pattern_rows(found), "level2": level2_rows(found, sets)}
    return result


def pattern_rows(found: MlCeat) -> list[Row]:
    """Return the distribution over the nine patterns."""
    total = len(found.patterns)
    return [{"pattern": name, "count": count, "share": count / total} for name, count in found.counts.items()]


def level2_rows(found: MlCeat, sets: dict[str, BlockSet]) -> list[Row]:
    """Return u(T, a) of every attribute word for both targets, averaged over the samples."""
    words: list[dict[str, Any]] = [
        {"attribute": slot, "concept": sets[slot].name, "word": word}
        for slot in ("A", "B")
        for word in sets[slot].words
    ]
    return [
        {"target": target, "target_concept": sets[target].name, **word, "u": float(u)}
        for target, level2 in found.level2.items()
        for word, u in zip(words, level2.u, strict=True)
    ]
