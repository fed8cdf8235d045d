"""Batches: within the budget, longest first, everything once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.encoders.batching import buckets, pad

LENGTHS = st.lists(st.integers(1, 300), max_size=200)


@given(LENGTHS, st.integers(1, 2_000))
def test_every_text_is_in_exactly_one_batch(lengths: list[int], budget: int) -> None:
    places = [int(place) for bucket in buckets(lengths, budget=budget) for place in bucket]
    assert sorted(places) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 2_000))
def test_padded_batch_stays_within_the_budget_unless_one_text_alone_exceeds_it(lengths: list[int], budget: int) -> None:
    for bucket in buckets(lengths, budget=budget):
        width = max(lengths[place] for place in bucket)
        assert len(bucket) * width <= budget or len(bucket) == 1


@given(LENGTHS, st.integers(1, 2_000))
def test_longest_texts_come_first(lengths: list[int], budget: int) -> None:
    in_order = [lengths[place] for bucket in buckets(lengths, budget=budget) for place in bucket]
    assert in_order == sorted(lengths, reverse=True)


def test_no_texts_are_no_batches() -> None:
    assert list(buckets([], budget=100)) == []


def test_rows_are_filled_up_on_the_right() -> None:
    np.testing.assert_array_equal(pad([[1, 2, 3], [4]], value=9), [[1, 2, 3], [4, 9, 9]])
