"""What goes into a method and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.methods.projection import Subspace
from harness.options import StatsOptions
from harness.stimuli import Test
from harness.stimuli.categories import Category

Row = dict[str, Any]

POLE_SLOTS = ("poles.A", "poles.B")
"""Where the vectors of the poles of a subspace stand among those of a test."""


@dataclass(frozen=True)
class VectorSet:
    """The vectors of one concept, a row for each item; ``words`` holds the stimulus that each row belongs to."""

    name: str
    words: tuple[str, ...]
    vectors: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class BlockSet:
    """One block of vectors for each stimulus of a concept, a row for each of its texts; a block may be mapped."""

    name: str
    words: tuple[str, ...]
    blocks: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Design:
    """Sentences about a word that combine categories (omrani2023), a row for each in every array.

    ``second`` says which term of each category is used, ``order`` the categories' indices from left to right, ``word``
    the number of the word that the sentence is about. ``shuffled``: beside the set's own order, which comes first,
    there are other orders, drawn to see what word order does.
    """

    categories: tuple[Category, ...]
    second: NDArray[np.bool_]
    order: NDArray[np.int64]
    word: NDArray[np.int64]
    texts: tuple[str, ...]
    shuffled: bool = False

    @property
    def main(self) -> NDArray[np.int64]:
        """The rows that effects are measured on: all of them, but for orders that were drawn beside the first."""
        own = (self.order == self.order[0]).all(axis=1) if self.shuffled else np.ones(len(self.order), dtype=bool)
        return np.flatnonzero(own)

    def take(self, rows: NDArray[np.int64]) -> Design:
        """Return some of the sentences."""
        texts = tuple(self.texts[row] for row in rows.tolist())
        return Design(self.categories, self.second[rows], self.order[rows], self.word[rows], texts)


@dataclass(frozen=True)
class PairLikelihoods:
    """Log-probabilities of targets beside attributes (LPBS): what is given, and the prior, by set of targets.

    Every array has the axes (sentence, attribute, target); attributes are those of A, then those of B. ``estimator``
    says what is a probability here: ``masked``, ``sentence`` or ``left``.
    """

    estimator: str
    words: Mapping[str, tuple[str, ...]]
    given: Mapping[str, NDArray[np.float64]]
    prior: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class PairSentences:
    """Log-probabilities in sentences of a corpus, each of which holds a target and an attribute (LPBS), a row each.

    The columns of ``given`` and ``prior`` are a word of X and one of Y: one is the ``target`` that the sentence holds,
    the other its ``counterpart``, drawn from the other set and put in its place. ``attribute`` is the number of the
    attribute among those of A, then B, ``gap`` the number of words between it and the target.
    """

    estimator: str
    words: Mapping[str, tuple[str, ...]]
    given: NDArray[np.float64]
    prior: NDArray[np.float64]
    attribute: NDArray[np.int64]
    target: tuple[str, ...]
    counterpart: tuple[str, ...]
    gap: NDArray[np.int64]
    texts: tuple[str, ...]
    widest: int

    @property
    def bs(self) -> NDArray[np.float64]:
        """Equation (10) of every sentence: with one target a side there is nothing to sum."""
        lift = self.given - self.prior
        return np.asarray(lift[:, 0] - lift[:, 1])

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of A, then those of B."""
        return (*self.words["A"], *self.words["B"])


@dataclass(frozen=True)
class Inputs:
    """A test's vectors by slot (X, Y, A, B or W, A, B) and the choices that apply to them.

    ``encoding`` and ``unit`` are those of the cell; None where a choice has no effect. A method that draws from the
    texts itself gets ``blocks`` instead of ``sets``. ``association`` is the cell's; with ``projection`` there is a
    ``subspace`` between two ``poles``. ``design`` describes texts that combine categories. ``model`` is the digest of
    what identifies the model.
    """

    test: Test
    sets: Mapping[str, VectorSet]
    stats: StatsOptions
    seed: int
    encoding: str | None = None
    unit: str | None = None
    blocks: Mapping[str, BlockSet] = field(default_factory=dict)
    model: str = ""
    association: str = "cosine"
    subspace: Subspace | None = None
    poles: tuple[str, str] | None = None
    design: Design | None = None
    likelihoods: PairLikelihoods | PairSentences | None = None


class BlindLayerError(HarnessError):
    """A layer that does not see the words around a stimulus, so that its texts cannot be told apart there."""


@dataclass
class Measurement:
    """Numbers, words and tables that a method found; figures are drawn from the tables alone."""

    metrics: dict[str, float]
    labels: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
