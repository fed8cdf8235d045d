"""The two concepts that span a cell's subspace, what was found between them, and the sentences that are projected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.cell import Cell
from harness.contexts.sources import IntersectionalSource
from harness.methods.base import POLE_SLOTS, Design, VectorSet
from harness.methods.projection import CHANCE, Separability, Subspace, check_pairs, fit_subspace, separability
from harness.stimuli import Concept

ENOUGH = round(1 / CHANCE) - 1
"""Random splits of which none may do as well for p to reach CHANCE."""


@dataclass(frozen=True)
class Span:
    """The subspace of a cell, the poles' names, and what is to be told about it."""

    subspace: Subspace
    names: tuple[str, str]
    metrics: dict[str, float]
    notes: list[str]


def span(cell: Cell, sets: Mapping[str, VectorSet]) -> Span | None:
    """Find the subspace between the poles of a cell; None where the cell has none."""
    if cell.poles is None or cell.subspace is None:
        return None
    A, B = (sets[slot] for slot in POLE_SLOTS)
    notes: list[str] = []
    if cell.subspace.subspace == "pca":
        A, B, notes = _whole_pairs(cell.poles, A, B)
    found = fit_subspace(A.vectors, B.vectors, options=cell.subspace, seed=cell.seed)
    check = separability(A.vectors, B.vectors, options=cell.subspace, seed=cell.seed)
    metrics = {"pole_accuracy": found.accuracy, "pole_accuracy_held_out": check.accuracy}
    more = {"pole_margin": found.margin, "pole_accuracy_random": check.random_accuracy, "pole_p": check.p}
    metrics |= {name: value for name, value in more.items() if value is not None}
    words = [word for word, wrong in zip((*A.words, *B.words), found.wrong, strict=True) if wrong]
    notes += _notes(A.name, B.name, words, check, splits=cell.subspace.permutations)
    return Span(found, (A.name, B.name), metrics, notes)


def _whole_pairs(poles: tuple[Concept, Concept], A: VectorSet, B: VectorSet) -> tuple[VectorSet, VectorSet, list[str]]:
    """Leave out, and name, a word whose partner the model lacks: the one at the same place of the other list."""
    check_pairs(len(poles[0].words), len(poles[1].words))
    pairs = zip(poles[0].words, poles[1].words, strict=True)
    whole = [(a, b) for a, b in pairs if a in A.words and b in B.words]
    first, second = _kept(A, [a for a, _ in whole]), _kept(B, [b for _, b in whole])
    alone = [*(word for word in A.words if word not in first.words), *(w for w in B.words if w not in second.words)]
    notes = [f"Left out of the poles, the model lacks the other of the pair: {', '.join(alone)}."] if alone else []
    return first, second, notes


def _kept(vectors: VectorSet, words: Sequence[str]) -> VectorSet:
    at = [vectors.words.index(word) for word in words]
    return VectorSet(vectors.name, tuple(words), vectors.vectors[at])


def _notes(first: str, second: str, wrong: list[str], check: Separability, *, splits: int) -> list[str]:
    notes = []
    if wrong:
        notes.append(
            f"{first} and {second} are not separable along the direction found between them: {', '.join(wrong)} on the "
            "wrong side."
        )
    if check.p is None or check.random_accuracy is None or check.p <= CHANCE:
        return notes
    if check.p <= 1 / (1 + splits):
        notes.append(
            f"None of {splits} random splits of the poles' words is told apart as well as {first} and {second}, but so "
            f"few cannot show that chance would not do it: set association.permutations to {ENOUGH} or more."
        )
    else:
        notes.append(
            f"{first} and {second} are told apart no better than random splits of their words (held-out accuracy "
            f"{check.accuracy:.2f}, random {check.random_accuracy:.2f}, p = {check.p:.2f}): the direction between them "
            "has no meaning here."
        )
    return notes


def design_of(cell: Cell) -> Design | None:
    """Return the sentences of a cell whose texts combine categories, in the order of its vectors."""
    source = cell.source if cell.test.kind == "valence" else None
    if not isinstance(source, IntersectionalSource):
        return None
    words = cell.concepts["W"].words
    sentences = [(number, one) for number, word in enumerate(words) for one in source.sentences(word)]
    return Design(
        categories=source.categories.categories,
        second=np.array([one.second for _, one in sentences], dtype=bool),
        order=np.array([one.order for _, one in sentences], dtype=np.int64),
        word=np.array([number for number, _ in sentences], dtype=np.int64),
        texts=tuple(one.context.text for _, one in sentences),
        shuffled=source.shuffles > 0,
    )


def beginning(model: str, token: str | None) -> tuple[dict[str, str], list[str]]:
    """Return as a label what every text begins with, and a note where that is nothing (omrani2023, Section 4.1)."""
    if token is None:
        return {}, []
    if token:
        return {"texts_begin_with": token}, []
    return {"texts_begin_with": "nothing"}, [
        f"{model} puts no token before a text: poles and sentences are read without a beginning of sequence."
    ]
