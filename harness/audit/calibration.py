"""What a p-value is worth: how often each convention finds something where nothing is planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from harness.audit.association_groups import FloatArray, association_groups
from harness.audit.frequency import BANDS, BUNDLED, load_frequencies
from harness.audit.rates import LEVELS, Rate, rate
from harness.audit.redraw import Design, WordPools, matched_in_words
from harness.audit.text_calibration import DRAWS as TEXT_DRAWS
from harness.audit.text_calibration import TextCalibration, has_scores, text_calibration
from harness.options import StatsOptions
from harness.result import Result
from harness.stats.permutation import Null, PermutationP, Ties, permutation_pvalue

DRAWS = 4_000
"""Tests of random words for each convention, shared out over models and sizes of sets."""

LARGEST_RESAMPLES = 10_000
"""Shuffles a test: a convention that asks for more is calibrated with these, which changes p in the third decimal."""

_SAMPLED = ("monte_carlo", "normal_fit")
_SMOOTH = ("normal", "normal_fit")
_LEVEL_1 = frozenset({"weat", "mleat"})
_BY_TEXT = frozenset({"seat", "ceat", "mlceat"})
"""Methods whose p by text is calibrated on stored vectors."""


@dataclass(frozen=True)
class Convention:
    """What of the conventions decides a p-value; ddof and epsilon do not."""

    null: str
    alternative: str
    ties: str
    plus_one: bool
    resamples: int
    exact_limit: int | None

    def __str__(self) -> str:
        """Return the parts that have an effect, in words."""
        parts = [self.null, self.alternative]
        parts += [self.ties] if self.ties == "strict" else []
        if self.null in _SAMPLED or self.exact_limit is not None:
            parts.append(f"{self.resamples:,} shuffles")
        if self.exact_limit is not None:
            parts.append(f"exact up to {self.exact_limit:,} arrangements")
        return ", ".join(parts)

    @classmethod
    def of(cls, result: Result) -> Convention:
        """Return the convention of a cell, from its config, or from its factors where the config is short."""
        stated = {**{f.name: f.default for f in fields(StatsOptions)}, **(result.config.get("stats") or {})}
        own = {f.name: stated[f.name] for f in fields(cls)}
        logged = {name: value for name, value in result.factors.items() if name in own and value is not None}
        both: dict[str, Any] = {**own, **logged}
        if both["null"] not in _SAMPLED and both["exact_limit"] is None:
            both |= {"resamples": 0, "plus_one": True}
        if both["null"] in _SMOOTH:
            both["ties"] = "inclusive"
        return cls(**both)

    @property
    def tail(self) -> str:
        """Return the number of a p-value that this convention reads."""
        return {"greater": "p_greater", "less": "p_less", "two-sided": "p_two_sided", "observed": "p"}[self.alternative]


@dataclass(frozen=True)
class Calibrated:
    """A convention, how many of the sweep's cells follow it, and its false-positive rates over ``draws`` tests."""

    convention: Convention
    cells: int
    draws: int
    rates: tuple[Rate, ...]


@dataclass(frozen=True)
class FrequencyAlone:
    """How often the exact two-sided test finds something in random words whose sets differ in frequency alone."""

    draws: int
    rates: tuple[Rate, ...]


@dataclass(frozen=True)
class Calibration:
    """Every convention of a sweep, how the words were drawn and matched, and which cells could not be calibrated."""

    rows: list[Calibrated]
    drawn_from: list[str]
    left_out: list[str]
    matched: list[str] = field(default_factory=list)
    frequency_alone: FrequencyAlone | None = None
    texts: TextCalibration = field(default_factory=TextCalibration)


