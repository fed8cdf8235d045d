from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from harness.encoders import StaticEncoder, open_static, rowcache, static_identity
from harness.errors import HarnessError
from tests.encoders.conftest import WORDS, WRITERS, write_glove, write_histwords


def opened(path: Path, cache: Path, *wanted: str, **config: object) -> StaticEncoder:
    return open_static({"name": "mine", "path": str(path), **config}, cache=cache, wanted=wanted)


@pytest.fixture
def glove(tmp_path, matrix) -> Path:
    return write_glove(tmp_path, matrix)


@pytest.fixture
def lower(tmp_path) -> Path:
    """A lower-case vocabulary."""
    path = tmp_path / "lower.txt"
    path.write_text("rose 3 4\nbilly 1 0\nfried 0 2\nchicken 5 0\nall-american 1 1\nvoid 0 0\n")
    return path


@pytest.fixture
def scans(monkeypatch) -> list[frozenset[str]]:
    """Every request that really read a vector file."""
    asked: list[frozenset[str]] = []
    real = rowcache.read_rows

    def counted(path, file_format, wanted, **options):
        asked.append(frozenset(wanted))
        return real(path, file_format, wanted, **options)

    monkeypatch.setattr(rowcache, "read_rows", counted)
    return asked


def test_lookup_gives_rows_in_the_order_asked_and_names_what_is_not_there(glove, tmp_path, matrix):
    lookup = opened(glove, tmp_path / "c").lookup(["wasp", "unheard", "nothing", "Rose"])
    assert lookup.words == ("wasp", "Rose")
    assert lookup.matrix.dtype == np.float64
    np.testing.assert_array_equal(lookup.matrix, matrix[[6, 1]])
    assert lookup.missing == ("unheard",)
    assert lookup.zero == ("nothing",)
    assert lookup.forms == {"wasp": "wasp", "nothing": "nothing", "Rose": "Rose"}


def test_a_lookup_of_nothing_found_is_an_empty_matrix(glove, tmp_path):
    lookup = opened(glove, tmp_path / "c").lookup(["unheard"])
    assert lookup.matrix.shape == (0, 5)


def test_auto_takes_the_lower_case_where_the_vocabulary_is_lower_case(lower, tmp_path):
    lookup = opened(lower, tmp_path / "c").lookup(["Billy"])
    assert lookup.forms == {"Billy": "billy"}


def test_auto_leaves_a_name_missing_in_a_cased_vocabulary(glove, tmp_path):
    encoder = opened(glove, tmp_path / "c")
    assert encoder.cased
    assert encoder.lookup(["Wasp"]).missing == ("Wasp",)
    assert opened(glove, tmp_path / "c", case="lower").lookup(["Wasp"]).forms == {"Wasp": "wasp"}


def test_exact_takes_no_other_case(lower, tmp_path):
    assert opened(lower, tmp_path / "c", case="exact").lookup(["Billy", "rose"]).missing == ("Billy",)


def test_a_phrase_is_found_by_underscore_then_hyphen_then_mean(glove, lower, tmp_path):
    assert opened(glove, tmp_path / "c").lookup(["fried chicken"]).forms == {"fried chicken": "fried_chicken"}
    found = opened(lower, tmp_path / "c").lookup(["All American", "fried chicken"])
    assert found.forms == {"All American": "all-american", "fried chicken": "mean of fried, chicken"}
    np.testing.assert_allclose(found.matrix[1], [0.5, 0.5])


def test_a_mean_does_without_an_article_but_not_without_a_noun(lower, tmp_path):
    lookup = opened(lower, tmp_path / "c").lookup(["a fried chicken", "a fried unicorn"])
    assert lookup.forms == {"a fried chicken": "mean of fried, chicken"}
    assert lookup.missing == ("a fried unicorn",)


def test_a_mean_over_a_word_without_length_is_named_as_zero(lower, tmp_path):
    assert opened(lower, tmp_path / "c").lookup(["void rose"]).zero == ("void rose",)


def test_a_phrase_policy_without_mean_leaves_the_phrase_missing(lower, tmp_path):
    encoder = opened(lower, tmp_path / "c", phrase=["underscore"])
    assert encoder.lookup(["fried chicken"]).missing == ("fried chicken",)


def test_a_hyphenated_word_is_found_by_its_other_spelling_not_by_a_mean_of_its_parts(glove, tmp_path):
    encoder = opened(glove, tmp_path / "c")
    assert encoder.lookup(["short-term"]).missing == ("short-term",)
    other = {"short-term": ("shortterm", "short")}
    assert encoder.lookup(["short-term"], fallbacks=other).forms == {"short-term": "short"}


def test_the_second_opening_does_not_read_the_file(glove, tmp_path, scans):
    first = opened(glove, tmp_path / "c", *WORDS)
    second = opened(glove, tmp_path / "c", *WORDS)
    assert len(scans) == 1
    np.testing.assert_array_equal(second.lookup(WORDS).matrix, first.lookup(WORDS).matrix)


