"""A corpus in shards: shares of its files, each built by itself on any machine, then united to the corpus of all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.corpus.build import PLAN, Settings, build, describe, keep_or_begin, merge_corpora, plan_of
from harness.corpus.manifest import MANIFEST, Manifest
from harness.corpus.patterns import Pattern
from harness.corpus.readers import Reading, source_files
from harness.corpus.streams import Limits
from harness.errors import HarnessError


def plan_shards(
    name: str,
    sources: Sequence[str | Path],
    patterns: tuple[Pattern, ...],
    folder: Path,
    *,
    settings: Settings,
    shards: int,
) -> Path:
    """Write down what every shard reads, and return the folder of the plan; finished shards of the same plan stay."""
    settings.check()
    files = source_files(sources)
    if not 1 <= shards <= len(files):
        raise HarnessError(
            f"--shards {shards}: a shard is one file or more, and the sources hold {len(files)}; --workers shares a "
            "single file among processes."
        )
    described = [describe(path) for path in files]
    scratch = folder.resolve() / f".{name}.shards"
    plan = {
        **plan_of(described, patterns, settings),
        "window": settings.window,
        "patterns": [asdict(pattern) for pattern in patterns],
        "shards": dealt(described, shards),
    }
    keep_or_begin(scratch, plan)
    return scratch


def dealt(files: Sequence[dict[str, Any]], shards: int) -> list[list[str]]:
    """Deal files to shards: the largest first, each to the shard with the fewest bytes so far."""
    hands: list[list[str]] = [[] for _ in range(shards)]
    held = [0] * shards
    for file in sorted(files, key=lambda row: (-row["bytes"], row["path"])):
        number = min(range(shards), key=lambda n: (held[n], len(hands[n])))
        hands[number].append(file["path"])
        held[number] += file["bytes"]
    return hands


def build_shard(scratch: Path, number: int, *, workers: int = 1) -> None:
    """Build one shard of a plan, unless it is finished; a mistake is written beside it for whoever unites them."""
    place, mistake = _places(scratch, number)
    if (place / MANIFEST).is_file():
        return
    plan = json.loads((scratch / PLAN).read_text(encoding="utf-8"))
    reading = plan["reading"]
    settings = Settings(
        k=plan["k"],
        seed=plan["seed"],
        window=plan["window"],
        reading=Reading(**{**reading, "bots": frozenset(reading["bots"]), "limits": Limits(**reading["limits"])}),
    )
    patterns = tuple(Pattern(**{**row, "forms": tuple(row["forms"])}) for row in plan["patterns"])
    mistake.unlink(missing_ok=True)
    try:
        build(place.name, plan["shards"][number], patterns, scratch, settings=settings, workers=workers)
    except HarnessError as error:
        mistake.write_text(str(error), encoding="utf-8")


def unite_shards(name: str, scratch: Path, folder: Path) -> Manifest:
    """Unite the shards of a plan; if one is not finished, say why, and leave the others for the next time."""
    count = len(json.loads((scratch / PLAN).read_text(encoding="utf-8"))["shards"])
    places = []
    for number in range(count):
        place, mistake = _places(scratch, number)
        if not (place / MANIFEST).is_file():
            why = mistake.read_text(encoding="utf-8") if mistake.is_file() else "it was ended from outside."
            raise HarnessError(f"Shard {number} is not finished: {why} The same command goes on with what is missing.")
        places.append(place)
    manifest = merge_corpora(name, places, folder)
    shutil.rmtree(scratch)
    return manifest


def _places(scratch: Path, number: int) -> tuple[Path, Path]:
    place = scratch / f"shard-{number:05}"
    return place, place.with_suffix(".mistake")
