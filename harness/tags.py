"""A user's own names for cells: ``tag=NAME`` of a run or sweep puts its cells on the list of that name.

A tag says what was asked for and not what was measured: no part of a fingerprint, and a cell that was measured before
stands under every tag under which it was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, did_you_mean


def checked_tag(tag: str) -> str:
    """Return a tag that can name a file, or raise."""
    if not re.fullmatch(r"\w[\w.-]*", tag):
        raise HarnessError(f"tag={tag}: is made of letters, digits, '-', '_' and '.', and begins with none of - and .")
    return tag


def tag_cells(runs: Path, tag: str, factors: Mapping[str, Mapping[str, Any]]) -> None:
    """Add cells, by fingerprint with their factors, to the list of a tag."""
    path = _list(runs, checked_tag(tag))
    path.parent.mkdir(parents=True, exist_ok=True)
    known = _read(path)
    lines = [
        json.dumps({"fingerprint": key, "factors": dict(asked)}, ensure_ascii=False) + "\n"
        for key, asked in factors.items()
        if known.get(key) != asked
    ]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def tag_factors(runs: Path, tag: str) -> dict[str, dict[str, Any]]:
    """Return the factors of every cell that was asked for under a tag, by fingerprint, in the order asked."""
    known = sorted(path.stem for path in (runs / "tags").glob("*.jsonl"))
    if tag not in known:
        listed = f"There are {', '.join(known)}." if known else "`harness run tag=NAME` gives one."
        raise HarnessError(f"No cell has the tag {tag!r} under {runs}.{did_you_mean(tag, known)} {listed}")
    return _read(_list(runs, tag))


def _list(runs: Path, tag: str) -> Path:
    return runs / "tags" / f"{tag}.jsonl"


def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError:
        raise HarnessError(f"{path} is broken: delete it, and ask for its cells again under this tag.") from None
    return {row["fingerprint"]: row["factors"] for row in rows}
