"""LPBS within CEAT: against plain loops on known numbers, and its draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.methods.base import PairLikelihoods, PairSentences
from harness.methods.ceat_lpbs import Combination, bs_samples, ceat_lpbs, combinations, draw_sentences
from harness.options import StatsOptions

STATS = StatsOptions(ceat_samples=40)
WORDS = {"X": ("rose", "lily"), "Y": ("ant", "wasp", "fly"), "A": ("love", "joy", "gift"), "B": ("war", "pain", "hell")}
ATTRIBUTES = (*WORDS["A"], *WORDS["B"])


def templates(sentences: int = 3, seed: int = 0) -> PairLikelihoods:
    rng = np.random.default_rng(seed)

    def numbers(slot: str) -> np.ndarray:
        return rng.normal(-12, 3, size=(sentences, len(ATTRIBUTES), len(WORDS[slot])))

    given, prior = ({slot: numbers(slot) for slot in "XY"} for _ in range(2))
    given["X"][:, :3] += 1.0
    return PairLikelihoods("masked", WORDS, given, prior)


def corpus(seed: int = 0) -> PairSentences:
    """Between none and four sentences a combination, at least two an attribute."""
    rng = np.random.default_rng(seed)
    rows = [
        (number, target)
        for number in range(len(ATTRIBUTES))
        for place, target in enumerate((*WORDS["X"], *WORDS["Y"]))
        for _ in range(2 if place == number % 5 else int(rng.integers(0, 5)))
    ]
    size = len(rows)
    return PairSentences(
        estimator="masked",
        words=WORDS,
        given=rng.normal(-12, 3, size=(size, 2)),
        prior=rng.normal(-12, 3, size=(size, 2)),
        attribute=np.array([number for number, _ in rows]),
        target=tuple(target for _, target in rows),
        counterpart=tuple("ant" if target in WORDS["X"] else "rose" for _, target in rows),
        gap=rng.integers(0, 19, size=size),
        texts=("",) * size,
        widest=18,
    )


def bs_by_loop(
    found: PairLikelihoods | PairSentences, listed: list[Combination], drawn: np.ndarray, aggregate: str
) -> list[list[float]]:
    """Equation (10) with probabilities, one number after the other."""
    samples = []
    for row in drawn.tolist():
        scores = []
        for number in range(len(ATTRIBUTES)):
            terms: dict[str, list[tuple[float, float]]] = {"X": [], "Y": []}
            for one, place in zip(listed, row, strict=True):
                if one.attribute != number:
                    continue
                if isinstance(found, PairSentences):
                    for column, slot in enumerate("XY"):
                        terms[slot].append((found.given[place][column], found.prior[place][column]))
                else:
                    at = (place, number, WORDS[one.slot].index(one.target))
                    terms[one.slot].append((found.given[one.slot][at], found.prior[one.slot][at]))
            sides = []
            for slot in "XY":
                if aggregate == "ratio_of_sums":
                    sums = [math.fsum(math.exp(pair[i]) for pair in terms[slot]) for i in (0, 1)]
                    sides.append(math.log(sums[0]) - math.log(sums[1]))
                else:
                    sides.append(math.fsum(g - p for g, p in terms[slot]) / len(terms[slot]))
            scores.append(sides[0] - sides[1])
        samples.append(scores)
    return samples


def combined_by_loop(samples: list[list[float]]) -> tuple[float, float, float]:
    """Equation (11) and the random-effects model of guo2021's appendix: CES, its error, τ²."""
    effects, variances = [], []
    for scores in samples:
        mean = math.fsum(scores) / len(scores)
        variance = math.fsum((value - mean) ** 2 for value in scores) / (len(scores) - 1)
        a, b = scores[:3], scores[3:]
        effects.append((math.fsum(a) / 3 - math.fsum(b) / 3) / math.sqrt(variance))
        variances.append(variance)
    weights = [1 / v for v in variances]
    q = math.fsum(w * d * d for w, d in zip(weights, effects, strict=True))
    q -= math.fsum(w * d for w, d in zip(weights, effects, strict=True)) ** 2 / math.fsum(weights)
    c = math.fsum(weights) - math.fsum(w * w for w in weights) / math.fsum(weights)
    tau2 = max(0.0, (q - (len(effects) - 1)) / c)
    combined = [1 / (v + tau2) for v in variances]
    ces = math.fsum(w * d for w, d in zip(combined, effects, strict=True)) / math.fsum(combined)
    return ces, 1 / math.sqrt(math.fsum(combined)), tau2


@pytest.mark.parametrize("found", [templates(), corpus()], ids=["templates", "corpus"])
@pytest.mark.parametrize("aggregate", ["ratio_of_sums", "mean_log_ratio"])
def test_a_plain_loop_gives_the_same(found: PairLikelihoods | PairSentences, aggregate: str) -> None:
    stats = replace(STATS, lpbs_aggregate=aggregate)
    listed = combinations(found)
    drawn = draw_sentences(listed, ATTRIBUTES, stats=stats, seed=3, test="own", model="m")
    expected = bs_by_loop(found, listed, drawn, aggregate)
    assert bs_samples(found, listed, drawn, aggregate=aggregate) == pytest.approx(np.array(expected), abs=1e-12)
    result = ceat_lpbs(found, stats=stats, seed=3, test="own", model="m")
    ces, error, tau2 = combined_by_loop(expected)
    assert (result.combined.ces, result.combined.se) == pytest.approx((ces, error), abs=1e-12)
    assert result.combined.tau2 == pytest.approx(tau2, abs=1e-12)


def test_large_draws_go_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = templates()
    whole = ceat_lpbs(found, stats=STATS).s
    monkeypatch.setattr("harness.methods.ceat_lpbs.LARGEST_CHUNK", 7 * len(combinations(found)))
    assert np.array_equal(ceat_lpbs(found, stats=STATS).s, whole)


def test_a_draw_is_of_the_combination_and_of_nothing_else() -> None:
    found = corpus()
    listed = combinations(found)
    drawn = draw_sentences(listed, ATTRIBUTES, stats=STATS, seed=1, test="own")
    for column, one in enumerate(listed):
        assert set(drawn[:, column]) <= set(one.rows.tolist())
        assert {found.target[row] for row in one.rows} == {one.target}
    fewer = [one for one in listed if one.target != "wasp"]
    kept = [column for column, one in enumerate(listed) if one.target != "wasp"]
    assert np.array_equal(draw_sentences(fewer, ATTRIBUTES, stats=STATS, seed=1, test="own"), drawn[:, kept])


def test_models_share_their_draws_in_the_fixed_mode_alone() -> None:
    listed = combinations(templates())
    for mode, same in (("fixed", True), ("random", False)):
        stats = replace(STATS, ceat_mode=mode)
        one, other = (draw_sentences(listed, ATTRIBUTES, stats=stats, model=model) for model in ("a", "b"))
        assert np.array_equal(one, other) is same


def test_without_replacement_where_there_are_enough_sentences() -> None:
    listed = combinations(templates(sentences=50))
    drawn = draw_sentences(listed, ATTRIBUTES, stats=STATS)
    assert all(len(set(column)) == STATS.ceat_samples for column in drawn.T.tolist())


def test_the_tail_is_that_of_lpbs() -> None:
    found = templates()
    both = ceat_lpbs(found, stats=STATS).p_stimulus
    assert ceat_lpbs(found, stats=replace(STATS, lpbs_alternative="greater")).p_stimulus.p == both.p_greater
    assert ceat_lpbs(found, stats=replace(STATS, alternative="less")).p_stimulus.p == both.p == both.p_two_sided
