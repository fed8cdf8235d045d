from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.methods.base import Inputs, Measurement, VectorSet
from harness.methods.detection import constituent_pairs, measure_eibd, measure_ibd, pair_scores
from harness.methods.rank import rank_vocabulary
from harness.options import StatsOptions
from harness.stimuli import DetectionTask, load_test

Vectors = NDArray[np.float64]
GROUPS = ("AF", "AM", "EF", "EM")
WORDS = tuple(f"w{i}" for i in range(30))
POSITIVES = {"AF": WORDS[:8], "AM": WORDS[5:12], "EF": WORDS[20:24], "EM": WORDS[28:]}


def task() -> DetectionTask:
    test = load_test(
        {
            "name": "own",
            "groups": {group: [f"{group.lower()}{i}" for i in range(5)] for group in GROUPS},
            "constituents": {
                group: {
                    "race": [other for other in GROUPS if other[0] == group[0]],
                    "gender": [other for other in GROUPS if other[1] == group[1]],
                }
                for group in GROUPS
            },
            "positives": {
                "intersectional": {group: list(words) for group, words in POSITIVES.items()},
                "emergent": {group: list(words[:3]) for group, words in POSITIVES.items()},
            },
            "universe": list(WORDS),
        }
    )
    assert isinstance(test, DetectionTask)
    return test


def cell(seed: int = 0, *, words: tuple[str, ...] = WORDS, **options: Any) -> Inputs:
    rng = np.random.default_rng(seed)
    test = task()
    centres = {group: rng.normal(size=10) for group in GROUPS}
    sets = {
        f"group.{group}": VectorSet(f"own/{group}", concept.words, centres[group] + rng.normal(size=(5, 10)))
        for group, concept in test.groups.items()
    }
    rows = {word: rng.normal(size=10) for word in WORDS}
    for group, members in POSITIVES.items():
        for word in members:
            rows[word] = rows[word] + 0.5 * centres[group]
    sets["universe"] = VectorSet("own/universe", words, np.array([rows[word] for word in words]))
    return Inputs(test, sets, StatsOptions(**options), 0)


def score(w: Vectors, A: Vectors, B: Vectors) -> float:
    cosines = [[float(w @ v / np.sqrt((w @ w) * (v @ v))) for v in side] for side in (A, B)]
    union = cosines[0] + cosines[1]
    mean = sum(union) / len(union)
    std = (sum((c - mean) ** 2 for c in union) / (len(union) - 1)) ** 0.5
    return (sum(cosines[0]) / len(A) - sum(cosines[1]) / len(B)) / std


def brute_force(inputs: Inputs, group: str, task_name: str, exclude: str | None) -> dict[str, Any]:
    """IBD (``exclude`` None) or EIBD with plain loops, from the formulas of the paper."""
    names = {g: inputs.sets[f"group.{g}"].vectors for g in GROUPS}
    universe = inputs.sets["universe"]
    test: Any = inputs.test
    positives = set(test.positives[task_name][group].words)
    race = (
        np.vstack([names[g] for g in GROUPS if g[0] == group[0]]),
        np.vstack([names[g] for g in GROUPS if g[0] != group[0]]),
    )
    gender = (
        np.vstack([names[g] for g in GROUPS if g[1] == group[1]]),
        np.vstack([names[g] for g in GROUPS if g[1] != group[1]]),
    )
    best: tuple[float, int, float] | None = None
    chosen: dict[str, Any] = {}
    for step in range(80):
        t = round(-2 + 0.05 * step, 2)
        detected = set()
        for word, w in zip(universe.words, universe.vectors, strict=True):
            pairs = [score(w, names[group], names[other]) for other in GROUPS if other != group]
            constituents = [score(w, *race) > t, score(w, *gender) > t]
            removed = {None: False, "all": all(constituents), "any": any(constituents)}[exclude]
            if any(s > t for s in pairs) and not removed:
                detected.add(word)
        tp, fp = len(detected & positives), len(detected - positives)
        rank = (round(tp / len(positives) - fp / (len(universe) - len(positives)), 12), tp, t)
        if best is None or rank > best:
            best, chosen = rank, {"detected": detected, "tp": tp, "fp": fp, "threshold": t}
    return chosen


def detected_words(found: Measurement, group: str) -> set[str]:
    return {row["word"] for row in found.tables["words"] if row["group"] == group and row["detected"]}


@pytest.mark.parametrize("group", ["AF", "EM"])
def test_ibd_is_the_union_over_pairs_at_the_threshold_of_the_largest_tpr_minus_fpr(group: str) -> None:
    inputs = cell()
    found, expected = measure_ibd(inputs), brute_force(inputs, group, "intersectional", None)
    assert detected_words(found, group) == expected["detected"]
    for name in ("tp", "fp", "threshold"):
        assert found.metrics[f"{group}.intersectional.{name}"] == expected[name]


@pytest.mark.parametrize("exclude", ["all", "any"])
def test_eibd_takes_away_what_the_constituents_explain(exclude: str) -> None:
    inputs = cell(1, eibd_exclude=exclude)
    found, expected = measure_eibd(inputs), brute_force(inputs, "AF", "emergent", exclude)
    assert detected_words(found, "AF") == expected["detected"]
    assert found.metrics["AF.emergent.threshold"] == expected["threshold"]


