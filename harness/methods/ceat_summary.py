"""What guo2021 says over many CEATs: which models show the largest effects, and how many tests go the expected way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.methods.weat import SIGNIFICANT

FAMILIES: dict[str, tuple[str, ...]] = {
    "intersectional": ("i1", "i2", "i3", "i4"),
    "gender": ("c6", "c7", "c8"),
    "race": ("c3", "c4", "c5"),
}
"""The tests that guo2021 counts together: 13 of 16, 9 of 12 and 8 of 12 instances (IBD, EIBD, and CEAT Results)."""

METHODS = ("ceat", "mlceat")

MOST_SETTINGS = 8
"""Of more settings no summary is printed."""

CellRow = Mapping[str, Any]
"""A cell with ``model``, ``test``, ``d`` and ``p``: a row of ``harness.load_results`` or ``Result.row()``."""


@dataclass(frozen=True)
class FamilyCount:
    """Of the instances (a model on a test) of a family: how many are significant and congruent with the stereotype.

    The tests are written so that d > 0 is the congruent direction; ``incongruent`` counts significant ones below 0.
    """

    family: str
    congruent: int
    incongruent: int
    instances: int


@dataclass(frozen=True)
class RankedModel:
    """A model by its mean effect size over the tests that all models share."""

    model: str
    mean_d: float
    mean_abs_d: float
    congruent: int
    tests: int


def congruent_counts(
    rows: Iterable[CellRow], *, families: Mapping[str, Sequence[str]] | None = None, alpha: float = SIGNIFICANT
) -> list[FamilyCount]:
    """Count the significant stereotype-congruent instances of each family that any row belongs to."""
    measured = _measured(rows)
    found = []
    for family, tests in (FAMILIES if families is None else families).items():
        members = [row for row in measured if row["test"] in tests]
        significant = [row for row in members if row["p"] < alpha]
        if members:
            congruent = sum(row["d"] > 0 for row in significant)
            found.append(FamilyCount(family, congruent, len(significant) - congruent, len(members)))
    return found


def ranked_models(rows: Iterable[CellRow], *, alpha: float = SIGNIFICANT) -> list[RankedModel]:
    """Rank models by their mean effect size, largest first, over the tests that were measured on all of them."""
    by_model: dict[str, list[CellRow]] = {}
    for row in _measured(rows):
        by_model.setdefault(str(row["model"]), []).append(row)
    shared = set.intersection(*({str(row["test"]) for row in of} for of in by_model.values())) if by_model else set()
    ranked = [
        RankedModel(
            model=model,
            mean_d=math.fsum(row["d"] for row in common) / len(common),
            mean_abs_d=math.fsum(abs(row["d"]) for row in common) / len(common),
            congruent=sum(row["d"] > 0 and row["p"] < alpha for row in common),
            tests=len({row["test"] for row in common}),
        )
        for model, of in by_model.items()
        if (common := [row for row in of if row["test"] in shared])
    ]
    return sorted(ranked, key=lambda one: -one.mean_d)


def summary_sentences(rows: Sequence[CellRow], *, factors: Iterable[str] = ()) -> list[str]:
    """Say in words what the CEAT cells among these amount to.

    Parameters
    ----------
    rows
        Cells of any method.
    factors
        The choices that a row names. Where one of them varies for a model on a test, each of its values is a setting
        with a summary of its own: an instance is a model on a test, and counts once.
    """
    rows = [row for row in _measured(rows) if row.get("method") in METHODS]
    names = _varying(rows, factors)
    by_setting: dict[tuple[str, ...], list[CellRow]] = {}
    for row in rows:
        by_setting.setdefault(tuple(str(row.get(name)) for name in names), []).append(row)
    if len(by_setting) > MOST_SETTINGS:
        return [
            f"CEAT in {len(by_setting)} settings ({', '.join(names)}): the ranking of models and the counts of guo2021 "
            "are of one setting; hold some of these to see them."
        ]
    return [
        ", ".join(f"{name}={value}" for name, value in zip(names, setting, strict=True)) + ": " * bool(names) + said
        for setting, members in by_setting.items()
        for said in _sentences(members)
    ]


def _varying(rows: Sequence[CellRow], factors: Iterable[str]) -> list[str]:
    """Return the factors that take several values for one model on one test."""
    cells: dict[tuple[str, str], list[CellRow]] = {}
    for row in rows:
        cells.setdefault((str(row["model"]), str(row["test"])), []).append(row)
    return [
        name
        for name in sorted({*factors} - {"model", "test"})
        if any(len({str(row.get(name)) for row in of}) > 1 for of in cells.values())
    ]


def _sentences(rows: Sequence[CellRow]) -> list[str]:
    ranked = ranked_models(rows)
    sentences = []
    if len(ranked) > 1:
        order = ", ".join(f"{one.model} {one.mean_d:.2f}" for one in ranked)
        tests = "test" if ranked[0].tests == 1 else "tests"
        sentences.append(f"mean CES over the {ranked[0].tests} {tests} measured on all models: {order}")
    for one in congruent_counts(rows):
        sentences.append(
            f"{one.family}: {one.congruent} of {one.instances} instances significant and stereotype-congruent, "
            f"{one.incongruent} significant and incongruent"
        )
    return sentences


def _measured(rows: Iterable[CellRow]) -> list[CellRow]:
    return [row for row in rows if _number(row.get("d")) and _number(row.get("p"))]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)
