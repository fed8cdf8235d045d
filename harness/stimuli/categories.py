"""Social categories in one sentence: the intersectional contexts of omrani2023."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from random import Random

from pydantic import Field, ValidationError, model_validator

from harness.contexts.context import Context
from harness.errors import HarnessError, did_you_mean
from harness.stimuli.load import stimuli_roots
from harness.stimuli.render import Article, render, slots
from harness.stimuli.schema import Described, Strict, Word
from harness.stimuli.yaml_file import explain, read_yaml


class Category(Strict):
    """Two opposing terms; ``ratio`` is how often the first is used for each use of the second."""

    name: str
    first: Word
    second: Word
    ratio: float | None = Field(default=None, gt=0)


@dataclass(frozen=True, slots=True)
class IntersectionalContext:
    """A sentence about one person.

    ``second`` says for each category of the set, in the set's order, whether its second term was used; ``order``
    holds the categories' indices from left to right in the sentence.
    """

    context: Context
    second: tuple[bool, ...]
    order: tuple[int, ...]


class CategorySet(Described):
    """Ordered categories and the sentence that takes one term of each."""

    template: str = "{a modifiers} {word}"
    word: Word = "person"
    categories: tuple[Category, ...] = Field(min_length=1, max_length=16)

    @model_validator(mode="after")
    def _checked(self) -> CategorySet:
        if sorted(slot.name for slot in slots(self.template)) != ["modifiers", "word"]:
            raise ValueError("template must hold {modifiers} and {word}, each once")
        terms = [term for category in self.categories for term in (category.first, category.second)]
        for kind, given in (("term", terms), ("category", [category.name for category in self.categories])):
            twice = sorted({item for item in given if given.count(item) > 1})
            if twice:
                raise ValueError(f"the {kind} {', '.join(twice)} is given twice")
        return self

    def sentence(
        self, second: Sequence[bool], order: Sequence[int], *, article: Article = "agree"
    ) -> IntersectionalContext:
        """Return one sentence; see IntersectionalContext for ``second`` and ``order``."""
        terms = [c.second if chosen else c.first for c, chosen in zip(self.categories, second, strict=True)]
        modifiers = " ".join(terms[index] for index in order)
        text, spans = render(self.template, {"modifiers": modifiers, "word": self.word}, article=article)
        return IntersectionalContext(Context(text, *spans["word"]), tuple(second), tuple(order))

    def combinations(
        self, *, article: Article = "agree", order: Sequence[int] | None = None, size: int = 0, seed: int = 0
    ) -> list[IntersectionalContext]:
        """Return every choice of terms in one order: 2^k sentences (omrani2023, Section 5.2: 4,096).

        Parameters
        ----------
        article
            ``agree`` writes *an* before *old*, as published; ``fixed`` always *a*, which isolates the word.
        order
            The categories' indices from left to right; the set's own order if left out.
        size, seed
            A balanced part of so many sentences (see ``fraction``); 0 for all of them.
        """
        places = tuple(range(len(self.categories))) if order is None else tuple(order)
        if sorted(places) != list(range(len(self.categories))):
            raise HarnessError(
                f"The order {list(places)} of the categories {self.name} must name each index from 0 to "
                f"{len(self.categories) - 1} once."
            )
        every = product((False, True), repeat=len(self.categories))
        chosen = self.fraction(size, seed=seed) if size else every
        return [self.sentence(second, places, article=article) for second in chosen]

    def drawn_orders(self, count: int, *, seed: int = 0) -> list[tuple[int, ...]]:
        """Return so many different orders of the categories, none of them the set's own (omrani2023, Section 5.2)."""
        own = tuple(range(len(self.categories)))
        if not 0 <= count < math.factorial(len(own)):
            raise HarnessError(
                f"context.shuffles={count}: {self.name} has {math.factorial(len(own)) - 1} orders beside its own; "
                "0 draws none."
            )
        rng, found = Random(seed), dict.fromkeys([own])
        while len(found) <= count:
            found[tuple(rng.sample(own, len(own)))] = None
        return list(found)[1:]

    def fraction(self, size: int, *, seed: int = 0) -> list[tuple[bool, ...]]:
        """Return a balanced part of all choices of terms, as ``second`` of each sentence.

        Parameters
        ----------
        size
            How many: a power of two, at least twice the number of categories; or 2^k, which is all of them.
        seed
            Of the generators that are drawn.

        Notes
        -----
        A regular fractional factorial design of resolution IV: runs are the vectors of GF(2)^m with size = 2^m, and a
        category is at its second term where its generator, a distinct vector of odd weight, has an odd product with
        the run. Any three such generators are independent, so that each combination of terms of three categories
        occurs equally often: no category's effect is mixed with another's, or with an interaction of two.
        """
        count = len(self.categories)
        bits = size.bit_length() - 1
        if size != 1 << bits or not 2 * count <= size <= 1 << count:
            sizes = ", ".join(str(1 << m) for m in range(1, count + 1) if 1 << m >= 2 * count)
            raise HarnessError(
                f"context.shuffle_size={size}: a balanced part of {self.name}'s sentences has {sizes or 1 << count} "
                "sentences; 0 takes all of them."
            )
        # The unit vectors come first, so that no two runs are the same.
        units = [1 << m for m in range(bits)]
        others = [vector for vector in range(1, size) if vector.bit_count() % 2 == 1 and vector not in units]
        generators = (units + Random(seed).sample(others, max(0, count - bits)))[:count]
        return [tuple(bool((run & g).bit_count() % 2) for g in generators) for run in range(size)]

    def permutations(self, *, article: Article = "agree") -> list[IntersectionalContext]:
        """Return every choice of terms in every order: k!·2^k sentences (omrani2023, Section 5.3: 3,840)."""
        if len(self.categories) > 6:
            raise HarnessError(
                f"{len(self.categories)} categories have too many orders to write out; {self.name} may have at most "
                "6 for permutations, or draw orders and use combinations."
            )
        return [
            sentence
            for order in permutations(range(len(self.categories)))
            for sentence in self.combinations(article=article, order=order)
        ]


def category_path(ref: str | Path, *, stimuli: str | Path | None = None) -> Path:
    """Return the file of categories of that name; a YAML file stands for itself."""
    path = Path(ref).expanduser()
    if path.suffix in {".yaml", ".yml"}:
        return path
    files = {p.stem: p for root in reversed(stimuli_roots(stimuli)) for p in (root / "lexica").glob("*.yaml")}
    if str(ref) not in files:
        raise HarnessError(f"There are no categories named {str(ref)!r}.{did_you_mean(str(ref), files)}")
    return files[str(ref)]


def load_category_set(ref: str | Path, *, stimuli: str | Path | None = None) -> CategorySet:
    """Return the categories of that name (``omrani2023_twelve``, ``omrani2023_five``), or of a YAML file."""
    path = category_path(ref, stimuli=stimuli)
    try:
        return CategorySet.model_validate({"name": path.stem.lower(), **read_yaml(path)})
    except ValidationError as error:
        raise explain(error, path) from None
