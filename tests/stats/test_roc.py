from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats.errors import EmptySetError, NotFiniteError, OptionError, ShapeError
from harness.stats.roc import (
    RocCurve,
    baseline_accuracy,
    choose_threshold,
    eibd_predict,
    hull_auc,
    ibd_predict,
    roc_auc,
    roc_curve,
    score_predict,
    threshold_grid,
)


def task(seed: int, words: int = 98, positives: int = 14, pairs: int = 5):
    rng = np.random.default_rng(seed)
    labels = np.arange(words) < positives
    scores = rng.normal(0.4 * labels[:, np.newaxis], 0.8, (words, pairs))
    constituents = rng.normal(0.2 * labels[:, np.newaxis], 0.8, (words, 3))
    return scores, constituents, labels


def test_grid_is_the_published_one():
    grid = threshold_grid()
    assert grid.size == 80
    assert (grid[0], grid[-1]) == (-2.0, 1.95)
    assert 0.15 in grid and 0.0 in grid and -1.95 in grid, "the nearest doubles, not sums of steps"


def test_a_score_equal_to_the_threshold_is_not_detected():
    assert score_predict([0.1, 0.15, 0.2], 0.15).tolist() == [False, False, True]
    assert ibd_predict([[0.15, 0.1]], 0.15).tolist() == [False]


def test_ibd_detects_a_word_when_any_pair_exceeds_the_threshold():
    scores = [[-1, 0.6, -1], [0.4, 0.5, 0.3], [0.9, 0.9, 0.9]]
    assert ibd_predict(scores, 0.5).tolist() == [True, False, True]


def test_eibd_removes_a_word_when_all_or_any_constituents_exceed():
    scores = np.full((4, 5), 1.0)
    scores[3] = 0.0
    constituents = [[0.9, 0.9], [0.9, 0.1], [0.1, 0.1], [0.1, 0.1]]
    assert eibd_predict(scores, constituents, 0.5).tolist() == [False, True, True, False]
    assert eibd_predict(scores, constituents, 0.5, exclude="any").tolist() == [False, False, True, False]


@pytest.mark.parametrize("exclude", ["all", "any"])
def test_many_thresholds_at_once_equal_one_at_a_time(exclude):
    scores, constituents, _ = task(0)
    grid = threshold_grid()
    at_once = eibd_predict(scores, constituents, grid, exclude=exclude)
    decide = all if exclude == "all" else any
    for i in (0, 30, 41, 55, 79):
        t = grid[i]
        expected = [
            any(x > t for x in row) and not decide(c > t for c in const)
            for row, const in zip(scores, constituents, strict=True)
        ]
        assert at_once[i].tolist() == expected
        assert eibd_predict(scores, constituents, t, exclude=exclude).tolist() == expected


def test_the_self_pair_would_remove_nothing_at_a_positive_threshold():
    scores, constituents, _ = task(1)
    with_self = np.column_stack([constituents, np.zeros(len(constituents))])
    t = threshold_grid(low=0.05)
    assert (eibd_predict(scores, with_self, t) == ibd_predict(scores, t)).all()
    assert (eibd_predict(scores, constituents, t) != ibd_predict(scores, t)).any()


def test_curve_equals_sklearn():
    from sklearn import metrics

    scores, _, labels = task(2)
    single = scores.max(axis=1)
    grid = threshold_grid()
    curve = roc_curve(ibd_predict(scores, grid), labels, grid)
    for i, t in enumerate(grid):
        predicted = single > t
        tn, fp, fn, tp = metrics.confusion_matrix(labels, predicted).ravel()
        assert (curve.tp[i], curve.fp[i], curve.tn[i], curve.fn[i]) == (tp, fp, tn, fn)
        assert curve.accuracy[i] == pytest.approx(metrics.accuracy_score(labels, predicted))
        assert curve.balanced_accuracy[i] == pytest.approx(metrics.balanced_accuracy_score(labels, predicted))
    assert roc_auc(single, labels) == pytest.approx(metrics.roc_auc_score(labels, single))


def test_auc_counts_ties_half_as_sklearn_does():
    from sklearn.metrics import roc_auc_score

    scores, _, labels = task(3)
    rounded = np.round(scores[:, 0], 0)
    assert roc_auc(rounded, labels) == pytest.approx(roc_auc_score(labels, rounded))


def test_threshold_maximises_tpr_minus_fpr_as_sklearn_finds_it():
    from sklearn.metrics import roc_curve as sklearn_curve

    for seed in range(10):
        scores, _, labels = task(seed)
        # On the scores themselves as thresholds, just below each, both see every possible detector.
        single = scores[:, 0]
        grid = np.sort(single) - 1e-9
        point = choose_threshold(roc_curve(score_predict(single, grid), labels, grid))
        fpr, tpr, _ = sklearn_curve(labels, single)
        assert point.youden == pytest.approx((tpr - fpr).max())


def curve(tp, fp, positives=14, negatives=84):
    return RocCurve(np.linspace(0, 1, len(tp)), np.array(tp), np.array(fp), positives, negatives)