def test_words_not_asked_for_before_are_read_then_and_only_then(glove, tmp_path, scans):
    encoder = opened(glove, tmp_path / "c", "rose")
    assert encoder.lookup(["wasp", "unheard"]).words == ("wasp",)
    assert len(scans) == 2
    encoder.lookup(["rose", "wasp", "unheard"])
    opened(glove, tmp_path / "c", "unheard", "rose")
    assert len(scans) == 2


def test_the_words_wanted_may_come_from_a_function(glove, tmp_path, scans):
    encoder = open_static({"name": "m", "path": str(glove)}, cache=tmp_path / "c", wanted=lambda: ["rose"])
    encoder.lookup(["rose"])
    assert len(scans) == 1


def test_a_changed_file_is_read_again_and_has_another_identity(glove, tmp_path, matrix):
    before = opened(glove, tmp_path / "c", "rose")
    write_glove(tmp_path, matrix * 2)
    os.utime(glove, ns=(1, 1))
    after = opened(glove, tmp_path / "c", "rose")
    assert before.identity["sha256"] != after.identity["sha256"]
    np.testing.assert_allclose(after.lookup(["rose"]).matrix, before.lookup(["rose"]).matrix * 2, atol=2e-4)


def test_a_copy_of_the_file_elsewhere_has_the_same_identity(glove, tmp_path):
    copy = tmp_path / "sub" / "copy.txt"
    copy.parent.mkdir()
    copy.write_bytes(glove.read_bytes())
    assert opened(glove, tmp_path / "c").identity == opened(copy, tmp_path / "c").identity


@pytest.mark.parametrize("name", ["glove", "gensim_apart", "histwords", "numpy", "gzip"])
def test_identity_before_reading_equals_identity_after(name, tmp_path, matrix):
    path = WRITERS[name](tmp_path, matrix)
    config = {"name": "mine", "path": str(path)}
    planned = static_identity(config, cache=tmp_path / "a")
    assert planned == open_static(config, cache=tmp_path / "b", wanted=["rose"]).identity


def test_a_vocabulary_that_changed_beside_its_matrix_changes_the_identity(tmp_path, matrix):
    path = write_histwords(tmp_path, matrix)
    before = static_identity({"name": "m", "path": str(path)}, cache=tmp_path / "c")
    (tmp_path / "1990-vocab.pkl").write_bytes(pickle.dumps(list(reversed(WORDS)), protocol=2))
    assert static_identity({"name": "m", "path": str(path)}, cache=tmp_path / "c") != before


def test_the_policies_are_part_of_the_identity(glove, tmp_path):
    plain = opened(glove, tmp_path / "c").identity
    assert plain["case"] == "auto"
    assert opened(glove, tmp_path / "c", case="exact").identity != plain
    assert opened(glove, tmp_path / "c", phrase=["mean"]).identity != plain


def test_a_damaged_cache_is_read_anew(glove, tmp_path, scans):
    opened(glove, tmp_path / "c", "rose")
    for file in (tmp_path / "c").glob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:40])
    assert opened(glove, tmp_path / "c", "rose").lookup(["rose"]).words == ("rose",)
    assert len(scans) == 2


def test_histwords_rows_of_zeros_are_named(tmp_path, matrix):
    assert opened(write_histwords(tmp_path, matrix), tmp_path / "c").lookup(["nothing", "rose"]).zero == ("nothing",)


def test_an_encoder_goes_through_its_whole_vocabulary(glove, tmp_path):
    encoder = opened(glove, tmp_path / "c", "rose")
    assert [word for batch in encoder.iterate() for word in batch.words] == list(WORDS)
    assert encoder.vocabulary_size == len(WORDS)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"path": "no/such/file.txt"}, "does not exist"),
        ({"path": "."}, "is a folder"),
        ({}, "set model.path to a file"),
        ({"format": "embedded"}, "no vectors of that name are shipped"),
        ({"asset": "glove-840b-300d"}, "run `harness fetch glove-840b-300d`"),
        ({"asset": "glove-6b/glove.6B.50d.txt"}, "run `harness fetch glove-6b`"),
        ({"asset": "glov-6b"}, "Did you mean glove-6b"),
        ({"format": "embedded", "case": "lowr"}, "Did you mean lower"),
        ({"format": "embedded", "phrase": ["men"]}, "not one of underscore, hyphen, mean"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(config, sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    with pytest.raises(HarnessError) as error:
        open_static({"name": "mine", **config}, cache=tmp_path / "c")
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_format_is_one_sentence(glove, tmp_path):
    with pytest.raises(HarnessError, match=r"model\.format=tekst: .* Did you mean text"):
        opened(glove, tmp_path / "c", format="tekst")


def test_a_cached_file_keeps_what_was_asked_even_if_it_was_not_found(glove, tmp_path):
    opened(glove, tmp_path / "c", "unheard")
    (file,) = (tmp_path / "c").glob("*.safetensors")
    with safe_open(file, framework="numpy") as kept:
        assert "unheard" in json.loads(kept.metadata()["rows"])["asked"]
