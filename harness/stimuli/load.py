"""Find and read concepts and tests: by name, by file, or given inline."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import HarnessError, did_you_mean
from harness.natural import natural_key
from harness.paths import stimuli_dir, user_conf_dir
from harness.stimuli.schema import AssociationTest, Concept, DetectionTask, SingleTargetTest, Test, ValenceTest
from harness.stimuli.yaml_file import explain, read_yaml


class NoVariantError(HarnessError):
    """The test exists, but not with these targets."""


_KINDS: dict[str, type[AssociationTest] | type[SingleTargetTest] | type[DetectionTask] | type[ValenceTest]] = {
    "association": AssociationTest,
    "single": SingleTargetTest,
    "detection": DetectionTask,
    "valence": ValenceTest,
}
_SLOTS = {
    "association": ("X", "Y", "A", "B"),
    "single": ("W", "A", "B"),
    "detection": ("universe",),
    "valence": ("W", "A", "B"),
}
_CONCEPT: TypeAdapter[Concept] = TypeAdapter(Concept)


def stimuli_roots(extra: str | Path | None = None) -> tuple[Path, ...]:
    """Return the folders searched for concepts, tests and templates: a user's first, then the shipped one."""
    given = [extra, os.environ.get("HARNESS_STIMULI")]
    roots = [Path(g).expanduser().resolve() for g in given if g]
    for root in roots:
        if not root.is_dir():
            raise HarnessError(f"{root}: the folder of stimuli does not exist; set paths.stimuli to one that does.")
    return (*roots, stimuli_dir())


