"""Random tests in the sizes of real ones: words drawn from all stimuli that a static model has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.models import is_static, open_encoder
from harness.result import Result
from harness.stats.effect import unit
from harness.stimuli import all_words, concept_names, load_concept

FloatArray = NDArray[np.float64]

NAMES, WORDS = "names", "words"


@dataclass(frozen=True)
class Design:
    """The sizes of a cell's sets, the kind of its targets and attributes, and its model."""

    model: str
    n_x: int
    n_y: int
    n_a: int
    n_b: int
    targets: str
    attributes: str


class WordPools:
    """The unit vectors of all stimuli that each model has, names and words apart."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._pools: dict[str, dict[str, FloatArray] | None] = {}
        self._kinds: dict[str, str] = {}

    def design(self, result: Result) -> Design | None:
        """Return what to draw for a cell; None if its model cannot be opened here, or has too few other words."""
        model = str(result.factors["model"])
        if model not in self._pools:
            self._pools[model] = self._open(result)
        pools, sizes = self._pools[model], [int(result.metrics.get(f"n_{slot}", 0)) for slot in "xyab"]
        if pools is None or not all(sizes):
            return None
        kinds = [self._kind(result, slots) for slots in (("X", "Y"), ("A", "B"))]
        needed = {NAMES: 0, WORDS: 0}
        for kind, size in zip(kinds, (sizes[0] + sizes[1], sizes[2] + sizes[3]), strict=True):
            needed[kind] += size
        if any(needed[kind] > len(pools[kind]) for kind in needed):
            return None
        return Design(model, sizes[0], sizes[1], sizes[2], sizes[3], targets=kinds[0], attributes=kinds[1])

    def associations(self, design: Design, draws: int, rng: np.random.Generator) -> FloatArray:
        """Return s(w, A, B) over X ∪ Y of random tests, a row each."""
        pools = self._pools[design.model]
        assert pools is not None
        n_t, n_a, n_b = design.n_x + design.n_y, design.n_a, design.n_b
        rows = np.empty((draws, n_t))
        for i in range(draws):
            if design.targets == design.attributes:
                picked = pools[design.targets][rng.choice(len(pools[design.targets]), n_t + n_a + n_b, replace=False)]
                targets, attributes = picked[:n_t], picked[n_t:]
            else:
                targets, attributes = (
                    pools[kind][rng.choice(len(pools[kind]), size, replace=False)]
                    for kind, size in ((design.targets, n_t), (design.attributes, n_a + n_b))
                )
            rows[i] = targets @ (attributes[:n_a].mean(axis=0) - attributes[n_a:].mean(axis=0))
        return rows

    def in_words(self, designs: Iterable[Design]) -> list[str]:
        """Say for each model how many words were drawn from."""
        found = []
        for model in dict.fromkeys(design.model for design in designs):
            pools = self._pools[model]
            assert pools is not None
            found.append(
                f"{model}: X, Y, A and B drawn anew, in the sizes of each test, from {len(pools[NAMES])} names and "
                f"{len(pools[WORDS])} words among the shipped stimuli"
            )
        return found

    def _open(self, result: Result) -> dict[str, FloatArray] | None:
        config = result.config.get("model") or {}
        if not config or not is_static(config):
            return None
        try:
            encoder = open_encoder(config, runs=self._runs, wanted=all_words())
        except HarnessError:
            return None
        kinds = self._word_kinds()
        pools = {}
        for kind in (NAMES, WORDS):
            found = encoder.lookup([word for word, own in kinds.items() if own == kind])
            matrix = np.asarray(found.matrix)
            pools[kind] = unit(matrix) if len(matrix) else matrix
        return pools

    def _word_kinds(self) -> dict[str, str]:
        if not self._kinds:
            for name in concept_names():
                concept = load_concept(name)
                if concept.kind in {NAMES, WORDS}:
                    self._kinds |= {word: concept.kind for word in concept.words if word not in self._kinds}
        return self._kinds

    def _kind(self, result: Result, slots: tuple[str, ...]) -> str:
        kinds = self._word_kinds()
        used = [word for slot in slots for word in result.words[slot]["used"]]
        return NAMES if 2 * sum(kinds.get(word) == NAMES for word in used) > len(used) else WORDS
