"""What there is to choose from, read from file names and the head of each file; nothing heavy is imported."""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, did_you_mean
from harness.methods import METHODS
from harness.paths import config_files
from harness.stimuli import load_test, read_test, test_names
from harness.stimuli.yaml_file import read_yaml

KINDS = ("models", "tests", "methods", "experiments", "stats")

GROUPS = {"models": "model", "experiments": "experiment", "stats": "stats"}
"""The kinds that are files of a Hydra group, and the group."""


def kind_named(name: str) -> str:
    """Return the kind that a user meant: singular or plural."""
    for kind in KINDS:
        if name in {kind, kind.removesuffix("s")}:
            return kind
    raise HarnessError(f"There is nothing called {name!r}: give one of {', '.join(KINDS)}.{did_you_mean(name, KINDS)}")


def rows(kind: str) -> list[dict[str, Any]]:
    """Return one row for each thing of a kind."""
    if kind == "tests":
        return [_test_row(name) for name in test_names()]
    if kind == "methods":
        return [
            {"name": spec.name, "measures": spec.summary, "papers": ", ".join(spec.papers), "tests": spec.test_kind}
            for spec in METHODS.values()
        ]
    group = GROUPS[kind]
    found = []
    for name, path in config_files(group).items():
        data = read_yaml(path)
        row = {"name": name, "description": data.get("description") or _first_comment(path)}
        if kind == "models":
            row = {"name": name, "kind": data.get("kind", ""), "description": row["description"]}
        found.append(row)
    return found


def _test_row(name: str) -> dict[str, Any]:
    data, _ = read_test(name)
    return {
        "name": name,
        "title": data.get("title", name),
        "paper": (data.get("source") or {}).get("paper", ""),
        "targets": ", ".join(data.get("variants") or {}),
    }


def _first_comment(path: Path) -> str:
    """Return the first sentence of the comment at the head of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = takewhile(lambda line: line.startswith("#"), dropwhile(lambda line: line.startswith("# @"), lines))
    text = " ".join(line.lstrip("# ").strip() for line in comment)
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def details(kind: str, name: str, *, target: str | None = None) -> dict[str, Any]:
    """Return everything about one thing."""
    if kind == "tests":
        data, _ = read_test(name)
        test = load_test(name, target=target).model_dump(exclude_defaults=False)
        return {**test, "variants": list(data.get("variants") or {})}
    if kind == "methods":
        known = {row["name"]: row for row in rows("methods")}
        if name not in known:
            raise HarnessError(f"There is no method named {name!r}.{did_you_mean(name, known)}")
        return known[name]
    group = GROUPS[kind]
    files = config_files(group)
    if name not in files:
        raise HarnessError(f"There is no {group} named {name!r}.{did_you_mean(name, files)}")
    data = read_yaml(files[name])
    if kind == "stats":
        from dataclasses import asdict

        from harness.options import StatsOptions

        return asdict(StatsOptions(**data))
    return data if "description" in data else {"description": _first_comment(files[name]), **data}
