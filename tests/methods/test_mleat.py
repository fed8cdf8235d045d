from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import harness
from harness.errors import HarnessError
from harness.methods.base import Inputs, VectorSet
from harness.methods.mleat import LARGEST_LIST, PATTERNS, associated, cosine_rows, measure, mleat
from harness.methods.weat import measure as measure_weat
from harness.options import StatsOptions
from harness.stats.effect import sc_weat_d
from harness.stimuli import load_test

Sets = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

QUICK = StatsOptions(ci_resamples=0)
SWAPPED = {"A": "B", "B": "A", "none": "none"}


@st.composite
def four_sets(draw: st.DrawFn) -> Sets:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    targets, attributes = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    lean = draw(st.floats(-2, 2))
    X, Y = rng.normal(size=(2, targets, 6))
    A, B = rng.normal(size=(2, attributes, 6))
    A[:, 0] += lean
    X[:, 0] += lean
    return X, Y, A, B


@settings(max_examples=30, deadline=None)
@given(four_sets())
def test_exchanging_the_targets_turns_level_1_round_and_exchanges_level_2(sets: Sets) -> None:
    X, Y, A, B = sets
    one, other = mleat(X, Y, A, B, stats=QUICK), mleat(Y, X, A, B, stats=QUICK)
    assert other.level1.d == pytest.approx(-one.level1.d)
    assert other.level2["X"].d == one.level2["Y"].d
    assert other.level2["Y"].p.p == one.level2["X"].p.p
    assert PATTERNS[one.level2["Y"].association, one.level2["X"].association] == other.pattern


@settings(max_examples=30, deadline=None)
@given(four_sets())
def test_exchanging_the_attributes_turns_every_effect_round(sets: Sets) -> None:
    X, Y, A, B = sets
    one, other = mleat(X, Y, A, B, stats=QUICK), mleat(X, Y, B, A, stats=QUICK)
    assert other.level1.d == pytest.approx(-one.level1.d)
    for target in "XY":
        assert other.level2[target].d == pytest.approx(-one.level2[target].d)
        assert other.level2[target].association == SWAPPED[one.level2[target].association]
    assert other.level3["XB"].mean == pytest.approx(one.level3["XA"].mean)


