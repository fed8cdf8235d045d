"""Builds a corpus from files, on any number of workers, and goes on where an interrupted build stopped."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import queue
import shutil
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.corpus.manifest import SAMPLE, Manifest
from harness.corpus.merge import Part, Run, SamplePart, merge
from harness.corpus.patterns import Pattern, patterns_digest
from harness.corpus.readers import Reading, source_files
from harness.corpus.scan import Scanner, Share, Tally, scan_share
from harness.errors import HarnessError
from harness.progress import Advance, Progress, silent

_PLAN = "plan.json"
_OPEN_AT_ONCE = 200
_MANY_FILES = 4
"""With so many files a worker, each file is read by one worker alone."""
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
    parts = _planned(scratch, described, patterns, settings, workers=workers)
    shares = [
        Share(path, part, parts, scratch / f"share-{number:05}-{part:03}")
        for number, path in enumerate(files)
        for part in range(parts)
    ]
    total = sum(row["bytes"] for row in described)
    with progress(f"reading {name}", total) as advance:
        if workers <= 1:
            scanner = Scanner(patterns, k=settings.k, seed=settings.seed)
            for share in shares:
                scan_share(share, scanner, settings.reading, advance)
        else:
            _in_parallel(shares, patterns, settings, workers, advance)
    tally = Tally(hits=[0] * len(patterns))
    runs: list[Path] = []
    for share in shares:
        finished = Share(share.path, share.part, share.parts, share.folder)
        tally.update(_padded(finished.tally, len(patterns)))
        runs += [share.folder / run for run in finished.runs]
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
    files = [row for manifest in manifests for row in manifest.files]
    _refuse_twice(files)
    tally = Tally(hits=[0] * len(first.patterns))
    for manifest in manifests:
        tally.update(manifest.tally)
    united = Manifest(name, first.k, first.seed, first.window, first.searched, first.patterns, [], tally, files)
    scratch = folder / f".{name}.merging"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return _store(united, [SamplePart(shard / SAMPLE, first.patterns) for shard in shards], folder, scratch)


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


def _planned(
    scratch: Path, files: list[dict[str, Any]], patterns: tuple[Pattern, ...], settings: Settings, *, workers: int
) -> int:
    """Return into how many parts files are cut: as in an interrupted build of the same plan, else by their number."""
    reading = asdict(settings.reading) | {"bots": sorted(settings.reading.bots)}
    plan = {"files": files, "k": settings.k, "seed": settings.seed, "reading": reading}
    plan["searched"] = patterns_digest(patterns)
    if (scratch / _PLAN).is_file():
        known = json.loads((scratch / _PLAN).read_text(encoding="utf-8"))
        parts = int(known.pop("parts"))
        if known == plan:
            return parts
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    fresh = scratch / f"{_PLAN}.new"
    parts = workers if len(files) < _MANY_FILES * workers else 1
    fresh.write_text(json.dumps({**plan, "parts": parts}), encoding="utf-8")
    fresh.replace(scratch / _PLAN)
    return parts


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
        parts.append(SamplePart(path, patterns))
    return parts


def _store(manifest: Manifest, parts: Sequence[Part], folder: Path, scratch: Path) -> Manifest:
    fresh = folder / f".{manifest.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    manifest.kept = merge(parts, manifest.patterns, fresh / SAMPLE, k=manifest.k)
    with (fresh / SAMPLE).open("rb") as file:
        manifest.digest = hashlib.file_digest(file, "sha256").hexdigest()
    manifest.save(fresh)
    shutil.rmtree(folder / manifest.name, ignore_errors=True)
    fresh.rename(folder / manifest.name)
    shutil.rmtree(scratch, ignore_errors=True)
    return manifest


class _Worker:
    """What a worker process keeps between shares: the automaton, and the keys that it has seen."""

    scanner: Scanner
    reading: Reading
    read: Any


def _begin(patterns: tuple[Pattern, ...], settings: Settings, read: Any) -> None:
    _Worker.scanner = Scanner(patterns, k=settings.k, seed=settings.seed)
    _Worker.reading, _Worker.read = settings.reading, read


def _work(share: Share) -> None:
    scan_share(share, _Worker.scanner, _Worker.reading, _Worker.read.put)


def _in_parallel(
    shares: list[Share], patterns: tuple[Pattern, ...], settings: Settings, workers: int, advance: Advance
) -> None:
    context = multiprocessing.get_context("spawn")
    read = context.Queue()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(patterns, settings, read))
    with pool:
        waiting: set[Future[None]] = {pool.submit(_work, share) for share in shares}
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                _drain(read, advance)
                for future in done:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _drain(read: Any, advance: Advance) -> None:
    while True:
        try:
            advance(read.get_nowait())
        except queue.Empty:
            return
