"""SC-WEAT by projection: what the words around *person* do to it, category by category (omrani2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.methods.base import BlindLayerError, Design, Inputs, Measurement, Row
from harness.methods.deciles import Decile, deciles, share_rows
from harness.methods.factorial import Factorial, factorial
from harness.methods.null import above_zero, permutation_p
from harness.methods.weat import SIGNIFICANT
from harness.options import StatsOptions
from harness.stats.effect import cohens_d
from harness.stats.errors import ZeroVarianceError
from harness.stats.paired import SignFlipP, sign_flip_pvalue
from harness.stats.permutation import PermutationP

FloatArray = NDArray[np.float64]

STRONGEST = 20
"""Sentences of each end that the table names."""


@dataclass(frozen=True)
class CategoryEffect:
    """One category: the sentences with its first term against those with its second.

    ``p`` exchanges all sentences, as published; ``paired`` exchanges only the two that differ in this category.
    """

    name: str
    first: str
    second: str
    mean_first: float
    mean_second: float
    d: float
    p: PermutationP
    paired: SignFlipP | None
    n: int

    @property
    def difference(self) -> float:
        """The mean with the first term minus the mean with the second."""
        return self.mean_first - self.mean_second


def matched_pairs(design: Design, category: int) -> NDArray[np.int64]:
    """Return the rows of all sentences in pairs that differ in one category, the first term's sentence first.

    Parameters
    ----------
    design
        The sentences, in any number of orders and about any number of words.
    category
        The index of the category whose two terms are exchanged.
    """
    bits = design.second @ (1 << np.arange(design.second.shape[1], dtype=np.int64))
    _, orders = np.unique(np.column_stack([design.word, design.order]), axis=0, return_inverse=True)
    keys = orders.astype(np.int64).ravel() << design.second.shape[1] | bits
    sorter = np.argsort(keys, kind="stable")
    first = np.flatnonzero(~design.second[:, category])
    wanted = keys[first] | (1 << category)
    at = np.searchsorted(keys, wanted, sorter=sorter)
    partners = sorter[np.minimum(at, len(keys) - 1)]
    if len(first) * 2 != len(keys) or (keys[partners] != wanted).any():
        raise ValueError("the design lacks the partner of a sentence")
    return np.column_stack([first, partners])


def category_effects(
    values: ArrayLike, design: Design, *, stats: StatsOptions, seed: int = 0, paired: bool = True
) -> list[CategoryEffect]:
    """Measure every category on the same projections.

    Parameters
    ----------
    values
        The projection of every sentence.
    design
        Which terms each sentence uses, and where.
    stats
        The conventions to follow.
    seed
        Of whatever is drawn.
    paired
        Whether to add the sign-flip test of matched pairs.

    Notes
    -----
    d = (mean over A of S(a, U) − mean over B of S(b, U)) / std over A ∪ B of S(x, U) (omrani2023, equation 2), with A
    the sentences that hold the category's first term.
    """
    projections = np.asarray(values, dtype=np.float64)
    found = []
    for index, category in enumerate(design.categories):
        pairs = matched_pairs(design, index)
        first, second = projections[pairs[:, 0]], projections[pairs[:, 1]]
        names = category.first, category.second
        rng = np.random.default_rng([seed, 7, index])
        found.append(
            CategoryEffect(
                name=category.name,
                first=category.first,
                second=category.second,
                mean_first=float(first.mean()),
                mean_second=float(second.mean()),
                d=cohens_d(first, second, ddof=stats.ddof, epsilon=stats.epsilon, names=names),
                p=permutation_p(first, second, alternative=stats.alternative, stats=stats, rng=rng),
                paired=_paired(first - second, stats, rng) if paired else None,
                n=len(first),
            )
        )
    return found


def _paired(differences: FloatArray, stats: StatsOptions, rng: np.random.Generator) -> SignFlipP | None:
    try:
        return sign_flip_pvalue(differences, alternative=stats.alternative, rng=rng)  # type: ignore[arg-type]
    except ZeroVarianceError:
        return None


@dataclass(frozen=True)
class OrderSpread:
    """A category's d in each of several word orders; the design's own order is the first."""

    name: str
    d: FloatArray


def order_spread(values: ArrayLike, design: Design, *, stats: StatsOptions) -> list[OrderSpread]:
    """Measure every category in each word order by itself."""
    projections = np.asarray(values, dtype=np.float64)
    orders = list(dict.fromkeys(map(tuple, design.order.tolist())))
    rows = []
    for order in orders:
        here = np.flatnonzero((design.order == np.array(order)).all(axis=1))
        part = projections[here]
        second = design.second[here]
        rows.append(
            [
                cohens_d(part[~second[:, c]], part[second[:, c]], ddof=stats.ddof, epsilon=stats.epsilon)
                for c in range(second.shape[1])
            ]
        )
    return [OrderSpread(c.name, column) for c, column in zip(design.categories, np.array(rows).T, strict=True)]


def measure(inputs: Inputs) -> Measurement:
    """Measure a cell: every category, the factorial model, the strongest contexts, and word orders if there are any."""
    design, subspace, W = inputs.design, inputs.subspace, inputs.sets["W"]
    if design is None or subspace is None:
        raise TypeError("sc-weat needs a design and a subspace")
    projections = subspace.project(W.vectors)
    _refuse_constant(projections, W.words)
    main = design.main
    own, values = design.take(main), projections[main]
    effects = category_effects(values, own, stats=inputs.stats, seed=inputs.seed)
    metrics: dict[str, float] = {
        "mean_abs_d": float(np.mean([abs(effect.d) for effect in effects])),
        "n_significant": float(sum(effect.p.p_two_sided < SIGNIFICANT for effect in effects)),
        "n_sentences": float(len(values)),
    }
    for effect in effects:
        metrics |= _effect_metrics(effect)
    tables: dict[str, list[Row]] = {
        "categories": [_effect_row(effect) for effect in effects],
        "projections": [{"kind": "deciles", "values": np.quantile(values, np.linspace(0, 1, 11)).tolist()}],
    }
    notes: list[str] = []
    if len(design.categories) > 2:
        _add_factorial(factorial(values, own.second, confidence=inputs.stats.confidence), own, metrics, tables)
    else:
        notes.append("The factorial model needs three categories or more, and was left out.")
    smallest = float(effects[0].p.smallest_p)
    if smallest >= SIGNIFICANT:
        notes.append(f"With {len(values)} sentences no p is below {smallest:.2g}, however strong a category is.")
    ends = deciles(values, own)
    metrics |= _share_metrics(ends, inputs)
    tables |= {"deciles": share_rows(ends, own), "strongest": _strongest_rows(values, own)}
    if len(main) < len(projections):
        _add_orders(order_spread(projections, design, stats=inputs.stats), metrics, tables)
    labels = {"null_used": effects[0].p.null, "strongest_category": max(effects, key=lambda e: abs(e.d)).name}
    if inputs.poles is not None:
        labels["poles"] = " v ".join(name.rpartition("/")[2] for name in inputs.poles)
    if effects[0].paired is not None:
        labels["paired_null_used"] = effects[0].paired.null
    return Measurement(metrics, labels, tables, notes)


def _refuse_constant(projections: FloatArray, words: Sequence[str]) -> None:
    if np.ptp(projections) <= 1e-9 * max(1e-300, float(np.abs(projections).max())):
        raise BlindLayerError(
            f"{words[0]!r} has the same vector in all {len(projections)} sentences: this layer does not see the words "
            "around it; choose a higher one."
        )


def _effect_metrics(effect: CategoryEffect) -> dict[str, float]:
    found = {
        "d": effect.d,
        "p": above_zero(effect.p.p),
        "log10_p": float(effect.p.log10_p),
        "p_two_sided": above_zero(effect.p.p_two_sided),
        "difference": effect.difference,
    }
    if effect.paired is not None:
        found |= {
            "paired_p": above_zero(effect.paired.p),
            "paired_log10_p": effect.paired.log10_p,
            "paired_p_two_sided": above_zero(effect.paired.p_two_sided),
        }
    return {f"{effect.name}.{key}": value for key, value in found.items()}


def _effect_row(effect: CategoryEffect) -> Row:
    paired = effect.paired
    return {
        "category": effect.name,
        "first": effect.first,
        "second": effect.second,
        "mean_first": effect.mean_first,
        "mean_second": effect.mean_second,
        "difference": effect.difference,
        "d": effect.d,
        "p": above_zero(effect.p.p),
        "log10_p": float(effect.p.log10_p),
        "p_two_sided": above_zero(effect.p.p_two_sided),
        "null": effect.p.null,
        "paired_p": None if paired is None else above_zero(paired.p),
        "paired_log10_p": None if paired is None else paired.log10_p,
        "paired_p_two_sided": None if paired is None else above_zero(paired.p_two_sided),
        "paired_null": None if paired is None else paired.null,
        "n_pairs": effect.n,
    }


def _add_factorial(found: Factorial, design: Design, metrics: dict[str, float], tables: dict[str, list[Row]]) -> None:
    names = [category.name for category in design.categories]
    metrics |= {
        "share_main": found.share_main,
        "share_interactions": found.share_interactions,
        "effect_half_width": found.half_width,
        "n_interactions_significant": float((found.p_holm[len(names) :] < SIGNIFICANT).sum()),
    }
    which = [(i, i) for i in range(len(names))] + list(found.pairs)
    tables["effects"] = [
        {
            "first": names[i],
            "second": None if i == j else names[j],
            "terms": " × ".join(design.categories[at].first for at in dict.fromkeys((i, j))),
            "effect": float(effect),
            "low": float(effect - found.half_width),
            "high": float(effect + found.half_width),
            "p_holm": float(p),
        }
        for (i, j), effect, p in zip(which, found.effects, found.p_holm, strict=True)
    ]


def _share_metrics(ends: dict[str, Decile], inputs: Inputs) -> dict[str, float]:
    """Return how often each term stands in the sentences of either end, under the poles' names."""
    if inputs.design is None or inputs.poles is None:
        return {}
    return {
        f"{pole.rpartition('/')[2]}.{term}.share": share
        for pole, end in zip(inputs.poles, ("top", "bottom"), strict=True)
        for term, share in ends[end].totals.items()
    }


def _strongest_rows(values: FloatArray, design: Design) -> list[Row]:
    ranked = np.argsort(-values, kind="stable")
    count = min(STRONGEST, len(ranked) // 2)
    return [
        {"end": end, "rank": rank, "text": design.texts[at], "projection": float(values[at])}
        for end, rows in (("top", ranked[:count]), ("bottom", ranked[::-1][:count]))
        for rank, at in enumerate(rows.tolist(), start=1)
    ]


def _add_orders(found: list[OrderSpread], metrics: dict[str, float], tables: dict[str, list[Row]]) -> None:
    metrics["n_orders"] = float(len(found[0].d))
    rows: list[Row] = []
    for category in found:
        metrics[f"{category.name}.d_order_std"] = float(category.d.std(ddof=1))
        rows.append({"category": category.name, "d": [float(d) for d in category.d]})
    tables["orders"] = rows
