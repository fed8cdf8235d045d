"""The two concepts that span a cell's subspace, what was found between them, and the sentences that are projected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.cell import Cell
from harness.contexts.sources import IntersectionalSource
from harness.methods.base import POLE_SLOTS, Design, VectorSet
from harness.methods.projection import CHANCE, Separability, Subspace, fit_subspace, separability

SLOTS = ("poles.A", "poles.B")
"""Where the vectors of the poles stand among those of a test."""


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
    found = fit_subspace(A.vectors, B.vectors, options=cell.subspace, seed=cell.seed)
    check = separability(A.vectors, B.vectors, options=cell.subspace, seed=cell.seed)
    metrics = {"pole_accuracy": found.accuracy, "pole_accuracy_held_out": check.accuracy}
    more = {"pole_margin": found.margin, "pole_accuracy_random": check.random_accuracy, "pole_p": check.p}
    metrics |= {name: value for name, value in more.items() if value is not None}
    words = [word for word, wrong in zip((*A.words, *B.words), found.wrong, strict=True) if wrong]
    return Span(found, (A.name, B.name), metrics, _notes(A.name, B.name, words, check))


def _notes(first: str, second: str, wrong: list[str], check: Separability) -> list[str]:
    notes = []
    if wrong:
        notes.append(
            f"{first} and {second} are not separable by a plane: {', '.join(wrong)} lie on the wrong side of it."
        )
    if check.p is not None and check.random_accuracy is not None and check.p > CHANCE:
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
