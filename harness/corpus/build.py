"""Builds a corpus from files, on any number of workers, and goes on where an interrupted build stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.corpus.manifest import SAMPLE, Manifest
from harness.corpus.merge import Part, Run, Sample, SamplePart, merge, sample_of
from harness.corpus.patterns import Pattern, patterns_digest
from harness.corpus.readers import Reading, source_files
from harness.corpus.scan import Tally, shares_of
from harness.corpus.workers import read_all
from harness.errors import HarnessError
from harness.progress import Progress, silent

PLAN = "plan.json"
_LAYOUT = 3
"""Of what lies in the folder of an unfinished build."""
_OPEN_AT_ONCE = 200
_EDGE = 1 << 16


@dataclass(frozen=True)
class Settings:
    """What determines a sample: how many contexts a stimulus has, the seed of the keys, how files are read."""

    k: int = 10_000
    seed: int = 0
    window: int = 4
    reading: Reading = field(default_factory=Reading)

    def check(self) -> None:
        """Raise one sentence for a number that makes no sense."""
        if self.k < 1:
            raise HarnessError(f"--k {self.k}: a stimulus needs at least one context.")
        if self.window < 0:
            raise HarnessError(f"--window {self.window}: is a number of words on each side, or 0 for the sentence.")


def build(
    name: str,
    sources: Sequence[str | Path],
    patterns: tuple[Pattern, ...],
    folder: Path,
    *,
    settings: Settings | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Manifest:
    """Read files once, keep a sample of the contexts of every stimulus, and return what was found.

    Parameters
    ----------
    name
        What the corpus is called; an older one of this name is replaced when the new one is whole.
    sources
        Files, or folders of files.
    patterns
        The stimuli (`harness.corpus.patterns.compile_patterns`).
    folder
        Where corpora are kept.
    settings
        Size of the sample, seed, window, reading.
    workers
        Processes; their number does not change the sample.
    progress
        Shows the bytes read.
    """
    settings = settings or Settings()
    settings.check()
    files = source_files(sources)
    described = [describe(path) for path in files]
    _refuse_twice(described)
    scratch = folder / f".{name}.building"
    keep_or_begin(scratch, plan_of(described, patterns, settings))
    total = sum(row["bytes"] for row in described)
    with progress(f"reading {name}", total) as advance:
        read_all(
            files,
            patterns,
            scratch,
            k=settings.k,
            seed=settings.seed,
            reading=settings.reading,
            workers=workers,
            advance=advance,
        )
    tally = Tally(hits=[0] * len(patterns))
    runs: list[Path] = []
    for share in [share for number in range(len(files)) for share in shares_of(scratch, number)]:
        tally.update(_padded(share.tally, len(patterns)))
        runs += [share.folder / run for run in share.runs]
    manifest = Manifest(
        name,
        settings.k,
        settings.seed,
        settings.window,
        patterns_digest(patterns),
        list(patterns),
        [],
        tally,
        described,
    )
    return _store(manifest, _compacted(runs, patterns, scratch, k=settings.k), folder, scratch)


def merge_corpora(name: str, shards: Sequence[Path], folder: Path) -> Manifest:
    """Unite corpora that searched for the same stimuli with the same seed: exactly the corpus of all their files."""
    manifests = [Manifest.load(shard) for shard in shards]
    first, others = manifests[0], manifests[1:]
    for shard, other in zip(shards[1:], others, strict=True):
        if (other.searched, other.seed) != (first.searched, first.seed):
            what = "for other stimuli" if other.seed == first.seed else "with another seed"
            raise HarnessError(f"{shard} was searched {what} than {shards[0]}; build both alike, then merge.")
        if other.k != first.k:
            raise HarnessError(f"{shard} keeps {other.k:,} contexts, {shards[0]} {first.k:,}; build both with one --k.")
        if other.window != first.window:
            raise HarnessError(
                f"{shard} has a window of {other.window}, {shards[0]} one of {first.window}; build with one --window."
            )
    files = [row for manifest in manifests for row in manifest.files]
    _refuse_twice(files)
    tally = Tally(hits=[0] * len(first.patterns))
    for manifest in manifests:
        tally.update(manifest.tally)
    united = Manifest(name, first.k, first.seed, first.window, first.searched, first.patterns, [], tally, files)
    scratch = folder / f".{name}.merging"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    samples = [sample_of(shard / SAMPLE, digest=own.digest) for shard, own in zip(shards, manifests, strict=True)]
    return _store(united, [SamplePart(sample, first.patterns) for sample in samples], folder, scratch)


def describe(path: Path) -> dict[str, Any]:
    """Return what a file is known by: its path, size, and a digest of its beginning and its end."""
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        digest.update(file.read(_EDGE))
        file.seek(max(size - _EDGE, 0))
        digest.update(file.read(_EDGE))
    return {"path": str(path), "bytes": size, "edges": digest.hexdigest()}


def _refuse_twice(files: Sequence[dict[str, Any]]) -> None:
    seen: dict[str, str] = {}
    for row in files:
        if row["bytes"] and row["edges"] in seen:
            raise HarnessError(f"{row['path']} is the same file as {seen[row['edges']]}; its texts would count twice.")
        seen[row["edges"]] = row["path"]


def plan_of(files: list[dict[str, Any]], patterns: tuple[Pattern, ...], settings: Settings) -> dict[str, Any]:
    """Return what decides which contexts are kept, as plain data."""
    reading = asdict(settings.reading) | {"bots": sorted(settings.reading.bots)}
    plan = {"files": files, "k": settings.k, "seed": settings.seed, "reading": reading}
    return {**plan, "searched": patterns_digest(patterns), "layout": _LAYOUT}


def keep_or_begin(scratch: Path, plan: dict[str, Any]) -> None:
    """Keep what an interrupted build of the same plan has done; else begin anew."""
    written = json.dumps(plan)
    if (scratch / PLAN).is_file() and (scratch / PLAN).read_text(encoding="utf-8") == written:
        return
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    fresh = scratch / f"{PLAN}.new"
    fresh.write_text(written, encoding="utf-8")
    fresh.replace(scratch / PLAN)


def _padded(tally: Tally, patterns: int) -> Tally:
    tally.hits = tally.hits or [0] * patterns
    return tally


def _compacted(runs: list[Path], patterns: tuple[Pattern, ...], scratch: Path, *, k: int) -> list[Part]:
    """Unite runs in groups until they can all be open at once."""
    if len(runs) <= _OPEN_AT_ONCE:
        return [Run(run) for run in runs]
    parts: list[Part] = []
    for number, first in enumerate(range(0, len(runs), _OPEN_AT_ONCE)):
        path = scratch / f"group-{number:05}.parquet"
        merge([Run(run) for run in runs[first : first + _OPEN_AT_ONCE]], patterns, path, k=k)
        parts.append(SamplePart(Sample(path), patterns))
    return parts


def _store(manifest: Manifest, parts: Sequence[Part], folder: Path, scratch: Path) -> Manifest:
    fresh = folder / f".{manifest.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    manifest.kept, manifest.digest = merge(parts, manifest.patterns, fresh / SAMPLE, k=manifest.k)
    manifest.save(fresh)
    place, old = folder / manifest.name, folder / f".{manifest.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)  # whole until the new one is in its place: removing a large corpus takes time
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(scratch, ignore_errors=True)
    return manifest
