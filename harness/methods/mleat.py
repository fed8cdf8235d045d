"""ML-EAT: the Multilevel Embedding Association Test of wolfe2024, its nine patterns and its verdict on the space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.methods.base import Inputs, Measurement, Row, VectorSet
from harness.methods.null import permutation_p
from harness.methods.projection import Subspace, word_projections
from harness.methods.weat import SIGNIFICANT, Weat, p_metrics, weat
from harness.methods.weat import measurement as weat_measurement
from harness.options import StatsOptions
from harness.stats.anisotropy import Verdict, verdict, verdict_sentence
from harness.stats.effect import cohens_d, cosine_matrix
from harness.stats.permutation import PermutationP

Attribute = Literal["A", "B", "none"]

SMALL = 0.2
"""The smallest effect that counts as an association: Cohen's *small* (wolfe2024, EAT-Maps)."""

PATTERNS: dict[tuple[Attribute, Attribute], str] = {
    ("A", "B"): "AB-Divergent",
    ("B", "A"): "BA-Divergent",
    ("A", "A"): "A-Uniform",
    ("B", "B"): "B-Uniform",
    ("A", "none"): "AX-Singular",
    ("B", "none"): "BX-Singular",
    ("none", "A"): "AY-Singular",
    ("none", "B"): "BY-Singular",
    ("none", "none"): "Non-Directional",
}
"""What X and what Y is associated with, and the pattern's name (wolfe2024, Figure 2)."""

LARGEST_LIST = 2_500
"""A level 3 matrix with more cosines is kept as quantiles."""
_QUANTILES = 501


@dataclass(frozen=True)
class Level2:
    """One target's association with A rather than B, and u(T, ·) of every attribute word (wolfe2024, eq. 5–8)."""

    d: float
    p: PermutationP
    u_a: NDArray[np.float64]
    u_b: NDArray[np.float64]

    @property
    def association(self) -> Attribute:
        """The attribute that the target is associated with, by the p of the alternative asked for."""
        return associated(self.d, float(self.p.p))

    @property
    def association_two_sided(self) -> Attribute:
        """The same by the two-sided p, whose size is α and not 2α."""
        return associated(self.d, float(self.p.p_two_sided))


@dataclass(frozen=True)
class Level3:
    """The cosines of one target with one attribute: mean and std, ddof 1 (wolfe2024, eq. 10–11)."""

    mean: float
    std: float
    cosines: NDArray[np.float64]


@dataclass(frozen=True)
class MlEat:
    """All three levels; ``level2`` has the keys X and Y, ``level3`` the keys XA, XB, YA and YB.

    ``angles`` are the cosines where level 3 holds projections: what is said of the space is said of its angles.
    """

    level1: Weat
    level2: dict[str, Level2]
    level3: dict[str, Level3]
    angles: dict[str, Level3] | None = None

    @property
    def pattern(self) -> str:
        """The pattern by the alternative asked for at level 2."""
        return PATTERNS[self.level2["X"].association, self.level2["Y"].association]

    @property
    def pattern_two_sided(self) -> str:
        """The pattern by two-sided p-values."""
        return PATTERNS[self.level2["X"].association_two_sided, self.level2["Y"].association_two_sided]

    @property
    def mean_cosine(self) -> float:
        """The mean of the four means of cosines."""
        return float(np.mean([cosines.mean for cosines in (self.angles or self.level3).values()]))

    @property
    def std_cosine(self) -> float:
        """The standard deviation of the cosines of all four matrices together."""
        matrices = (self.angles or self.level3).values()
        return float(np.concatenate([cosines.cosines.ravel() for cosines in matrices]).std(ddof=1))

    @property
    def anisotropy(self) -> Verdict:
        """Whether the cosines bunch together: low, mild, strong or uniform."""
        return verdict(self.mean_cosine)

    @property
    def anisotropy_sentence(self) -> str:
        """The verdict in words, with its numbers."""
        return verdict_sentence(self.mean_cosine, self.std_cosine)


def associated(d: float, p: float) -> Attribute:
    """Return the attribute that a target is associated with: an effect of at least .2 either way, and p < .05.

    Notes
    -----
    The section on EAT-Maps of wolfe2024 says "p-value > 0.05"; its tables and its definition of the patterns
    ("a significant p-value") show that < is meant.
    """
    if p >= SIGNIFICANT or abs(d) < SMALL:
        return "none"
    return "A" if d > 0 else "B"


