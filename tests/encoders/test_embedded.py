"""The vectors that are shipped: whole, documented, and the ones that the papers measured."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from harness.audit.frequency import load_frequencies
from harness.encoders import StaticEncoder, open_static
from harness.paths import stimuli_dir
from harness.stimuli import all_words, load_test
from tools.build_vectors import keys_of, listed_with_spellings, stimuli_with_spellings

NAMES = ("googlenews", "glove-6b-100d")


def about(name: str) -> dict:
    return json.loads((stimuli_dir() / "vectors" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


def embedded(name: str, tmp_path) -> StaticEncoder:
    return open_static({"name": name, "format": "embedded"}, cache=tmp_path)


def test_the_file_is_the_one_that_was_built(name):
    path = stimuli_dir() / "vectors" / f"{name}.safetensors"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == about(name)["sha256"]
    assert path.stat().st_size <= 3_000_000


def test_its_source_and_licence_are_written_down(name):
    for source in about(name)["sources"]:
        assert source["licence"]
        assert len(source["sha256"]) == len(source["member_sha256"]) == 64


def test_every_stimulus_has_a_vector_or_is_listed_as_missing(name, tmp_path):
    """Fails when a concept has got new words: run ``python tools/build_vectors.py``."""
    fallbacks = stimuli_with_spellings()
    assert set(all_words()) - {form for forms in fallbacks.values() for form in forms} <= set(fallbacks)
    lookup = embedded(name, tmp_path).lookup(sorted(fallbacks), fallbacks=fallbacks)
    assert sorted(lookup.missing) == about(name)["missing"]
    assert lookup.zero == ()


def test_no_word_is_shipped_that_building_again_would_leave_out(name):
    shipped = {word for source in about(name)["sources"] for word in source["words"]}
    assert shipped <= keys_of(stimuli_with_spellings())


def test_the_words_of_concepts_that_glove_knows_have_a_rank(tmp_path):
    known = {word for source in about("glove-6b-100d")["sources"] for word in source["words"]}
    assert set(load_frequencies("glove-6b", runs=tmp_path).ranks) == known & keys_of(listed_with_spellings())


def test_google_news_is_cased_and_glove_is_not(tmp_path):
    assert embedded("googlenews", tmp_path).cased
    assert not embedded("glove-6b-100d", tmp_path).cased


def test_billy_is_missing_from_google_news_and_stays_so(tmp_path):
    assert embedded("googlenews", tmp_path).lookup(["Billy"]).missing == ("Billy",)


def test_a_word_that_came_at_unit_length_is_marked(tmp_path):
    encoder = embedded("googlenews", tmp_path)
    for source in about("googlenews")["sources"]:
        lengths = np.linalg.norm(encoder.lookup(source["words"]).matrix, axis=1)
        assert bool(np.allclose(lengths, 1, atol=1e-4)) == source["unit_length"]


@pytest.mark.parametrize(("test", "published"), [("c1", 1.54), ("c4", 1.24), ("c6", 1.89), ("c8", 1.24)])
def test_google_news_gives_the_published_effect_size(test, published, tmp_path):
    """Caliskan et al. 2017, Table S1; effect size as the paper defines it, with ddof 1."""
    encoder, loaded = embedded("googlenews", tmp_path), load_test(test)
    unit = {}
    for slot in "XYAB":
        rows = encoder.lookup(getattr(loaded, slot).words).matrix
        unit[slot] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    direction = unit["A"].mean(axis=0) - unit["B"].mean(axis=0)
    x, y = unit["X"] @ direction, unit["Y"] @ direction
    assert (x.mean() - y.mean()) / np.concatenate([x, y]).std(ddof=1) == pytest.approx(published, abs=0.011)
