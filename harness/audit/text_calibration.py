"""What p over texts is worth: SEAT and CEAT of random stimuli from stored vectors, LPBS of attributes dealt anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.audit.frequency import Frequencies
from harness.audit.rates import LEVELS, Rate, rate
from harness.audit.redraw import matched_in_words
from harness.audit.stored_pools import Block, StoredPool, designs_of, pools_in_words, stored_pools
from harness.options import StatsOptions
from harness.result import Result
from harness.stats.ceat_kernel import Drawn, ceat_samples, sample_indices
from harness.stats.effect import unit
from harness.stats.meta import effect_variance, random_effects
from harness.stats.permutation import permutation_pvalue

FloatArray = NDArray[np.float64]

DRAWS = 400
"""Random tests of a sweep's texts: each is a CEAT of up to ``LARGEST_SAMPLES`` samples."""

LARGEST_SAMPLES = 1_000
MOST_TEXTS = 100
"""Texts of a stimulus that a random SEAT reads: p by item only grows more certain of itself with more."""

EXTREME = -30.0
"""log10 of the bound below which guo2021 prints p as < 10⁻³⁰."""

PUBLISHED = "CEAT, V of s(w, A, B), as published"
EFFECT = "CEAT, V of d"
STIMULUS = "CEAT, whole words exchanged"
SEAT_ITEM = "SEAT, sentences exchanged, as published"
SEAT_STIMULUS = "SEAT, whole words exchanged"
LPBS_ITEM = "LPBS, sentences exchanged, as published"
LPBS_STIMULUS = "LPBS, whole words exchanged"


@dataclass(frozen=True)
class TextCalibrated:
    """A method's p-value on random tests: its false-positive rates, and how small its p looks."""

    convention: str
    cells: int
    draws: int
    rates: tuple[Rate, ...]
    median_log10_p: float
    extreme: float


@dataclass(frozen=True)
class TextCalibration:
    """The p-values by text and by word, what was drawn from, and which cells could not be calibrated."""

    rows: list[TextCalibrated] = field(default_factory=list)
    drawn_from: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    matched: list[str] = field(default_factory=list)

    def row(self, convention: str) -> TextCalibrated | None:
        """Return the row of a p-value."""
        return next((row for row in self.rows if row.convention == convention), None)