def calibration(
    results: Sequence[Result],
    *,
    runs: Path,
    draws: int = DRAWS,
    seed: int = 0,
    vectors: bool = True,
    frequency: str = BUNDLED,
    bands: int = BANDS,
) -> Calibration:
    """Measure the false-positive rate of every convention among the cells.

    Parameters
    ----------
    results
        Finished cells.
    runs
        The folder of runs, where opened vectors are cached.
    draws
        Tests for each convention.
    seed
        Of the draws.
    vectors
        Open the static models again and draw new words; otherwise only the recorded associations are used.
    frequency, bands
        The list of frequencies (see ``load_frequencies``), and how many bands it is cut into; 1 for no matching.

    Notes
    -----
    For a static model that can be opened, all four sets are drawn anew, in the sizes of the cell's own, from the
    stimuli of every shipped test that the model has; targets from words of the targets' kind (names, or words),
    attributes from words of the attributes' kind, and of either as many from each band of frequency as X ∪ Y, or A ∪ B,
    have. X and Y are then exchangeable, whatever the model. What frequency does by itself is told apart from that: each
    set is drawn from the bands of its own, and the exact test tells how often that alone is found. For every other
    model the recorded associations of the test's own targets are dealt out to X and Y at random, which keeps the words
    and takes the association away. SEAT and CEAT by text, and LPBS: see ``text_calibration``.
    """
    usable, left_out = _usable(results)
    conventions = Counter(Convention.of(result) for result in usable)
    frequencies = load_frequencies(frequency, runs=runs)
    texts = text_calibration(
        results if vectors else [result for result in results if has_scores(result)],
        runs=runs,
        frequencies=frequencies,
        bands=bands,
        draws=min(draws, TEXT_DRAWS),
        seed=seed,
    )
    left_out += texts.left_out
    if not conventions:
        return Calibration([], [], left_out, texts=texts)
    rng = np.random.default_rng([seed, 3])
    pools = WordPools(runs, frequencies=frequencies, bands=bands)
    designs = Counter(design for result in usable if vectors and (design := pools.design(result)) is not None)
    samples, sources = _samples(usable, pools, designs, draws=draws, rng=rng)
    rows, known = [], dict[Convention, dict[str, FloatArray]]()
    for convention, cells in conventions.items():
        tailless = replace(convention, alternative="observed")
        if tailless not in known:
            known[tailless] = _tails(tailless, samples, seed=seed)
        p = known[tailless][convention.tail]
        rates = tuple(rate(int((p <= level).sum()), len(p), level=level) for level in LEVELS)
        rows.append(Calibrated(convention, cells, len(p), rates))
    rows.sort(key=lambda row: (row.convention.null, row.convention.alternative, str(row.convention)))
    matched = matched_in_words(pools.pools, frequencies, bands, len(designs)) if designs else []
    alone = _frequency_alone(pools, designs, draws=draws, seed=seed) if frequencies is not None and bands > 1 else None
    return Calibration(rows, sources, left_out, matched, alone, texts)


def _frequency_alone(pools: WordPools, designs: Iterable[Design], *, draws: int, seed: int) -> FrequencyAlone | None:
    rng, every = np.random.default_rng([seed, 7]), list(designs)
    if not every:
        return None
    each = max(1, -(-draws // len(every)))
    samples = [(pools.associations(design, each, rng, matching="set"), design.sizes[0]) for design in every]
    exact = Convention("exact", "two-sided", "inclusive", True, 0, None)
    p = _tails(exact, samples, seed=seed)["p_two_sided"]
    return FrequencyAlone(len(p), tuple(rate(int((p <= level).sum()), len(p), level=level) for level in LEVELS))


def _usable(results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    usable, reasons = [], Counter[str]()
    for result in results:
        if has_scores(result):
            continue  # calibrated by its texts and by its words
        if not result.tables.get("associations"):
            reasons[f"{result.factors['method']}: no associations of words are recorded"] += 1
        elif result.factors["method"] not in _LEVEL_1 and result.factors.get("unit") != "stimulus":
            if result.factors["method"] not in _BY_TEXT:
                reasons[f"{result.factors['method']} by item: its texts are permuted one by one, and not recorded"] += 1
        else:
            usable.append(result)
    return usable, [f"{number} × {reason}" for reason, number in reasons.items()]


Sample = tuple[FloatArray, int]
"""Associations of random tests, a row each, and how many of a row belong to X."""


def _samples(
    results: Sequence[Result], pools: WordPools, designs: Collection[Design], *, draws: int, rng: np.random.Generator
) -> tuple[list[Sample], list[str]]:
    models = {design.pool for design in designs}
    others = [
        (group, np.unique(group.row_of[[str(results[i].factors["model"]) not in models for i in group.cells]]))
        for group in association_groups(results)
    ]
    others = [(group, rows) for group, rows in others if len(rows)]
    each = max(1, -(-draws // max(1, len(designs) + len(others))))
    samples: list[Sample] = [(pools.associations(design, each, rng), design.sizes[0]) for design in designs]
    for group, rows in others:
        picked = group.values[rng.choice(rows, size=each)]
        samples.append((rng.permuted(picked, axis=1), len(group.x_words)))
    sources = pools.in_words(designs)
    if others:
        names = sorted({str(results[i].factors["model"]) for group, _ in others for i in group.cells} - models)
        sources.append(f"{', '.join(names)}: the recorded associations of each test's own targets, dealt out at random")
    return samples, sources


def _tails(convention: Convention, samples: Sequence[Sample], *, seed: int) -> dict[str, FloatArray]:
    """Return every tail's p of all random tests; conventions that differ in the tail alone share them."""
    found: list[PermutationP] = [
        permutation_pvalue(
            values,
            np.arange(values.shape[1]) < n_x,
            alternative="observed",
            null=cast(Null, convention.null),
            ties=cast(Ties, convention.ties),
            resamples=min(max(convention.resamples, 1), LARGEST_RESAMPLES),
            plus_one=convention.plus_one,
            exact_limit=convention.exact_limit,
            rng=np.random.default_rng([seed, 4, number]),
        )
        for number, (values, n_x) in enumerate(samples)
    ]
    names = ("p", "p_greater", "p_less", "p_two_sided")
    return {name: np.concatenate([np.atleast_1d(getattr(one, name)) for one in found]) for name in names}