def mleat(
    X: ArrayLike,
    Y: ArrayLike,
    A: ArrayLike,
    B: ArrayLike,
    *,
    stats: StatsOptions,
    seed: int = 0,
    subspace: Subspace | None = None,
) -> MlEat:
    """Measure associations at three levels.

    Parameters
    ----------
    X, Y, A, B
        Vectors, a row for each stimulus.
    stats
        The conventions to follow; ``alternative_level2`` is the tail at level 2, and with it of the pattern.
    seed
        Seed of whatever is drawn.
    subspace
        What targets are projected on at level 1, in place of their cosines.

    Notes
    -----
    Level 1 is the WEAT (wolfe2024, eq. 1–4). Level 2 of a target T compares u(T, a) = mean over t of cos(t, a)
    between A and B; its null exchanges attribute words (eq. 5–8). Level 3 describes each of the four matrices of
    cosines (eq. 10–11). By projection, level 1 has S(t, U) of the learnt subspace; levels 2 and 3, which look at
    single attribute words, have S(t, {a}) = t·a/‖a‖: each word spans a subspace of its own (omrani2023, equation 1).
    """
    pairs = {
        f"{target}{attribute}": (rows, columns)
        for target, rows in (("X", X), ("Y", Y))
        for attribute, columns in (("A", A), ("B", B))
    }
    angles = {pair: _level3(cosine_matrix(rows, columns)) for pair, (rows, columns) in pairs.items()}
    level3 = angles
    if subspace is not None:
        level3 = {pair: _level3(word_projections(rows, columns)) for pair, (rows, columns) in pairs.items()}
    level2 = {
        target: _level2(
            level3[f"{target}A"].cosines.mean(axis=0),
            level3[f"{target}B"].cosines.mean(axis=0),
            stats=stats,
            rng=np.random.default_rng([seed, stream]),
        )
        for stream, target in ((3, "X"), (4, "Y"))
    }
    return MlEat(weat(X, Y, A, B, stats=stats, seed=seed, subspace=subspace), level2, level3, angles)


def _level2(
    u_a: NDArray[np.float64], u_b: NDArray[np.float64], *, stats: StatsOptions, rng: np.random.Generator
) -> Level2:
    d = cohens_d(u_a, u_b, ddof=stats.ddof, epsilon=stats.epsilon, names=("A", "B"))
    p = permutation_p(u_a, u_b, alternative=stats.alternative_level2, stats=stats, rng=rng)
    return Level2(d, p, u_a, u_b)


def _level3(cosines: NDArray[np.float64]) -> Level3:
    return Level3(float(cosines.mean()), float(cosines.std(ddof=1)), cosines)


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell by ML-EAT."""
    sets = {slot: inputs.sets[slot] for slot in ("X", "Y", "A", "B")}
    X, Y, A, B = (vectors.vectors for vectors in sets.values())
    found = mleat(X, Y, A, B, stats=inputs.stats, seed=inputs.seed, subspace=inputs.subspace)
    result = weat_measurement(found.level1, sets["X"], sets["Y"])
    for target, level2 in found.level2.items():
        numbers = {"d": level2.d, **p_metrics(level2.p)}
        result.metrics |= {f"level2_{target.lower()}_{name}": value for name, value in numbers.items()}
        result.labels[f"{target.lower()}_association"] = level2.association
    for pair, level3 in found.level3.items():
        result.metrics |= {f"level3_{pair.lower()}_mean": level3.mean, f"level3_{pair.lower()}_std": level3.std}
    result.metrics |= {"mean_cosine": found.mean_cosine, "std_cosine": found.std_cosine}
    result.labels |= {
        "pattern": found.pattern,
        "pattern_two_sided": found.pattern_two_sided,
        "level2_null_used": found.level2["X"].p.null,
        "anisotropy": found.anisotropy,
        "anisotropy_in_words": found.anisotropy_sentence,
    }
    if found.anisotropy != "low":
        result.notes.append(found.anisotropy_sentence)
    result.tables |= {"level2": level2_rows(found, sets), "cosines": cosine_rows(found, sets)}
    return result


def level2_rows(found: MlEat, sets: dict[str, VectorSet]) -> list[Row]:
    """Return u(T, a) of every attribute word for both targets."""
    return [
        {
            "target": target,
            "target_concept": sets[target].name,
            "attribute": attribute,
            "concept": sets[attribute].name,
            "word": word,
            "u": float(u),
        }
        for target, level2 in found.level2.items()
        for attribute, values in (("A", level2.u_a), ("B", level2.u_b))
        for word, u in zip(sets[attribute].words, values, strict=True)
    ]


def cosine_rows(found: MlEat, sets: dict[str, VectorSet]) -> list[Row]:
    """Return each level 3 distribution: its cosines, or many quantiles of them where there are too many to keep."""
    rows: list[Row] = []
    for pair, level3 in found.level3.items():
        values = np.sort(level3.cosines.ravel())
        if values.size > LARGEST_LIST:
            values = np.quantile(values, np.linspace(0, 1, _QUANTILES))
        rows.append(
            {
                "target": pair[0],
                "attribute": pair[1],
                "target_concept": sets[pair[0]].name,
                "attribute_concept": sets[pair[1]].name,
                "n": level3.cosines.size,
                "mean": level3.mean,
                "std": level3.std,
                "values": [round(float(value), 5) for value in values],
            }
        )
    return rows
