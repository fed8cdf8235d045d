"""The Python API of the README."""

from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors

import harness
from harness.errors import HarnessError
from tests.conftest import WORDS, planted


def test_weat_on_a_dict_a_keyedvectors_and_arrays_agree() -> None:
    vectors = planted()
    keyed = KeyedVectors(12)
    keyed.add_vectors(list(vectors), np.array(list(vectors.values())).astype(np.float32))
    sets = [WORDS[slot] for slot in "XYAB"]
    by_dict = harness.weat(*sets, vectors)
    by_gensim = harness.weat(*sets, keyed)
    by_array = harness.weat(*([vectors[word] for word in words] for words in sets))
    assert by_dict.d == pytest.approx(by_gensim.d, abs=1e-6)
    assert by_dict.d == by_array.d
    assert by_dict.p.p == by_array.p.p == pytest.approx(by_gensim.p.p)


def test_options_are_named() -> None:
    vectors = planted()
    sets = [WORDS[slot] for slot in "XYAB"]
    assert harness.weat(*sets, vectors, ddof=0).d > harness.weat(*sets, vectors).d
    with pytest.raises(HarnessError, match="Did you mean two-sided"):
        harness.weat(*sets, vectors, alternative="twosided")


def test_a_word_without_a_vector_is_named() -> None:
    with pytest.raises(HarnessError, match="X: the vectors lack unicorn"):
        harness.weat(["unicorn", "rose"], WORDS["Y"], WORDS["A"], WORDS["B"], planted())


def test_concepts_of_a_test_can_be_given_as_they_are() -> None:
    test = harness.load_test("c1")
    rng = np.random.default_rng(0)
    vectors = {word: rng.normal(size=5) for slot in "XYAB" for word in getattr(test, slot).words}
    assert abs(harness.weat(test.X, test.Y, test.A, test.B, vectors).d) < 2
