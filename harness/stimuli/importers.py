"""Tests in the formats of other projects: sent-bias ``.jsonl`` and wefe-style queries."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from harness.errors import HarnessError
from harness.stimuli.load import load_test
from harness.stimuli.yaml_file import read_utf8, read_yaml

_SENT_BIAS = {"X": "targ1", "Y": "targ2", "A": "attr1", "B": "attr2"}
_WEFE = {"X": ("target_sets", 0), "Y": ("target_sets", 1), "A": ("attribute_sets", 0), "B": ("attribute_sets", 1)}


class _File:
    """A foreign file: its content, and complaints that say file, line and key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""
        if path.suffix not in {".json", ".jsonl", ".yaml", ".yml"}:
            raise HarnessError(f"{path}: a .jsonl, .json or .yaml file is needed.")
        if path.suffix in {".yaml", ".yml"}:
            self.data = read_yaml(path)
            self.text = path.read_text(encoding="utf-8")
            return
        self.text = read_utf8(path, encoding="utf-8-sig")
        self.data = self._json()

    def _json(self) -> dict[str, Any]:
        """Read the objects of the file, one or several after another, into one mapping."""
        decoder = json.JSONDecoder(object_pairs_hook=self._without_twins)
        merged: dict[str, Any] = {}
        position = 0
        while rest := self.text[position:].lstrip():
            position = len(self.text) - len(rest)
            try:
                value, position = decoder.raw_decode(self.text, position)
            except json.JSONDecodeError as error:
                raise HarnessError(f"{self.path}, line {error.lineno}: not valid JSON ({error.msg}).") from None
            except RecursionError:
                raise HarnessError(f"{self.path}: the JSON is nested too deeply for a test.") from None
            if not isinstance(value, dict):
                line = self.text.count("\n", 0, position) + 1
                raise HarnessError(f"{self.path}, line {line}: a JSON object is needed, found {type(value).__name__}.")
            merged = self._without_twins([*merged.items(), *value.items()])
        if not merged:
            raise HarnessError(f"{self.path}: the file is empty.")
        return merged

    def _without_twins(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                self.refuse(key, "is given twice; a file holds one test")
        return dict(pairs)

    def refuse(self, key: str, what: str) -> NoReturn:
        """Raise the sentence about a key, with the line on which the key stands."""
        leaf = re.escape(re.sub(r"\[\d+\]", "", key).split(".")[0])
        found = re.search(rf"^.*?(\"{leaf}\"|\b{leaf}\b)\s*:", self.text, flags=re.MULTILINE)
        line = f", line {self.text.count(chr(10), 0, found.end()) + 1}" if found else ""
        raise HarnessError(f"{self.path}{line}: {key}: {what}.")

    def get(self, key: str, kind: type, of: str) -> Any:
        """Return the value under a key of the top level, which must be of a kind."""
        if key not in self.data:
            self.refuse(key, "is required and missing")
        value = self.data[key]
        if not isinstance(value, kind):
            self.refuse(key, f"must be {of}, found {type(value).__name__}")
        return value

    def words(self, key: str, value: object) -> list[str]:
        """Return a non-empty list of texts, or refuse it."""
        if not isinstance(value, list) or not value:
            self.refuse(key, "must be a list of words that is not empty")
        for index, word in enumerate(value):
            if not isinstance(word, str) or not word.strip():
                self.refuse(f"{key}[{index}]", f"must be a word, found {word!r}; put it in quotes")
        return [word.strip() for word in value]


def _slug(text: str, default: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_.-]+", "-", plain).strip("-._") or default


def _test(name: str, title: str, place: str, sets: dict[str, tuple[str, list[str]]]) -> dict[str, Any]:
    labels = [_slug(label, slot.lower()) for slot, (label, _) in sets.items()]
    concepts = {}
    for (slot, (_, words)), label in zip(sets.items(), labels, strict=True):
        unique = label if labels.count(label) == 1 else f"{label}-{slot.lower()}"
        concept: dict[str, Any] = {"name": f"{name}/{unique}"}
        if any(" " in word for word in words):
            concept["kind"] = "phrases"
        concepts[slot] = {**concept, "words": words, "source": {"paper": "imported", "place": place}}
    return {
        "kind": "association",
        "name": name,
        "version": 1,
        "title": title,
        **concepts,
        "family": "imported",
        "source": {"paper": "imported", "place": place},
    }


def _from_sent_bias(file: _File) -> dict[str, Any]:
    sets = {}
    for slot, key in _SENT_BIAS.items():
        group = file.get(key, dict, "an object with category and examples")
        if "examples" not in group:
            file.refuse(f"{key}.examples", "is required and missing")
        sets[slot] = (str(group.get("category") or slot), file.words(f"{key}.examples", group["examples"]))
    title = "{} v {}, {} v {}".format(*(label for label, _ in sets.values()))
    return _test(_slug(file.path.stem, "test"), title, f"{file.path.name} (sent-bias)", sets)


def _from_wefe(file: _File) -> dict[str, Any]:
    sets = {}
    for slot, (key, index) in _WEFE.items():
        groups = file.get(key, list, "a list of two lists")
        if len(groups) != 2:
            file.refuse(key, f"must hold two sets, found {len(groups)}; a test here has two of each")
        names = file.data.get(f"{key}_names") or (["X", "Y"] if key == "target_sets" else ["A", "B"])
        if not isinstance(names, list) or len(names) != 2:
            file.refuse(f"{key}_names", "must be a list of two names")
        sets[slot] = (str(names[index]), file.words(f"{key}[{index}]", groups[index]))
    title = "{} v {}, {} v {}".format(*(label for label, _ in sets.values()))
    query = str(file.data.get("query_name") or "")
    return _test(_slug(query or file.path.stem, "test"), query or title, f"{file.path.name} (wefe)", sets)


def import_test(path: str | Path) -> dict[str, Any]:
    """Read a foreign test and return the content of a test file of ours, concepts inline.

    Parameters
    ----------
    path
        A sent-bias test (``.jsonl`` or ``.json`` with targ1, targ2, attr1, attr2, each with category and examples) or
        a wefe-style query (``.json`` or ``.yaml`` with target_sets and attribute_sets, two lists each, and optionally
        target_sets_names, attribute_sets_names, query_name).
    """
    file = _File(Path(path))
    if any(key in file.data for key in _SENT_BIAS.values()):
        return _from_sent_bias(file)
    if "target_sets" in file.data or "attribute_sets" in file.data:
        return _from_wefe(file)
    keys = ", ".join(map(str, list(file.data)[:6]))
    raise HarnessError(
        f"{file.path}: neither targ1, targ2, attr1, attr2 (sent-bias) nor target_sets, attribute_sets (wefe) are in "
        f"it; it has {keys}."
    )


def write_test(test: Mapping[str, Any], path: str | Path, *, overwrite: bool = False) -> Path:
    """Check the content of a test file and write it as YAML."""
    path = Path(path)
    if path.suffix not in {".yaml", ".yml"}:
        raise HarnessError(f"{path}: the file to write must end in .yaml.")
    if path.exists() and not overwrite:
        raise HarnessError(f"{path}: the file exists; remove it, or name another.")
    load_test(test)
    text = yaml.safe_dump(dict(test), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HarnessError(f"{path}: cannot be written ({error.strerror}).") from None
    return path
