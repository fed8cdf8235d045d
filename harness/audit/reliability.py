"""How much a result hangs on single words: leave-one-stimulus-out and split halves of d."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.audit.association_groups import AssociationGroup, FloatArray
from harness.natural import natural_key
from harness.result import Result

SPLITS = 200
"""Random halves of X and of Y."""


@dataclass(frozen=True)
class Reliability:
    """One test on one model, over all vectors of associations that its cells recorded.

    Attributes
    ----------
    test, model : str
        Whose words, and where.
    vectors : int
        Different vectors of associations; the numbers below are medians over them.
    d : float
        The effect size of all words (ddof 1).
    word, word_set : str
        The word that carries the result in most vectors: without it d is nearest to zero, or furthest beyond. And its
        set.
    with_word, without : float
        d with and without that word, over the vectors that hold it.
    low, high : float
        The smallest and largest d with one word left out.
    decided : int
        Vectors in which a single word decides the sign.
    decider : str
        The word that does in most of them; empty where none does.
    half_spread : float
        Standard deviation of d over random halves of X and Y.
    half_agreement : float
        Share of random splits in which both halves have the sign of all words.
    """

    test: str
    model: str
    vectors: int
    d: float
    word: str
    word_set: str
    with_word: float
    without: float
    low: float
    high: float
    decided: int
    decider: str
    half_spread: float
    half_agreement: float

    @property
    def sign_safe(self) -> bool:
        """Whether no single word decides the sign, in any vector."""
        return not self.decided


@dataclass(frozen=True)
class _Vector:
    """What single words and halves do to one vector of associations."""

    d: float
    carrier: tuple[str, str]
    without: dict[tuple[str, str], float]
    safe: bool
    spread: float
    agree: float


@dataclass(frozen=True)
class SplitHalf:
    """The correlation of d between random halves of the stimuli over tests, and stepped up to full length.

    It is over ``pairs`` of a test and a model, of ``tests`` different tests.
    """

    r: float
    spearman_brown: float
    tests: int
    pairs: int


def leave_one_out(values: FloatArray, n_x: int) -> FloatArray:
    """Return d (ddof 1) without each word, shape (vectors, words); NaN where a set would be empty or nothing varies."""
    n = values.shape[1]
    kept_x = n_x - (np.arange(n) < n_x)
    kept_y = (n - n_x) - (np.arange(n) >= n_x)
    sum_x, sum_y = values[:, :n_x].sum(axis=1, keepdims=True), values[:, n_x:].sum(axis=1, keepdims=True)
    from_x, from_y = np.where(np.arange(n) < n_x, values, 0.0), np.where(np.arange(n) >= n_x, values, 0.0)
    centred = values - values.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = (sum_x - from_x) / kept_x - (sum_y - from_y) / kept_y
        squares = (centred**2).sum(axis=1, keepdims=True) - centred**2 * n / (n - 1)
        spread = np.sqrt(np.maximum(squares, 0.0) / (n - 2))
        return np.asarray(np.where((spread > 0) & (kept_x > 0) & (kept_y > 0), difference / spread, np.nan))


def effect_sizes(values: FloatArray, n_x: int) -> FloatArray:
    """Return d (ddof 1) of every row."""
    difference = values[:, :n_x].mean(axis=1) - values[:, n_x:].mean(axis=1)
    spread = values.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(spread > 0, difference / spread, 0.0))


def split_halves(
    values: FloatArray, n_x: int, *, splits: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return d of both halves of random splits of X and of Y, each of shape (splits, vectors)."""
    half_x, half_y = n_x // 2, (values.shape[1] - n_x) // 2
    one, other = [], []
    for _ in range(splits):
        x, y = rng.permutation(n_x), n_x + rng.permutation(values.shape[1] - n_x)
        one.append(effect_sizes(values[:, np.concatenate([x[:half_x], y[:half_y]])], half_x))
        other.append(effect_sizes(values[:, np.concatenate([x[half_x:], y[half_y:]])], n_x - half_x))
    return np.array(one), np.array(other)