def test_of_equal_tpr_minus_fpr_the_largest_tp_wins():
    # 1/14 = 6/84: three points with the same TPR − FPR, which differ in the last bit as floats.
    point = choose_threshold(curve([5, 7, 6], [6, 18, 12]))
    assert (point.tp, point.fp, point.threshold) == (7, 18, 0.5)


def test_of_equal_counts_the_largest_threshold_wins():
    point = choose_threshold(curve([5, 5, 5, 2], [6, 6, 6, 1]))
    assert point.threshold == pytest.approx(2 / 3)


def test_accuracy_stands_beside_the_always_negative_baseline():
    # The four published tasks: 14, 13, 9 and 6 of 98 words belong to the group.
    for positives, published in ((14, 0.857), (13, 0.867), (9, 0.908), (6, 0.939)):
        labels = np.arange(98) < positives
        assert baseline_accuracy(labels) == pytest.approx(published, abs=0.0005)
        nothing = roc_curve(np.zeros((1, 98), dtype=bool), labels, [5.0])
        point = choose_threshold(nothing)
        assert point.accuracy == point.baseline_accuracy == baseline_accuracy(labels)
        assert point.balanced_accuracy == 0.5


def test_published_counts_give_the_published_accuracies():
    # TP/FP read off the published ROC points, of 98 words.
    for tp, fp, positives, published in ((5, 9, 14, 0.816), (5, 9, 13, 0.827), (4, 10, 9, 0.847), (5, 33, 6, 0.653)):
        point = choose_threshold(curve([tp], [fp], positives, 98 - positives))
        assert point.accuracy == pytest.approx(published, abs=0.0006)
        assert point.accuracy < point.baseline_accuracy


def test_hull_of_a_nested_detector_is_at_least_its_area():
    scores, _, labels = task(4)
    single = scores.max(axis=1)
    grid = np.sort(np.concatenate([single, [-10.0]]))
    assert hull_auc(roc_curve(score_predict(single, grid), labels, grid)) >= roc_auc(single, labels)


def test_hull_of_known_points():
    assert hull_auc(curve([0], [0])) == 0.5
    assert hull_auc(curve([14], [0])) == 1.0
    assert hull_auc(curve([7], [0])) == pytest.approx(0.75)
    assert hull_auc(curve([7, 1, 0], [0, 60, 84])) == pytest.approx(0.75), "points below the hull add nothing"


def test_eibd_runs_back_to_nothing_at_low_thresholds():
    scores, constituents, labels = task(5)
    grid = np.array([-10.0, 0.2, 10.0])
    counts = roc_curve(eibd_predict(scores, constituents, grid), labels, grid)
    detected = counts.tp + counts.fp
    assert detected[0] == 0 and detected[2] == 0 and detected[1] > 0
    assert 0.5 <= hull_auc(counts) <= 1


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-5, 5))
def test_auc_depends_on_ranks_alone_and_mirrors_with_the_sign(seed, scale, shift):
    scores, _, labels = task(seed, words=20, positives=6)
    auc = roc_auc(scores[:, 0], labels)
    assert roc_auc(scale * scores[:, 0] + shift, labels) == pytest.approx(auc)
    assert roc_auc(-scores[:, 0], labels) == pytest.approx(1 - auc)


def test_labels_of_one_kind_are_refused():
    with pytest.raises(EmptySetError, match="no word of 3"):
        roc_auc([0.1, 0.2, 0.3], [False, False, False])
    with pytest.raises(EmptySetError, match="every word of 2"):
        baseline_accuracy([True, True])


def test_nan_and_empty_scores_are_named():
    with pytest.raises(NotFiniteError, match=r"scores\[1\]"):
        ibd_predict([[0.1, 0.2], [0.3, np.nan]], 0.5)
    with pytest.raises(NotFiniteError, match=r"constituent_scores\[0\]"):
        eibd_predict([[0.1]], [[np.inf]], 0.5)
    with pytest.raises(NotFiniteError, match=r"t\[0\]"):
        score_predict([0.1], np.nan)
    with pytest.raises(EmptySetError, match="scores is empty"):
        score_predict([], 0.5)
    with pytest.raises(NotFiniteError, match=r"scores\[2\]"):
        roc_auc([0.1, 0.2, np.nan], [True, False, False])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="constituent_scores has 2"):
        eibd_predict([[0.1]], [[0.1], [0.2]], 0.5)
    with pytest.raises(ShapeError, match=r"shape \(2, 3\)"):
        roc_curve(np.zeros((3, 2), dtype=bool), [True, False, True], [0.1, 0.2])
    with pytest.raises(ShapeError, match="booleans"):
        roc_auc([0.1, 0.2], [0, 1])
    with pytest.raises(ShapeError, match="labels has 3"):
        roc_auc([0.1, 0.2], [True, False, True])


def test_unknown_options_are_refused():
    with pytest.raises(OptionError, match="exclude='none'"):
        eibd_predict([[0.1]], [[0.1]], 0.5, exclude="none")
    with pytest.raises(OptionError, match="step=0"):
        threshold_grid(step=0)
