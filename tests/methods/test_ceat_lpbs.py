"""LPBS within CEAT: against plain loops on known numbers, and its draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.methods.base import PairLikelihoods, PairSentences
from harness.methods.ceat_lpbs import bs_samples, ceat_lpbs, sentence_scores
from harness.methods.lpbs import lpbs, template_sides
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
    """Between none and four sentences for a target and an attribute, at least two an attribute."""
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


def bs_by_loop(found: PairLikelihoods | PairSentences, number: int, aggregate: str) -> list[float]:
    """Equation (10) with probabilities for every sentence of an attribute, one number after the other."""
    if isinstance(found, PairSentences):
        rows = [row for row in range(len(found.target)) if found.attribute[row] == number]
        sentences = [
            {slot: [(found.given[row][i], found.prior[row][i])] for i, slot in enumerate("XY")} for row in rows
        ]
    else:
        sentences = [
            {
                slot: [
                    (found.given[slot][t][number][w], found.prior[slot][t][number][w]) for w in range(len(WORDS[slot]))
                ]
                for slot in "XY"
            }
            for t in range(len(found.given["X"]))
        ]
    scores = []
    for terms in sentences:
        sides = []
        for slot in "XY":
            if aggregate == "ratio_of_sums":
                sums = [math.fsum(math.exp(pair[i]) for pair in terms[slot]) for i in (0, 1)]
                sides.append(math.log(sums[0]) - math.log(sums[1]))
            else:
                sides.append(math.fsum(g - p for g, p in terms[slot]) / len(terms[slot]))
        scores.append(sides[0] - sides[1])
    return scores


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
    scores = sentence_scores(found, stats)
    assert [word for _, word in scores] == list(ATTRIBUTES)
    for number, own in enumerate(scores.values()):
        assert own == pytest.approx(bs_by_loop(found, number, aggregate), abs=1e-12)
    result = ceat_lpbs(found, stats=stats, seed=3, test="own", model="m")
    ces, error, tau2 = combined_by_loop(result.s.tolist())
    assert (result.combined.ces, result.combined.se) == pytest.approx((ces, error), abs=1e-12)
    assert result.combined.tau2 == pytest.approx(tau2, abs=1e-12)


def test_every_sample_takes_one_sentence_of_each_attribute() -> None:
    scores = sentence_scores(corpus(), STATS)
    drawn = bs_samples(scores, stats=STATS, seed=1, test="own")
    assert drawn.shape == (STATS.ceat_samples, len(ATTRIBUTES))
    for column, own in zip(drawn.T, scores.values(), strict=True):
        assert set(column) <= set(own)
        assert len(set(column)) > 1


def test_a_sample_of_one_sentence_is_the_lpbs_of_that_sentence() -> None:
    found = templates(sentences=1)
    by_itself = lpbs(*(template_sides(found, STATS)[slot] for slot in "AB"), by="item", stats=STATS)
    result = ceat_lpbs(found, stats=STATS)
    assert result.d == pytest.approx(np.full(STATS.ceat_samples, by_itself.d), abs=1e-12)
    assert result.combined.ces == pytest.approx(by_itself.d, abs=1e-12)


def test_leaving_an_attribute_out_moves_no_other_draw() -> None:
    scores = sentence_scores(corpus(), STATS)
    fewer = {key: own for key, own in scores.items() if key != ("A", "joy")}
    whole, part = (bs_samples(some, stats=STATS, seed=1, test="own") for some in (scores, fewer))
    assert np.array_equal(part, np.delete(whole, list(scores).index(("A", "joy")), axis=1))


def test_models_share_their_draws_in_the_fixed_mode_alone() -> None:
    scores = sentence_scores(templates(), STATS)
    for mode, same in (("fixed", True), ("random", False)):
        stats = replace(STATS, ceat_mode=mode)
        one, other = (bs_samples(scores, stats=stats, model=model) for model in ("a", "b"))
        assert np.array_equal(one, other) is same


def test_without_replacement_where_there_are_enough_sentences() -> None:
    drawn = bs_samples(sentence_scores(templates(sentences=50), STATS), stats=STATS)
    assert all(len(set(column)) == STATS.ceat_samples for column in drawn.T.tolist())


def test_the_tail_is_that_of_lpbs() -> None:
    found = templates()
    both = ceat_lpbs(found, stats=STATS).p_stimulus
    assert ceat_lpbs(found, stats=replace(STATS, lpbs_alternative="greater")).p_stimulus.p == both.p_greater
    assert ceat_lpbs(found, stats=replace(STATS, alternative="less")).p_stimulus.p == both.p == both.p_two_sided