def test_all_and_any_are_different_readings() -> None:
    both = [measure_eibd(cell(1, eibd_exclude=exclude)).metrics for exclude in ("all", "any")]
    assert both[0] != both[1]


def test_accuracy_stands_beside_balanced_accuracy_and_the_baseline() -> None:
    metrics = measure_ibd(cell()).metrics
    tp, fp, tn, fn = (metrics[f"AF.intersectional.{name}"] for name in ("tp", "fp", "tn", "fn"))
    assert tp + fp + tn + fn == metrics["n_words"] == 30
    assert metrics["AF.intersectional.accuracy"] == pytest.approx((tp + tn) / 30)
    assert metrics["AF.intersectional.balanced_accuracy"] == pytest.approx((tp / 8 + tn / 22) / 2)
    assert metrics["AF.intersectional.baseline_accuracy"] == pytest.approx(22 / 30)
    means = [metrics[f"{group}.intersectional.accuracy"] for group in GROUPS]
    assert metrics["mean_accuracy"] == pytest.approx(sum(means) / 4)


def test_auc_of_ibd_is_the_chance_that_a_word_of_the_group_scores_higher() -> None:
    found = measure_ibd(cell())
    rows = [row for row in found.tables["words"] if row["group"] == "EF"]
    inside, outside = ([row["score"] for row in rows if row["positive"] is flag] for flag in (True, False))
    wins = [(a > b) + (a == b) / 2 for a, b in itertools.product(inside, outside)]
    assert found.metrics["EF.intersectional.auc"] == pytest.approx(sum(wins) / len(wins))


def test_words_without_a_vector_count_as_neither() -> None:
    kept = tuple(word for word in WORDS if word not in {"w0", "w29"})
    found = measure_ibd(cell(words=kept))
    group = next(row for row in found.tables["groups"] if row["group"] == "AF")
    assert group["tp"] + group["fn"] == 7
    assert (group["listed_positives"], group["listed_negatives"]) == (8, 22)


def test_a_group_none_of_whose_words_has_a_vector_is_left_out_and_named() -> None:
    found = measure_ibd(cell(words=tuple(word for word in WORDS if word not in POSITIVES["EM"])))
    assert {row["group"] for row in found.tables["groups"]} == {"AF", "AM", "EF"}
    assert found.notes == ["EM: none of its intersectional words has a vector; the group is left out."]


def test_constituents_are_compared_with_every_other_union_and_never_with_themselves() -> None:
    test = load_test("ibd")
    assert isinstance(test, DetectionTask)
    assert constituent_pairs(test, "MF") == [
        ("race", ("MF", "MM"), ("AF", "AM")),
        ("race", ("MF", "MM"), ("EF", "EM")),
        ("gender", ("AF", "EF", "MF"), ("AM", "EM", "MM")),
    ]


def test_positives_outside_the_universe_are_a_mistake_in_the_file() -> None:
    inputs = cell()
    smaller = inputs.test.model_copy(update={"universe": inputs.test.universe.model_copy(update={"words": WORDS[1:]})})  # type: ignore[union-attr]
    with pytest.raises(HarnessError, match=r"positives\.intersectional\.AF holds w0, which `universe` lacks"):
        measure_ibd(Inputs(smaller, inputs.sets, inputs.stats, 0))


def test_always_negative_baselines_of_the_published_tasks() -> None:
    """CONVENTIONS: 85.7, 86.7, 90.8 and 93.9 % for AF, MF, AF emergent and MF emergent."""
    test: Any = load_test("ibd")
    shares = [
        1 - len(test.positives[name][group].words) / len(test.universe.words)
        for name, group in itertools.product(("intersectional", "emergent"), ("AF", "MF"))
    ]
    assert np.round(shares, 3).tolist() == [0.857, 0.867, 0.908, 0.939]


def test_ranking_in_batches_is_the_ranking_of_all_scores() -> None:
    rng = np.random.default_rng(4)
    words = [f"v{i}" for i in range(100)]
    vectors = rng.normal(size=(100, 6))
    vectors[17] = 0.0
    group, one, other = rng.normal(size=(3, 4, 6))
    batches = [(words[i : i + 33], vectors[i : i + 33]) for i in range(0, 100, 33)]
    found = rank_vocabulary(batches, group, {"one": one, "other": other}, top=10, exclude=["v3"])
    rest = [i for i in range(100) if i not in (3, 17)]
    scores = pair_scores(vectors[rest], group, {"one": one, "other": other}).scores
    best = np.argsort(-scores.max(axis=1))[:10]
    assert [row.word for row in found] == [words[rest[i]] for i in best]
    assert [row.against for row in found] == [("one", "other")[scores[i].argmax()] for i in best]
    assert found[0].score == scores.max()


def test_ranking_needs_a_group_to_compare_with() -> None:
    with pytest.raises(HarnessError, match="no other group"):
        rank_vocabulary([], np.eye(3), {})
    with pytest.raises(HarnessError, match="top=0"):
        rank_vocabulary([], np.eye(3), {"one": np.eye(3)}, top=0)
