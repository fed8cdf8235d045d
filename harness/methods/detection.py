"""IBD and EIBD: the detection of a group's intersectional and emergent words, guo2021."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import HarnessError
from harness.methods.base import Inputs, Measurement
from harness.options import StatsOptions
from harness.stats.effect import sc_weat_d
from harness.stats.roc import (
    Exclude,
    OperatingPoint,
    RocCurve,
    choose_threshold,
    eibd_predict,
    hull_auc,
    ibd_predict,
    roc_auc,
    roc_curve,
    threshold_grid,
)
from harness.stimuli import DetectionTask

Vectors = NDArray[np.float64]

TASKS = {"ibd": "intersectional", "eibd": "emergent"}
"""What each method looks for: a key of the test's ``positives``."""


@dataclass(frozen=True)
class PairScores:
    """Effect sizes of every word for a group against others: ``scores[i, j]`` of word i against ``against[j]``."""

    scores: NDArray[np.float64]
    against: tuple[str, ...]


@dataclass(frozen=True)
class Detection:
    """What was detected for one group at the threshold chosen, and the curve it was chosen from."""

    curve: RocCurve
    point: OperatingPoint
    auc: float
    detected: NDArray[np.bool_]


def pair_scores(
    W: ArrayLike,
    group: ArrayLike,
    others: Mapping[str, ArrayLike],
    *,
    ddof: int = 1,
    epsilon: float = 0.0,
    labels: Sequence[str] | None = None,
) -> PairScores:
    """Score words for a group against each of the others by SC-WEAT (guo2021, IBD: the association score)."""
    columns = [sc_weat_d(W, group, other, ddof=ddof, epsilon=epsilon, labels=labels) for other in others.values()]
    return PairScores(np.column_stack(columns), tuple(others))


def ibd(scores: PairScores, positives: NDArray[np.bool_]) -> Detection:
    """Detect a group's intersectional words: *any* pairwise score exceeds the threshold.

    Notes
    -----
    The threshold is that of guo2021's grid with the largest TPR − FPR, then the largest TP.
    """
    grid = threshold_grid()
    predictions = ibd_predict(scores.scores, grid)
    curve = roc_curve(predictions, positives, grid)
    point = choose_threshold(curve)
    return Detection(curve, point, roc_auc(scores.scores.max(axis=1), positives), predictions[point.index])


def eibd(
    scores: PairScores, constituents: PairScores, positives: NDArray[np.bool_], *, exclude: Exclude = "all"
) -> Detection:
    """Detect a group's emergent words: found by IBD, but not associated with what the group is made of.

    Notes
    -----
    One threshold serves both stages, and is chosen for this task alone. Words are not nested over thresholds, so the
    AUC is that of the curve's convex hull.
    """
    grid = threshold_grid()
    predictions = eibd_predict(scores.scores, constituents.scores, grid, exclude=exclude)
    curve = roc_curve(predictions, positives, grid)
    point = choose_threshold(curve)
    return Detection(curve, point, hull_auc(curve), predictions[point.index])