def reliability(
    results: Sequence[Result], groups: Sequence[AssociationGroup], *, splits: int = SPLITS, seed: int = 0
) -> tuple[list[Reliability], SplitHalf | None]:
    """Return what single words are worth in each test on each model, and the split-half correlation over tests."""
    gathered: dict[tuple[str, str], list[_Vector]] = {}
    firsts: dict[tuple[str, str], list[FloatArray]] = {}
    seconds: dict[tuple[str, str], list[FloatArray]] = {}
    for group in groups:
        n_x = len(group.x_words)
        if min(n_x, len(group.y_words)) < 2:
            continue
        whole, without = effect_sizes(group.values, n_x), leave_one_out(group.values, n_x)
        one, other = split_halves(group.values, n_x, splits=splits, rng=np.random.default_rng(seed))
        model_of = dict(
            zip(group.row_of.tolist(), (str(results[i].factors["model"]) for i in group.cells), strict=True)
        )
        for row, model in model_of.items():
            key = (group.test, model)
            sign = np.sign(whole[row]) or 1.0
            word = int(np.nanargmin(sign * without[row]))
            sets = ["X"] * n_x + ["Y"] * len(group.y_words)
            gathered.setdefault(key, []).append(
                _Vector(
                    d=float(whole[row]),
                    carrier=(group.words[word], sets[word]),
                    without=dict(zip(zip(group.words, sets, strict=True), without[row].tolist(), strict=True)),
                    safe=bool((np.sign(without[row]) == sign).all()),
                    spread=float(np.concatenate([one[:, row], other[:, row]]).std()),
                    agree=float(((np.sign(one[:, row]) == sign) & (np.sign(other[:, row]) == sign)).mean()),
                )
            )
            firsts.setdefault(key, []).append(one[:, row])
            seconds.setdefault(key, []).append(other[:, row])
    rows = [_summary(*key, vectors) for key, vectors in gathered.items()]
    rows.sort(key=lambda row: (natural_key(row.test), row.model))
    return rows, _split_half(firsts, seconds)


def _summary(test: str, model: str, vectors: Sequence[_Vector]) -> Reliability:
    carrier = Counter(vector.carrier for vector in vectors).most_common(1)[0][0]
    holding = [vector for vector in vectors if carrier in vector.without]
    # In a vector whose sign one word decides, that word is the one that carries it.
    deciders = Counter(vector.carrier[0] for vector in vectors if not vector.safe)

    def median(values: Iterable[float]) -> float:
        return float(np.median(list(values)))

    return Reliability(
        test=test,
        model=model,
        vectors=len(vectors),
        d=median(vector.d for vector in vectors),
        word=carrier[0],
        word_set=carrier[1],
        with_word=median(vector.d for vector in holding),
        without=median(vector.without[carrier] for vector in holding),
        low=median(np.nanmin(list(vector.without.values())) for vector in vectors),
        high=median(np.nanmax(list(vector.without.values())) for vector in vectors),
        decided=deciders.total(),
        decider=deciders.most_common(1)[0][0] if deciders else "",
        half_spread=median(vector.spread for vector in vectors),
        half_agreement=median(vector.agree for vector in vectors),
    )


def _split_half(
    firsts: dict[tuple[str, str], list[FloatArray]], seconds: dict[tuple[str, str], list[FloatArray]]
) -> SplitHalf | None:
    """Correlate the halves over tests (one vector for each test and model), and average over the splits."""
    if len({test for test, _ in firsts}) < 3:
        return None
    one = np.array([rows[0] for rows in firsts.values()])
    other = np.array([rows[0] for rows in seconds.values()])
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.array([np.corrcoef(one[:, i], other[:, i])[0, 1] for i in range(one.shape[1])])
    r = float(np.nanmean(each)) if np.isfinite(each).any() else 0.0
    stepped_up = 2 * r / (1 + r) if r > -1 else float("nan")
    return SplitHalf(r, stepped_up, len({test for test, _ in firsts}), len(firsts))