@cache
def _test_files(roots: tuple[Path, ...]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    user = user_conf_dir()
    folders = ([user / "test"] if user else []) + [root / "tests" for root in roots]
    for folder in folders:
        for path in sorted(folder.rglob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


@cache
def _concept_files(roots: tuple[Path, ...]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for root in roots:
        for path in sorted((root / "concepts").rglob("*.yaml")):
            files.setdefault(path.relative_to(root / "concepts").with_suffix("").as_posix(), path)
    return files


def test_files(extra: str | Path | None = None) -> dict[str, Path]:
    """Return the file of every test by the test's name."""
    return dict(_test_files(stimuli_roots(extra)))


def test_names(extra: str | Path | None = None) -> list[str]:
    """Return the names of all tests."""
    return sorted(_test_files(stimuli_roots(extra)), key=natural_key)


def concept_names(extra: str | Path | None = None) -> list[str]:
    """Return the names of all concepts."""
    return sorted(_concept_files(stimuli_roots(extra)))


@cache
def _concept_by_name(name: str, roots: tuple[Path, ...]) -> Concept:
    files = _concept_files(roots)
    if name not in files:
        raise HarnessError(f"There is no concept named {name!r}.{did_you_mean(name, files)}")
    path = files[name]
    concept = _concept_from(read_yaml(path), origin=path, default_name=name, home=path.parent)
    if concept.name != name:
        raise HarnessError(f"{path}: name: is {concept.name!r}, but the file's place makes it {name!r}.")
    return concept


def _concept_from(data: Mapping[str, Any], *, origin: Path | str, default_name: str, home: Path) -> Concept:
    if data.get("folder") or data.get("manifest"):
        data = {"kind": "images", **data, "home": str(home)}
    try:
        return _CONCEPT.validate_python({"name": default_name, **data})
    except ValidationError as error:
        raise explain(error, origin) from None


def load_concept(name: str, *, stimuli: str | Path | None = None) -> Concept:
    """Return the concept of that name, such as ``caliskan2017/flowers``."""
    return _concept_by_name(name, stimuli_roots(stimuli))


def _image_names(data: Mapping[str, Any], slots: Sequence[str], test: str) -> dict[str, str]:
    """Return names for concepts of images that a test gives inline: that of the folder, where no other has the same."""
    found: dict[str, str] = {}
    for slot in slots:
        value = data.get(slot)
        if isinstance(value, Mapping) and (place := value.get("folder") or value.get("manifest")):
            plain = re.sub(r"[^a-z0-9_.-]+", "_", Path(str(place)).stem.lower()).strip("_.-")
            found[slot] = f"{test}/{plain}" if plain else ""
    names = list(found.values())
    return {slot: name for slot, name in found.items() if name and names.count(name) == 1}


def _resolve(
    value: object, *, test: str, slot: str, origin: Path | str, roots: tuple[Path, ...], name: str | None = None
) -> Concept:
    where = f"{origin}: {slot}"
    if isinstance(value, str):
        try:
            return _concept_by_name(value, roots)
        except HarnessError as error:
            raise HarnessError(f"{where}: {error}") from None
    inline_name = name or f"{test}/{slot.lower()}"
    if isinstance(value, Sequence):
        value = {"words": list(value)}
    if isinstance(value, Mapping):
        home = origin.parent if isinstance(origin, Path) else Path()
        return _concept_from(value, origin=where, default_name=inline_name, home=home)
    raise HarnessError(
        f"{where}: a list of words, a concept's name, or a mapping with `words`, `folder` or `manifest` is needed."
    )


def variant_names(data: Mapping[str, Any]) -> list[str]:
    """Return the variants that a test's file offers to ``target=``."""
    return list(data.get("variants") or {})


def read_test(
    ref: str | Path | Mapping[str, Any], *, stimuli: str | Path | None = None
) -> tuple[dict[str, Any], Path | str]:
    """Return the raw mapping of a test and where it came from (a file or ``the config``)."""
    roots = stimuli_roots(stimuli)
    if isinstance(ref, Mapping):
        return dict(ref), f"test {ref.get('name', '(no name)')}"
    files = _test_files(roots)
    path = Path(ref)
    if path.suffix in {".yaml", ".yml"}:
        return {"name": path.stem.lower(), **read_yaml(path)}, path
    if str(ref) not in files:
        raise HarnessError(
            f"There is no test named {str(ref)!r}.{did_you_mean(str(ref), files)} `harness ls tests` shows all."
        )
    return {"name": path.name, **read_yaml(files[str(ref)])}, files[str(ref)]


def load_test(
    ref: str | Path | Mapping[str, Any], *, target: str | None = None, stimuli: str | Path | None = None
) -> Test:
    """Return a test with its concepts.

    Parameters
    ----------
    ref
        A name (``c1``), the path of a YAML file, or the file's content as a mapping.
    target
        A variant of the test, such as ``names``, ``terms`` or ``word2vec``; None for the lists of the base.
    stimuli
        A folder of one's own stimuli, searched before the shipped ones.
    """
    roots = stimuli_roots(stimuli)
    data, origin = read_test(ref, stimuli=stimuli)
    name = str(data.get("name", "test"))
    variants = data.pop("variants", None) or {}
    if target is not None:
        if target not in variants:
            offered = f"it has {', '.join(variants)}" if variants else "it has no variants"
            raise NoVariantError(f"Test {name} has no variant {target!r}: {offered}; target=null takes its base lists.")
        data |= variants[target] or {}
    kind = data.get("kind") or ("single" if "W" in data else "detection" if "groups" in data else "association")
    if kind not in _KINDS:
        raise HarnessError(f"{origin}: kind: {kind!r} is not one of {', '.join(_KINDS)}.")
    names = _image_names(data, _SLOTS[kind], name)
    for slot in _SLOTS[kind]:
        if slot in data:
            data[slot] = _resolve(data[slot], test=name, slot=slot, origin=origin, roots=roots, name=names.get(slot))
    if kind == "detection":
        data["groups"] = {
            key: _resolve(value, test=name, slot=f"groups.{key}", origin=origin, roots=roots)
            for key, value in (data.get("groups") or {}).items()
        }
        data["positives"] = {
            task: {
                key: _resolve(value, test=name, slot=f"positives.{task}.{key}", origin=origin, roots=roots)
                for key, value in groups.items()
            }
            for task, groups in (data.get("positives") or {}).items()
        }
    try:
        return _KINDS[kind].model_validate({"title": name, **data, "kind": kind})
    except ValidationError as error:
        raise explain(error, origin) from None


@cache
def all_words(extra: str | Path | None = None) -> frozenset[str]:
    """Return every word of every concept with its other spellings: what a large vector file is filtered to."""
    roots = stimuli_roots(extra)
    words: set[str] = set()
    for name in _concept_files(roots):
        concept = _concept_by_name(name, roots)
        words.update(concept.words)
        words.update(form for forms in concept.fallbacks.values() for form in forms)
    return frozenset(words)