def constituent_pairs(task: DetectionTask, group: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return the unions of groups to compare: category, the group's own union, and each other union of the category.

    African American females, by race: {AF, AM} against {EF, EM} and against {MF, MM}; by gender: {AF, EF, MF} against
    {AM, EM, MM}. A union is never compared with itself: its score would be 0.
    """
    pairs = []
    for category, own in task.constituents.get(group, {}).items():
        unions = {frozenset(of[category]): of[category] for of in task.constituents.values() if category in of}
        pairs += [(category, own, other) for key, other in unions.items() if key != frozenset(own)]
    return pairs


def measure_ibd(inputs: Inputs) -> Measurement:
    """Measure a cell by IBD, for every group."""
    return _measure(inputs, "ibd")


def measure_eibd(inputs: Inputs) -> Measurement:
    """Measure a cell by EIBD, for every group."""
    return _measure(inputs, "eibd")


def _measure(inputs: Inputs, method: str) -> Measurement:
    test = inputs.test
    if not isinstance(test, DetectionTask):
        raise TypeError(f"{method} measures tests of kind detection, not {test.kind}")
    task = TASKS[method]
    listed = _positives(test, task)
    universe = inputs.sets["universe"]
    groups = {name: inputs.sets[f"group.{name}"].vectors for name in test.groups}
    result = Measurement(metrics={}, tables={"groups": [], "roc": [], "words": []})
    for group, words in listed.items():
        positives = np.array([word in words for word in universe.words])
        if not positives.any():
            result.notes.append(f"{group}: none of its {task} words has a vector; the group is left out.")
            continue
        others = {name: vectors for name, vectors in groups.items() if name != group}
        scores = _scores(universe.vectors, groups[group], others, inputs.stats, universe.words)
        if method == "ibd":
            found = ibd(scores, positives)
        else:
            constituents = _constituent_scores(test, group, groups, universe.vectors, inputs.stats)
            found = eibd(scores, constituents, positives, exclude=cast(Exclude, inputs.stats.eibd_exclude))
        sizes = (len(words), len(test.universe.words) - len(words))
        _add(result, group, test.groups[group].name, task, found, scores, universe.words, positives, sizes)
    if not result.tables["groups"]:
        raise HarnessError(f"Test {test.name}: no group has a {task} word with a vector; there is nothing to detect.")
    for name in ("accuracy", "balanced_accuracy", "baseline_accuracy", "auc"):
        result.metrics[f"mean_{name}"] = float(np.mean([row[name] for row in result.tables["groups"]]))
    result.metrics["n_words"] = float(len(universe))
    return result


def _positives(test: DetectionTask, task: str) -> dict[str, frozenset[str]]:
    if task not in test.positives:
        raise HarnessError(f"Test {test.name} lists no {task} attributes under `positives`.")
    strangers = sorted(set(test.positives[task]) - set(test.groups))
    if strangers:
        raise HarnessError(f"Test {test.name}: positives.{task} names {', '.join(strangers)}, which is no group.")
    for group, concept in test.positives[task].items():
        outside = sorted(set(concept.words) - set(test.universe.words))
        if outside:
            raise HarnessError(
                f"Test {test.name}: positives.{task}.{group} holds {', '.join(outside)}, which `universe` lacks; only "
                "words of the universe are classified."
            )
    return {group: frozenset(concept.words) for group, concept in test.positives[task].items()}


def _scores(
    W: Vectors, group: Vectors, others: Mapping[str, Vectors], stats: StatsOptions, labels: Sequence[str]
) -> PairScores:
    return pair_scores(W, group, others, ddof=stats.ddof, epsilon=stats.epsilon, labels=labels)


def _constituent_scores(
    test: DetectionTask, group: str, groups: Mapping[str, Vectors], W: Vectors, stats: StatsOptions
) -> PairScores:
    pairs = constituent_pairs(test, group)
    if not pairs:
        raise HarnessError(
            f"Test {test.name}: `constituents` says nothing about {group}; EIBD needs to know what it is made of."
        )

    def united(members: Iterable[str]) -> Vectors:
        return np.vstack([groups[member] for member in members])

    columns = [
        sc_weat_d(W, united(own), united(other), ddof=stats.ddof, epsilon=stats.epsilon) for _, own, other in pairs
    ]
    names = tuple(f"{category}: {'+'.join(own)} v {'+'.join(other)}" for category, own, other in pairs)
    return PairScores(np.column_stack(columns), names)


def _add(
    result: Measurement,
    group: str,
    concept: str,
    task: str,
    found: Detection,
    scores: PairScores,
    words: Sequence[str],
    positives: NDArray[np.bool_],
    listed: tuple[int, int],
) -> None:
    """Add a group's numbers, its curve and its words to a measurement."""
    point, curve = found.point, found.curve
    numbers = {
        "threshold": point.threshold,
        "tp": float(point.tp),
        "fp": float(point.fp),
        "tn": float(point.tn),
        "fn": float(point.fn),
        "tpr": point.tpr,
        "fpr": point.fpr,
        "accuracy": point.accuracy,
        "balanced_accuracy": point.balanced_accuracy,
        "baseline_accuracy": point.baseline_accuracy,
        "auc": found.auc,
    }
    result.metrics |= {f"{group}.{task}.{name}": value for name, value in numbers.items()}
    names = {"group": group, "concept": concept, "task": task}
    hits = [word for word, detected in zip(words, found.detected, strict=True) if detected]
    result.tables["groups"].append(
        {
            **names,
            **numbers,
            "listed_positives": listed[0],
            "listed_negatives": listed[1],
            "detected": ", ".join(hits),
        }
    )
    result.tables["roc"] += [
        {**names, "threshold": float(t), "tp": int(tp), "fp": int(fp), "tpr": float(tpr), "fpr": float(fpr)}
        for t, tp, fp, tpr, fpr in zip(curve.thresholds, curve.tp, curve.fp, curve.tpr, curve.fpr, strict=True)
    ]
    result.tables["words"] += [
        {
            "group": group,
            "word": word,
            "score": float(scores.scores[i].max()),
            "against": scores.against[int(scores.scores[i].argmax())],
            "positive": bool(positives[i]),
            "detected": bool(found.detected[i]),
        }
        for i, word in enumerate(words)
    ]
