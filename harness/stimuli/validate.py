"""Check stimulus files: what no method should measure, and what a reader should know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import HarnessError
from harness.stimuli.load import load_test, read_test
from harness.stimuli.schema import AssociationTest, Concept, SingleTargetTest
from harness.stimuli.yaml_file import explain, read_yaml

ADVISED = 8
"""The papers advise at least eight stimuli a concept."""


@dataclass(frozen=True)
class Problem:
    """One finding: an error is refused when measured, a warning is for the reader."""

    level: Literal["error", "warning"]
    path: Path
    message: str


def validate(path: Path) -> tuple[int, list[Problem]]:
    """Check a file or every file of a folder; return how many were checked and what was found."""
    if not path.exists():
        raise HarnessError(f"{path}: there is no such file or folder.")
    files = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
    stimuli = next((parent for parent in [path, *path.parents] if (parent / "concepts").is_dir()), None)
    checked = 0
    problems: list[Problem] = []
    for file in files:
        try:
            data = read_yaml(file)
            if {"words", "folder", "manifest"} & set(data):
                problems += [Problem(level, file, text) for level, text in check_concept(_concept(data, file))]
            elif {"X", "W", "groups"} & set(data):
                for target in [None, *(read_test(file)[0].get("variants") or {})]:
                    test = load_test(file, target=target, stimuli=stimuli)
                    where = f"variant {target}: " if target else ""
                    if not isinstance(test, AssociationTest | SingleTargetTest):
                        continue
                    problems += [Problem(level, file, where + text) for level, text in check_test(test)]
            else:
                continue
            checked += 1
        except HarnessError as error:
            checked += 1
            problems.append(Problem("error", file, str(error)))
    return checked, list(dict.fromkeys(problems))


def _concept(data: dict[str, object], file: Path) -> Concept:
    from pydantic import ValidationError

    try:
        return Concept.model_validate(data)
    except ValidationError as error:
        raise explain(error, file) from None


Finding = tuple[Literal["error", "warning"], str]


def check_concept(concept: Concept) -> Iterator[Finding]:
    """Yield what is wrong with one concept."""
    repeated = sorted({word for word in concept.words if concept.words.count(word) > 1})
    if repeated:
        yield "error", f"{concept.name} lists {', '.join(repeated)} more than once"
    if not concept.words and concept.kind != "images":
        yield "error", f"{concept.name} holds no stimuli"
    elif len(concept.words) < ADVISED and concept.kind != "images":
        yield "warning", f"{concept.name} holds {len(concept.words)} stimuli; at least {ADVISED} are advised"
    if concept.source is None:
        yield "warning", f"{concept.name} has no source: say where the list comes from"
    if not concept.licence:
        yield "warning", f"{concept.name} has no licence note"


def check_test(test: AssociationTest | SingleTargetTest) -> Iterator[Finding]:
    """Yield what is wrong with the sets of one test, and with inline concepts."""
    slots = ("X", "Y", "A", "B") if isinstance(test, AssociationTest) else ("W", "A", "B")
    for slot in slots:
        concept: Concept = getattr(test, slot)
        if concept.name.startswith(f"{test.name}/"):
            yield from check_concept(concept)
    for left, right in (("X", "Y"), ("A", "B")):
        if left not in slots:
            continue
        one, other = getattr(test, left).words, getattr(test, right).words
        shared = sorted(set(one) & set(other))
        if shared:
            yield "error", f"{', '.join(shared)} stands in both {left} and {right}"
        if len(one) != len(other):
            yield "warning", f"{left} has {len(one)} stimuli, {right} has {len(other)}"
    if isinstance(test, SingleTargetTest):
        without = sorted(set(test.W.words) - set(test.W.properties))
        if without:
            yield "error", f"W has no {test.property_name} for {', '.join(without[:5])}"
    if test.source is None:
        yield "warning", "the test has no source: say where it comes from"
