"""The specification curve of a test: every specification by its effect, and what chance alone would make of it all.

Simonsohn, Simmons & Nelson (2020), *Specification curve analysis*, Nature Human Behaviour 4; Steegen et al. (2016) on
multiverse analysis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.audit.association_groups import AssociationGroup, FloatArray
from harness.audit.recorded import QUESTION, Factors, frame
from harness.methods.weat import SIGNIFICANT
from harness.natural import natural_key
from harness.result import Result

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 1_999
"""Joint relabellings of the targets; the observed labels are one more."""

NUMBERS = ("fingerprint", "d", "p", "log10_p", "ci_low", "ci_high", "pattern", "null_used")


@dataclass(frozen=True)
class Inference:
    """The whole multiverse of a test under joint relabelling of its targets.

    Attributes
    ----------
    covered : int
        Specifications whose associations are recorded; the others cannot be relabelled.
    p_median : float
        Two-sided: how often a relabelling gives a median d as far from zero as the observed one.
    p_share : float
        How often a relabelling makes at least as many specifications significant.
    null_low, null_high : float
        The middle 95 % of the median d over relabellings.
    draws : int
        Relabellings.
    """

    covered: int
    p_median: float
    p_share: float
    null_low: float
    null_high: float
    draws: int


@dataclass(frozen=True)
class Curve:
    """All specifications of one test.

    ``cells`` are sorted by d, with the factors that vary. ``sign_changes`` is the share of specifications whose d has
    the sign opposite to the median's. ``lacking`` counts the cells of the test that were asked for and have no effect
    size: failed, skipped, missing, or of a method without one.
    """

    test: str
    cells: pd.DataFrame
    median: float
    low: float
    high: float
    significant: float
    sign_changes: float
    inference: Inference | None
    lacking: int = 0


def curves(
    results: Sequence[Result],
    factors: Factors,
    groups: Sequence[AssociationGroup],
    *,
    lacking: Mapping[str, int] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Curve]:
    """Return the curve of every test, in the order in which people count; ``lacking`` counts cells without d."""
    table = frame(results, names=list(dict.fromkeys([*NUMBERS, QUESTION, *factors.choices])))
    found = []
    for test, cells in table.groupby(QUESTION):
        # Equal effects stand by their choices, so that the dashboard shows blocks where a choice changes nothing.
        choices = cells[factors.choices].astype(str)
        ordered = cells.loc[choices.assign(d=cells["d"]).sort_values(["d", *factors.choices]).index]
        d = ordered["d"].to_numpy(dtype=float)
        median = float(np.median(d))
        own = [group for group in groups if group.test == test]
        found.append(
            Curve(
                test=str(test),
                cells=ordered,
                median=median,
                low=float(d[0]),
                high=float(d[-1]),
                significant=float((ordered["p"].to_numpy(dtype=float) < SIGNIFICANT).mean()),
                sign_changes=float((np.sign(d) == -np.sign(median)).mean()) if median else 0.0,
                inference=infer(results, own, draws=draws, seed=seed) if own else None,
                lacking=(lacking or {}).get(str(test), 0),
            )
        )
    return sorted(found, key=lambda curve: natural_key(curve.test))


def infer(
    results: Sequence[Result], groups: Sequence[AssociationGroup], *, draws: int = DRAWS, seed: int = 0
) -> Inference:
    """Relabel the targets of a test jointly in all its specifications.

    Notes
    -----
    Permuted are the target words between X and Y. A draw gives every word of the test a random rank, and in each
    specification the words of lowest rank become its X: so a word changes sides in all specifications together, each
    keeps its own words and set sizes, and each by itself sees a uniform relabelling. Attributes, and so s(w), stay as
    they are. A specification's d under a draw follows from its recorded s(w); its verdict from the rank of its
    statistic among all draws, with the tail that the specification asks for.
    """
    rng = np.random.default_rng(seed)
    place = {word: i for i, word in enumerate(dict.fromkeys(w for group in groups for w in group.words))}
    keys = rng.random((draws, len(place)))
    total = draws + 1
    effects, verdicts = [], np.zeros(total)
    for group in groups:
        differences = relabelled(group, keys[:, [place[word] for word in group.words]])
        effects.append(differences[:, group.row_of] * group.scale)
        tails = np.array([tail_of(results[i]) for i in group.cells])
        for tail in np.unique(tails):
            rows, times = np.unique(group.row_of[tails == tail], return_counts=True)
            verdicts += (_p_by_rank(differences[:, rows], tail) < SIGNIFICANT) @ times
    signed = np.median(np.concatenate(effects, axis=1), axis=1)
    medians = np.abs(signed)
    slack = 1e-9 * max(float(medians.max()), 1e-300)
    low, high = np.quantile(signed[1:], [0.025, 0.975])
    return Inference(
        covered=sum(len(group.cells) for group in groups),
        p_median=float((medians >= medians[0] - slack).mean()),
        p_share=float((verdicts >= verdicts[0]).mean()),
        null_low=float(low),
        null_high=float(high),
        draws=draws,
    )


def tail_of(result: Result) -> str:
    """Return the tail of a cell's p: that of the combined effect size where CEAT's p is by text."""
    key = "ceat_alternative" if result.factors.get("unit") != "stimulus" else "alternative"
    return str(result.factors.get(key) or result.factors.get("alternative") or "two-sided")


def relabelled(group: AssociationGroup, keys: FloatArray) -> FloatArray:
    """Return mean s over X minus mean s over Y of every row of a group, observed first, then under each draw."""
    n, n_x = len(group.words), len(group.x_words)
    first = np.zeros((len(keys) + 1, n))
    first[0, :n_x] = 1.0
    np.put_along_axis(first[1:], np.argsort(keys, axis=1)[:, :n_x], 1.0, axis=1)
    weights = first / n_x - (1.0 - first) / (n - n_x)
    return np.asarray(weights @ group.values.T)


def _p_by_rank(differences: FloatArray, tail: str) -> FloatArray:
    """Return each draw's p among all draws: how many reach its statistic, itself included."""
    if tail == "two-sided":
        return _share_reaching(np.abs(differences))
    if tail == "observed":
        return np.where(differences >= 0, _share_reaching(differences), _share_reaching(-differences))
    return _share_reaching(differences if tail == "greater" else -differences)


def _share_reaching(statistics: FloatArray) -> FloatArray:
    rounded: NDArray[np.float64] = np.round(statistics, 12)
    shares = np.empty_like(rounded)
    for column in range(rounded.shape[1]):
        values = np.sort(rounded[:, column])
        shares[:, column] = 1.0 - np.searchsorted(values, rounded[:, column], side="left") / len(values)
    return shares
