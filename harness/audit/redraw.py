"""Random tests in the sizes of real ones: words of the same kind and frequency, drawn from a pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.audit.frequency import Bands, Frequencies, widened
from harness.errors import HarnessError
from harness.models import is_static, open_encoder
from harness.result import Result
from harness.stats.effect import unit
from harness.stimuli import all_words, concept_names, load_concept

FloatArray = NDArray[np.float64]
Indices = NDArray[np.intp]
Matching = Literal["pair", "set"]
"""Bands of X ∪ Y and of A ∪ B are kept, which makes X and Y exchangeable; or those of each set by itself."""

NAMES, WORDS = "names", "words"
SIDES = (("X", "Y"), ("A", "B"))


@cache
def word_kinds() -> Mapping[str, str]:
    """Return for every word of the shipped stimuli whether it is a name or another word."""
    kinds: dict[str, str] = {}
    for name in concept_names():
        concept = load_concept(name)
        if concept.kind in {NAMES, WORDS}:
            kinds |= {word: concept.kind for word in concept.words if word not in kinds}
    return kinds


@dataclass(frozen=True)
class Design:
    """What to draw for a cell: of which pool, and of each set its kind and how many words of each band."""

    pool: str
    kinds: tuple[str, str]
    bands: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of words in X, Y, A and B."""
        return tuple(map(sum, self.bands))


