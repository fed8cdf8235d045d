"""Foreign formats: what is read, and what each broken file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.errors import HarnessError
from harness.stimuli import load_test
from harness.stimuli.importers import import_test, write_test

SENT_BIAS: dict[str, Any] = {
    "targ1": {"category": "Flowers", "examples": ["aster", "clover"]},
    "targ2": {"category": "Insects", "examples": ["ant", "flea"]},
    "attr1": {"category": "Pleasant", "examples": ["no", "love"]},
    "attr2": {"category": "Unpleasant", "examples": ["null", "José"]},
}
WEFE: dict[str, Any] = {
    "query_name": "Ethnicity and Élan",
    "target_sets": [["Adam", "Chip"], ["Alonzo", "Jamel"]],
    "attribute_sets": [["a warm smile", "love"], ["hate", "on"]],
    "target_sets_names": ["Names 1", "Names 2"],
    "attribute_sets_names": ["Names 1", "Bad"],
}


def _write(path: Path, data: object, *, indent: int | None = 2) -> Path:
    text = json.dumps(data, indent=indent) if path.suffix != ".yaml" else yaml.safe_dump(data)
    path.write_text(text, encoding="utf-8")
    return path


def test_sent_bias_becomes_a_test(tmp_path: Path) -> None:
    data = import_test(_write(tmp_path / "weat1.jsonl", SENT_BIAS))
    test = load_test(data)
    assert test.name == "weat1"
    assert test.title == "Flowers v Insects, Pleasant v Unpleasant"
    assert [getattr(test, slot).words for slot in "XYAB"] == [tuple(g["examples"]) for g in SENT_BIAS.values()]
    assert test.X.name == "weat1/flowers"
    assert test.source is not None
    assert test.source.place == "weat1.jsonl (sent-bias)"


def test_sent_bias_may_be_one_object_a_line(tmp_path: Path) -> None:
    path = tmp_path / "weat1.jsonl"
    path.write_text("\n".join(json.dumps({k: v}) for k, v in SENT_BIAS.items()) + "\n\n", encoding="utf-8")
    assert import_test(path) == import_test(_write(path, SENT_BIAS))


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_wefe_query_becomes_a_test(tmp_path: Path, suffix: str) -> None:
    test = load_test(import_test(_write(tmp_path / f"query{suffix}", WEFE)))
    assert (test.name, test.title) == ("ethnicity-and-elan", "Ethnicity and Élan")
    assert (test.X.words, test.B.words) == (("Adam", "Chip"), ("hate", "on"))
    assert (test.A.kind, test.B.kind) == ("phrases", "words")
    names = [getattr(test, slot).name.split("/")[1] for slot in "XYAB"]
    assert names == ["names-1-x", "names-2", "names-1-a", "bad"]


def test_a_wefe_query_needs_no_names(tmp_path: Path) -> None:
    bare = {key: WEFE[key] for key in ("target_sets", "attribute_sets")}
    test = load_test(import_test(_write(tmp_path / "My Query.json", bare)))
    assert (test.name, test.title) == ("my-query", "X v Y, A v B")


def test_a_written_test_reads_back_the_same(tmp_path: Path) -> None:
    data = import_test(_write(tmp_path / "weat1.jsonl", SENT_BIAS))
    path = write_test(data, tmp_path / "deep" / "weat1.yaml")
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == data
    assert load_test(path) == load_test(data)


def test_writing_does_not_overwrite_unless_told(tmp_path: Path) -> None:
    data = import_test(_write(tmp_path / "weat1.jsonl", SENT_BIAS))
    path = write_test(data, tmp_path / "weat1.yaml")
    with pytest.raises(HarnessError, match=r"weat1\.yaml: the file exists"):
        write_test(data, path)
    assert write_test(data, path, overwrite=True) == path


def test_writing_checks_first(tmp_path: Path) -> None:
    data = import_test(_write(tmp_path / "weat1.jsonl", SENT_BIAS))
    with pytest.raises(HarnessError, match="Y"):
        write_test({k: v for k, v in data.items() if k != "Y"}, tmp_path / "weat1.yaml")
    assert not (tmp_path / "weat1.yaml").exists()
    with pytest.raises(HarnessError, match=r"must end in \.yaml"):
        write_test(data, tmp_path / "weat1.json")


def _without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in data.items() if k != key}


BROKEN: dict[str, tuple[object, str]] = {
    "missing set": (_without(SENT_BIAS, "attr2"), "attr2: is required and missing"),
    "set is a list": (SENT_BIAS | {"targ2": ["ant"]}, r"line \d+: targ2: must be an object .*, found list"),
    "no examples": (SENT_BIAS | {"targ2": {"category": "x"}}, r"targ2\.examples: is required and missing"),
    "empty examples": (SENT_BIAS | {"targ2": {"examples": []}}, r"targ2\.examples: .* not empty"),
    "a number": (SENT_BIAS | {"attr1": {"examples": ["a", 7]}}, r"attr1\.examples\[1\]: must be a word, found 7"),
    "a blank": (SENT_BIAS | {"attr1": {"examples": [" "]}}, r"attr1\.examples\[0\]: must be a word"),
    "three sets": (WEFE | {"target_sets": [["a"]] * 3}, r"line \d+: target_sets: must hold two sets, found 3"),
    "one set": (WEFE | {"attribute_sets": [["a"]]}, "attribute_sets: must hold two sets, found 1"),
    "flat set": (WEFE | {"attribute_sets": ["a", "b"]}, r"attribute_sets\[0\]: must be a list of words"),
    "no attributes": (_without(WEFE, "attribute_sets"), "attribute_sets: is required and missing"),
    "bad names": (WEFE | {"target_sets_names": "x"}, "target_sets_names: must be a list of two names"),
    "other keys": ({"a": 1, "b": 2}, "neither targ1, .* nor target_sets, .*; it has a, b"),
    "a list": ([1], "line 1: a JSON object is needed, found list|line 3: a JSON object is needed, found list"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_sentence(case: str, tmp_path: Path) -> None:
    data, sentence = BROKEN[case]
    with pytest.raises(HarnessError, match=sentence) as caught:
        import_test(_write(tmp_path / "broken.json", data))
    assert str(caught.value).startswith(str(tmp_path / "broken.json"))
    assert "\n" not in str(caught.value)


BROKEN_BYTES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "cut off": (b'{"targ1":\n {"category": "x"', "line 2: not valid JSON"),
    "no UTF-8": (b'{\n"targ1": "\xff"}', "line 2: not UTF-8"),
    "key twice": (b'{"targ1": 1,\n "targ1": 2}', "targ1: is given twice"),
    "two tests": (b'{"targ1": {}}\n{"targ1": {}}', "targ1: is given twice; a file holds one test"),
    "too deep": (b"[" * 100_000, "nested too deeply|not valid JSON"),
}


@pytest.mark.parametrize("case", BROKEN_BYTES)
def test_broken_bytes_are_one_sentence(case: str, tmp_path: Path) -> None:
    content, sentence = BROKEN_BYTES[case]
    path = tmp_path / "broken.jsonl"
    path.write_bytes(content)
    with pytest.raises(HarnessError, match=sentence):
        import_test(path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "weat1.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SENT_BIAS).encode())
    assert import_test(path)["name"] == "weat1"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("none.jsonl", "no such file"), ("x.txt", r"a \.jsonl, \.json or \.yaml file"), ("d.json", "cannot be read")],
)
def test_a_path_that_is_no_readable_file_is_one_sentence(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").mkdir()
    with pytest.raises(HarnessError, match=sentence):
        import_test(tmp_path / name)
