"""How often words occur: what random words are matched by, so that rare names stand in for rare names."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.paths import stimuli_dir

BUNDLED = "glove-6b"
"""The list that is shipped: ranks among the 341,479 words of GloVe 6B, for the words of the shipped stimuli."""

NONE = "none"
BANDS = 5


@dataclass(frozen=True)
class Frequencies:
    """Ranks of words by frequency, 1 for the most frequent, and where they come from."""

    source: str
    ranks: Mapping[str, float]

    def rank(self, word: str) -> float | None:
        """Return a word's rank, as it is spelt or in lower case; None if the list lacks it."""
        return self.ranks.get(word, self.ranks.get(word.lower()))


def load_frequencies(name: str, *, runs: Path) -> Frequencies | None:
    """Return the list of a name: the bundled one, ``corpus:NAME``, a file, or None for ``none``.

    A file has a word in every line, the most frequent first; or a word and its count, parted by a comma or a tab.
    """
    if name == NONE:
        return None
    if name == BUNDLED:
        with (stimuli_dir() / "frequency" / f"{BUNDLED}.csv").open(encoding="utf-8") as lines:
            rows = csv.DictReader(line for line in lines if not line.startswith("#"))
            ranks = {row["word"]: float(row["rank"]) for row in rows}
        return Frequencies("rank among the 341,479 words of GloVe 6B", ranks)
    if name.startswith("corpus:"):
        return _of_corpus(name.partition(":")[2], runs=runs)
    return _of_file(Path(name).expanduser())


def _of_corpus(name: str, *, runs: Path) -> Frequencies:
    from harness.corpus.manifest import Manifest, corpora_dir, find_corpus
    from harness.corpus.report import stimulus_counts

    rows = stimulus_counts(Manifest.load(find_corpus(name, corpora_dir(runs))))
    counts = {row.stimulus: float(row.found) for row in rows if row.found}
    return Frequencies(f"occurrences in the corpus {name}", _ranked(counts))


def _of_file(path: Path) -> Frequencies:
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        raise HarnessError(
            f"--frequency {path}: is neither {BUNDLED}, corpus:NAME, {NONE}, nor a file that can be read."
        ) from None
    rows = [line.replace("\t", ",").rsplit(",", 1) for line in lines if line and not line.startswith("#")]
    if all(len(row) == 1 for row in rows):
        counts = {row[0]: float(len(rows) - place) for place, row in enumerate(rows)}
    else:
        try:
            counts = {row[0]: float(row[1]) for row in rows}
        except (IndexError, ValueError):
            raise HarnessError(f"--frequency {path}: every line is a word, or a word and its count.") from None
    if not counts:
        raise HarnessError(f"--frequency {path}: holds no word.")
    return Frequencies(f"the list {path.name}", _ranked(counts))


def _ranked(counts: Mapping[str, float]) -> dict[str, float]:
    from scipy.stats import rankdata

    ranks = rankdata([-count for count in counts.values()], method="average")
    return dict(zip(counts, ranks.tolist(), strict=True))


@dataclass(frozen=True)
class Bands:
    """Bands of frequency with about equally many words of a pool each; the last stands for words without a rank."""

    edges: tuple[float, ...]
    frequencies: Frequencies | None

    @classmethod
    def of(cls, words: Iterable[str], frequencies: Frequencies | None, bands: int) -> Bands:
        """Cut the ranks of a pool's words into so many bands."""
        if frequencies is None or bands < 2:
            return cls((), None)
        ranks = [rank for word in words if (rank := frequencies.rank(word)) is not None]
        if len(ranks) < bands:
            return cls((), None)
        edges = np.quantile(ranks, np.linspace(0, 1, bands + 1)[1:-1])
        return cls(tuple(np.unique(edges).tolist()), frequencies)

    @property
    def number(self) -> int:
        """The number of bands, that of words without a rank included where words are matched at all."""
        return len(self.edges) + (2 if self.frequencies else 1)

    def band(self, word: str) -> int:
        """Return the band of a word."""
        if self.frequencies is None:
            return 0
        rank = self.frequencies.rank(word)
        return self.number - 1 if rank is None else int(np.searchsorted(self.edges, rank, side="right"))

    def counts(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return how many of the words lie in each band."""
        return tuple(np.bincount([self.band(word) for word in words], minlength=self.number).tolist())


def widened(needed: Sequence[int], members: Sequence[NDArray[np.intp]]) -> list[list[int]] | None:
    """Join neighbouring bands until each group has as many words as are needed of it; None if all are too few.

    The band of words without a rank, the last, joins the rarest one: what a list lacks is seldom frequent.
    """
    groups = [[band] for band in range(len(needed))]

    def lacks(group: list[int]) -> bool:
        return sum(needed[band] for band in group) > sum(len(members[band]) for band in group)

    while any(map(lacks, groups)):
        if len(groups) == 1:
            return None
        at = next(i for i, group in enumerate(groups) if lacks(group))
        other = at - 1 if at else 1
        first, second = sorted((at, other))
        groups[first : second + 1] = [groups[first] + groups[second]]
    return groups