@settings(max_examples=30, deadline=None)
@given(four_sets(), st.integers(0, 2**32 - 1))
def test_order_of_words_and_lengths_of_vectors_change_nothing(sets: Sets, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = [rng.permutation(rows) * rng.uniform(0.1, 50, size=(len(rows), 1)) for rows in sets]
    one, other = mleat(*sets, stats=QUICK), mleat(*shuffled, stats=QUICK)
    assert other.level1.d == pytest.approx(one.level1.d)
    assert other.level1.p.p == pytest.approx(one.level1.p.p)
    for target in "XY":
        assert other.level2[target].d == pytest.approx(one.level2[target].d)
        assert other.level2[target].p.p == pytest.approx(one.level2[target].p.p)
    for pair in one.level3:
        assert other.level3[pair].std == pytest.approx(one.level3[pair].std)


@settings(max_examples=30, deadline=None)
@given(four_sets())
def test_level_2_of_a_single_word_is_sc_weat(sets: Sets) -> None:
    X, Y, A, B = sets
    for word in X:
        # Level 1 needs a spread over X ∪ Y, which the other target gives.
        found = mleat(word[np.newaxis], Y, A, B, stats=QUICK)
        assert found.level2["X"].d == pytest.approx(sc_weat_d(word[np.newaxis], A, B)[0], rel=1e-12)


def test_level_3_is_the_mean_and_the_std_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    X, Y, A, B = (rng.normal(size=(n, 7)) for n in (3, 4, 5, 6))
    found = mleat(X, Y, A, B, stats=QUICK)
    cosines = [float(y @ b / np.sqrt((y @ y) * (b @ b))) for y in Y for b in B]
    mean = sum(cosines) / 24
    assert found.level3["YB"].mean == pytest.approx(mean)
    assert found.level3["YB"].std == pytest.approx((sum((c - mean) ** 2 for c in cosines) / 23) ** 0.5)


def leaning(x: float, y: float) -> Sets:
    """X and Y lean by x and y towards A (+1), B (−1) or neither (0); attribute words differ otherwise in pairs."""
    e0, e1 = np.eye(3)[:2]
    side = np.linspace(-1, 1, 8)[:, np.newaxis]
    A, B = e0 + side * e1, -e0 + side * e1
    spread = np.array([-0.02, 0.02, -0.01, 0.01])[:, np.newaxis]
    X, Y = ((lean + spread) * e0 + e1 for lean in (x, y))
    return X, Y, A, B


@pytest.mark.parametrize(("x", "y"), [(x, y) for x in (1, -1, 0) for y in (1, -1, 0)])
def test_each_of_the_nine_patterns_is_found_where_it_was_planted(x: int, y: int) -> None:
    side = {1: "A", -1: "B", 0: "none"}
    found = mleat(*leaning(x, y), stats=QUICK)
    assert (found.level2["X"].association, found.level2["Y"].association) == (side[x], side[y])
    assert found.pattern == PATTERNS[side[x], side[y]]  # type: ignore[index]
    assert found.pattern_two_sided == found.pattern


def test_the_nine_patterns_have_the_names_of_the_paper() -> None:
    directions = {"Divergent": 2, "Uniform": 2, "Singular": 4, "Directional": 1}
    assert Counter(name.rpartition("-")[2] for name in PATTERNS.values()) == directions
    assert len(set(PATTERNS.values())) == 9
    assert PATTERNS["none", "B"] == "BY-Singular"


@pytest.mark.parametrize(
    ("d", "p", "side"),
    [(0.2, 0.049, "A"), (-0.2, 0.049, "B"), (0.19, 0.001, "none"), (-0.19, 0.001, "none"), (1.5, 0.05, "none")],
)
def test_an_association_needs_a_small_effect_and_p_below_the_level(d: float, p: float, side: str) -> None:
    assert associated(d, p) == side


def second_best_arrangement() -> Sets:
    """Four attribute words a side, of whose 70 arrangements only one puts A higher: p is 2/70, on both sides 4/70."""
    cosines = {"A": (0.8, 0.7, 0.6, 0.4), "B": (0.5, 0.3, 0.2, 0.1)}
    A, B = (np.array([(c, np.sqrt(1 - c**2)) for c in values]) for values in cosines.values())
    X, Y = np.array([(1.0, 0.0), (1.0, 0.0)]), np.array([(0.0, 1.0), (0.1, 1.0)])
    return X, Y, A, B


def test_the_two_sided_pattern_does_not_share_the_doubled_size_of_the_observed_tail() -> None:
    sets = second_best_arrangement()
    found = mleat(*sets, stats=QUICK)
    p = found.level2["X"].p
    assert (p.p, p.p_two_sided) == pytest.approx((2 / 70, 4 / 70))
    assert found.level2["X"].association == "A"
    assert found.level2["X"].association_two_sided == "none"
    two_sided = mleat(*sets, stats=StatsOptions(ci_resamples=0, alternative_level2="two-sided"))
    assert two_sided.pattern == found.pattern_two_sided


def inputs(sets: Sets, **options: object) -> Inputs:
    words = {slot: tuple(f"{slot}{i}" for i in range(len(rows))) for slot, rows in zip("XYAB", sets, strict=True)}
    vectors = {
        slot: VectorSet(f"own/{slot.lower()}", words[slot], rows) for slot, rows in zip("XYAB", sets, strict=True)
    }
    test = load_test({"name": "own", **words})
    return Inputs(test, vectors, StatsOptions(**options), 0)  # type: ignore[arg-type]


def test_level_1_has_the_numbers_of_weat_under_the_names_of_weat() -> None:
    rng = np.random.default_rng(3)
    given_sets = inputs(tuple(rng.normal(size=(4, 5, 8))))  # type: ignore[arg-type]
    one, other = measure(given_sets), measure_weat(given_sets)
    assert {name: one.metrics[name] for name in other.metrics} == other.metrics
    assert one.tables["associations"] == other.tables["associations"]
    assert {"level2_x_d", "level2_y_p", "level3_ya_mean", "level3_xb_std"} <= set(one.metrics)
    assert len(one.tables["level2"]) == 2 * (5 + 5)


def test_cosines_that_bunch_together_are_called_so() -> None:
    rng = np.random.default_rng(3)
    spread = rng.normal(size=(4, 5, 300))
    assert measure(inputs(tuple(spread))).labels["anisotropy"] == "low"  # type: ignore[arg-type]
    found = measure(inputs(tuple(spread + 10)))  # type: ignore[arg-type]
    assert found.labels["anisotropy"] == "uniform"
    assert any("should not be relied on" in note for note in found.notes)


def test_many_cosines_are_kept_as_quantiles_and_few_as_they_are() -> None:
    rng = np.random.default_rng(3)
    large = inputs(tuple(rng.normal(size=(4, 60, 8))))  # type: ignore[arg-type]
    row = cosine_rows(mleat(*(v.vectors for v in large.sets.values()), stats=QUICK), dict(large.sets))[0]
    assert row["n"] == 3_600 > LARGEST_LIST >= len(row["values"])
    small = measure(inputs(tuple(rng.normal(size=(4, 5, 8)))))  # type: ignore[arg-type]
    row = small.tables["cosines"][0]
    assert np.mean(row["values"]) == pytest.approx(row["mean"], abs=1e-5)
    assert len(row["values"]) == row["n"] == 25


def test_the_function_for_notebooks_takes_words_and_vectors() -> None:
    sets = leaning(1, -1)
    vectors = {f"{slot}{i}": row for slot, rows in zip("XYAB", sets, strict=True) for i, row in enumerate(rows)}
    words = [[word for word in vectors if word[0] == slot] for slot in "XYAB"]
    assert harness.mleat(*words, vectors).pattern == "AB-Divergent"
    assert harness.mleat(*sets, ddof=0).level1.d > harness.mleat(*sets).level1.d
    with pytest.raises(HarnessError, match=r"no option 'dof'\. Did you mean ddof"):
        harness.mleat(*sets, dof=0)