def text_calibration(
    results: Sequence[Result],
    *,
    runs: Path,
    frequencies: Frequencies | None,
    bands: int,
    draws: int = DRAWS,
    seed: int = 0,
) -> TextCalibration:
    """Measure the two-sided false-positive rates of SEAT, CEAT and LPBS in the settings of a sweep's cells.

    Notes
    -----
    X, Y, A and B are drawn anew, in the sizes of each cell's own and matched by kind and frequency, from all stimuli
    whose texts the sweep has encoded with the same model, context and pooling; X and Y are dealt out at random, so that
    whatever is found is chance. The samples of a CEAT share their words: the random-effects model takes what these
    words happen to have for what all words have, by any V, and so does an exchange of single sentences. Probabilities
    of other words are not at hand: LPBS keeps its attributes, each with all its sentences, and deals them out to A and
    B at random.
    """
    rows: list[TextCalibrated] = []
    left_out: list[str] = []
    drawn: list[StoredPool] = []
    number = 0
    for method, members in (("ceat", ("ceat", "mlceat")), ("seat", ("seat",))):
        cells = [result for result in results if result.factors["method"] in members and not _vectors_off(result)]
        if not cells:
            continue
        pools = stored_pools(cells, runs=runs, frequencies=frequencies, bands=bands)
        designs = designs_of(cells, pools)
        if not designs:
            left_out.append(f"{len(cells)} × {method}: its vectors are not stored, or too few other stimuli are")
            continue
        rng = np.random.default_rng([seed, 8])
        each = max(1, -(-draws // len(designs)))
        samples = min(LARGEST_SAMPLES, max(_stats(cell).ceat_samples for cell in cells))
        found: dict[str, list[float]] = {}
        for key, design in designs:
            for _ in range(each):
                at = pools[key].pool.draw(design, rng)
                sets = [[pools[key].blocks[i] for i in places] for places in at]
                one = ceat_log10_p(sets, samples=samples, rng=rng) if method == "ceat" else seat_log10_p(sets, rng=rng)
                for name, value in one.items():
                    found.setdefault(name, []).append(value)
        rows += [calibrated(name, len(cells), values) for name, values in found.items()]
        drawn += [pools[key] for key in dict.fromkeys(key for key, _ in designs)]
        number += len(designs)
    matched = matched_in_words([one.pool for one in drawn], frequencies, bands, number) if drawn else []
    sources = pools_in_words(drawn)
    scored = [result for result in results if has_scores(result)]
    if scored:
        rows += _lpbs_rows(scored, draws=draws, seed=seed)
        sources.append("LPBS: the recorded scores of each cell's own attributes, whole words dealt out to A and B")
    return TextCalibration(rows, sources, left_out, matched)


def has_scores(result: Result) -> bool:
    """Return whether a cell recorded the scores of its attributes, sentence by sentence."""
    return result.factors["method"] == "lpbs" and bool(result.tables.get("attribute_scores"))


def _lpbs_rows(cells: Sequence[Result], *, draws: int, seed: int) -> list[TextCalibrated]:
    rng = np.random.default_rng([seed, 9])
    found: dict[str, list[float]] = {LPBS_ITEM: [], LPBS_STIMULUS: []}
    for cell in cells:
        rows = cell.tables["attribute_scores"]
        words = [np.asarray(row["items"], dtype=np.float64) for row in rows]
        n_a = sum(row["set"] == "A" for row in rows)
        for _ in range(max(1, -(-draws // len(cells)))):
            dealt = [words[i] for i in rng.permutation(len(words))]
            for name, value in lpbs_log10_p(dealt, n_a, rng=rng).items():
                found[name].append(value)
    return [calibrated(name, len(cells), values) for name, values in found.items()]


def _vectors_off(result: Result) -> bool:
    return result.factors.get("association") not in (None, "cosine")


def _stats(result: Result) -> StatsOptions:
    given = result.config.get("stats") or {}
    return StatsOptions(ceat_samples=int(given.get("ceat_samples", StatsOptions().ceat_samples)))


def calibrated(convention: str, cells: int, log10_p: Sequence[float]) -> TextCalibrated:
    """Return the rates of a p-value over random tests."""
    values = np.asarray(log10_p)
    rates = tuple(rate(int((values <= np.log10(level) + 1e-12).sum()), values.size, level=level) for level in LEVELS)
    median, extreme = float(np.median(values)), float((values < EXTREME).mean())
    return TextCalibrated(convention, cells, values.size, rates, median, extreme)


def ceat_log10_p(sets: Sequence[Sequence[Block]], *, samples: int, rng: np.random.Generator) -> dict[str, float]:
    """Return log10 of the two-sided p of one CEAT: by both definitions of V, and by exchanging whole words."""
    drawn = Drawn(
        *(sample_indices([len(block) for block in blocks], samples, sampling="published", rng=rng) for blocks in sets)
    )
    X, Y, A, B = sets
    found = ceat_samples(X, Y, A, B, drawn, ddof=1, keep_s=True)
    assert found.s is not None
    by_effect = effect_variance(found.d, len(X), len(Y), ddof=1)
    return {
        PUBLISHED: random_effects(found.d, found.v).log10_p,
        EFFECT: random_effects(found.d, by_effect).log10_p,
        STIMULUS: _permuted(found.s.mean(axis=0), len(X), null="exact", rng=rng),
    }


def seat_log10_p(sets: Sequence[Sequence[Block]], *, rng: np.random.Generator) -> dict[str, float]:
    """Return log10 of the two-sided p of one SEAT: by sentence as published, and by exchanging whole words."""
    units = [[unit(np.asarray(_some(block, rng), dtype=np.float64)) for block in blocks] for blocks in sets]
    items = [np.concatenate(blocks).mean(axis=0) for blocks in units[2:]]
    words = [np.stack([block.mean(axis=0) for block in blocks]).mean(axis=0) for blocks in units[2:]]
    targets = [*units[0], *units[1]]
    by_text = np.concatenate([block @ (items[0] - items[1]) for block in targets])
    by_word = np.array([(block @ (words[0] - words[1])).mean() for block in targets])
    first = sum(len(block) for block in units[0])
    return {
        SEAT_ITEM: _permuted(by_text, first, null="saddlepoint", rng=rng),
        SEAT_STIMULUS: _permuted(by_word, len(units[0]), null="exact", rng=rng),
    }


def lpbs_log10_p(words: Sequence[FloatArray], n_a: int, *, rng: np.random.Generator) -> dict[str, float]:
    """Return log10 of the two-sided p of one LPBS of which the first ``n_a`` attributes, with their items, are A."""
    means = np.array([items.mean() for items in words])
    first = sum(len(items) for items in words[:n_a])
    return {
        LPBS_ITEM: _permuted(np.concatenate(words), first, null="saddlepoint", rng=rng),
        LPBS_STIMULUS: _permuted(means, n_a, null="exact", rng=rng),
    }


def _some(block: Block, rng: np.random.Generator) -> Block:
    return block if len(block) <= MOST_TEXTS else block[np.sort(rng.choice(len(block), MOST_TEXTS, replace=False))]


def _permuted(values: FloatArray, n_x: int, *, null: Any, rng: np.random.Generator) -> float:
    found = permutation_pvalue(
        values, np.arange(values.size) < n_x, alternative="two-sided", null=null, resamples=10_000, rng=rng
    )
    return float(np.log10(max(float(np.asarray(found.p)), 1e-300)))