class Pool:
    """Words to draw from, names and other words apart, in bands of frequency."""

    def __init__(self, words: Sequence[str], *, frequencies: Frequencies | None, bands: int) -> None:
        kinds = word_kinds()
        self.words = tuple(words)
        of_kind = {
            kind: [i for i, word in enumerate(words) if kinds.get(word, WORDS) == kind] for kind in (NAMES, WORDS)
        }
        self.bands = {kind: Bands.of([words[i] for i in at], frequencies, bands) for kind, at in of_kind.items()}
        self.members: dict[str, list[Indices]] = {}
        for kind, at in of_kind.items():
            place = np.array([self.bands[kind].band(words[i]) for i in at], dtype=np.intp)
            self.members[kind] = [np.array(at, dtype=np.intp)[place == band] for band in range(self.bands[kind].number)]
        self.unmatched: set[str] = set()
        self.joined: set[Design] = set()

    def size(self, kind: str) -> int:
        """Return how many words of a kind there are."""
        return sum(map(len, self.members[kind]))

    def design(self, pool: str, used: Mapping[str, Sequence[str]]) -> Design | None:
        """Return what to draw in place of the words used; None if the pool is too small."""
        if any(not used.get(slot) for side in SIDES for slot in side):
            return None
        known, kinds, bands = word_kinds(), [], []
        for side in SIDES:
            both = [word for slot in side for word in used[slot]]
            kinds.append(NAMES if 2 * sum(known.get(word) == NAMES for word in both) > len(both) else WORDS)
            bands += [self.bands[kinds[-1]].counts(used[slot]) for slot in side]
            own = self.bands[kinds[-1]]
            if own.frequencies is not None:
                self.unmatched |= {word for word in both if own.frequencies.rank(word) is None}
        found = Design(pool, (kinds[0], kinds[1]), tuple(bands))
        groups = [self._groups(found, kind) for kind in set(kinds)]
        if any(one is None for one in groups):
            return None
        if any(len(group) > 1 for one in groups for group in one or ()):
            self.joined.add(found)
        return found

    def _groups(self, design: Design, kind: str) -> list[list[int]] | None:
        both = [counts for i, counts in enumerate(design.bands) if design.kinds[i // 2] == kind]
        return widened(np.sum(both, axis=0).tolist(), self.members[kind])

    def draw(self, design: Design, rng: np.random.Generator, *, matching: Matching = "pair") -> list[Indices]:
        """Return the places of the words of a random X, Y, A and B, no word twice."""
        found: list[list[Indices]] = [[], [], [], []]
        for kind in dict.fromkeys(design.kinds):
            slots = [i for i in range(4) if design.kinds[i // 2] == kind]
            for group in self._groups(design, kind) or ():
                shuffled = rng.permutation(np.concatenate([self.members[kind][band] for band in group]))
                start = 0
                for slot in slots:
                    stop = start + sum(design.bands[slot][band] for band in group)
                    found[slot].append(shuffled[start:stop])
                    start = stop
        sets = [np.concatenate(parts) for parts in found]
        if matching == "set":
            return sets
        sizes = design.sizes
        first, second = (rng.permutation(np.concatenate(sets[at : at + 2])) for at in (0, 2))
        return [first[: sizes[0]], first[sizes[0] :], second[: sizes[2]], second[sizes[2] :]]


def matched_in_words(pools: Iterable[Pool], frequencies: Frequencies | None, bands: int, designs: int) -> list[str]:
    """Say by which frequencies words were matched, and what could not be."""
    if frequencies is None or bands < 2:
        return ["Words were matched by kind and number, not by frequency"]
    pools = list(pools)
    text = f"Words were matched in {bands} bands of frequency ({frequencies.source}), names and other words apart"
    found = [text]
    lost = sorted(set().union(*(pool.unmatched for pool in pools)))
    if lost:
        listed = ", ".join(lost[:12]) + (f" and {len(lost) - 12} more" if len(lost) > 12 else "")
        found.append(f"Not in that list, and matched among themselves where possible: {listed}")
    joined = sum(len(pool.joined) for pool in pools)
    if joined:
        found.append(
            f"For {joined} of {designs} designs (a model's words, and the sizes and bands of a test) a band holds too "
            "few words and was joined with its neighbour"
        )
    return found


class WordPools:
    """The unit vectors of all stimuli that each static model has."""

    def __init__(self, runs: Path, *, frequencies: Frequencies | None, bands: int) -> None:
        self._runs, self._frequencies, self._bands = runs, frequencies, bands
        self._pools: dict[str, tuple[Pool, FloatArray] | None] = {}

    @property
    def pools(self) -> list[Pool]:
        """The pools that were opened."""
        return [one[0] for one in self._pools.values() if one is not None]

    def design(self, result: Result) -> Design | None:
        """Return what to draw for a cell; None if its model cannot be opened here, or has too few other words."""
        model = str(result.factors["model"])
        if model not in self._pools:
            self._pools[model] = self._open(result)
        opened = self._pools[model]
        if opened is None:
            return None
        return opened[0].design(model, {slot: words["used"] for slot, words in result.words.items()})

    def associations(
        self, design: Design, draws: int, rng: np.random.Generator, *, matching: Matching = "pair"
    ) -> FloatArray:
        """Return s(w, A, B) over X ∪ Y of random tests, a row each."""
        opened = self._pools[design.pool]
        assert opened is not None
        pool, vectors = opened
        rows = np.empty((draws, sum(design.sizes[:2])))
        for i in range(draws):
            x, y, a, b = pool.draw(design, rng, matching=matching)
            rows[i] = vectors[np.concatenate([x, y])] @ (vectors[a].mean(axis=0) - vectors[b].mean(axis=0))
        return rows

    def in_words(self, designs: Iterable[Design]) -> list[str]:
        """Say for each model how many words were drawn from."""
        found = []
        for model in dict.fromkeys(design.pool for design in designs):
            opened = self._pools[model]
            assert opened is not None
            pool = opened[0]
            found.append(
                f"{model}: X, Y, A and B drawn anew, in the sizes of each test, from {pool.size(NAMES)} names and "
                f"{pool.size(WORDS)} words among the shipped stimuli"
            )
        return found

    def _open(self, result: Result) -> tuple[Pool, FloatArray] | None:
        config = result.config.get("model") or {}
        if not config or not is_static(config):
            return None
        try:
            encoder = open_encoder(config, runs=self._runs, wanted=all_words())
        except HarnessError:
            return None
        found = encoder.lookup(list(word_kinds()))
        if not len(found.matrix):
            return None
        return Pool(found.words, frequencies=self._frequencies, bands=self._bands), unit(np.asarray(found.matrix))
