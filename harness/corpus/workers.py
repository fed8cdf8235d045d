"""Any number of processes read one corpus; the one that was started reads too."""

from __future__ import annotations

import ctypes
import multiprocessing
import queue
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.corpus.desk import Desk, keep_freed_memory
from harness.corpus.patterns import Pattern
from harness.corpus.readers import Reading
from harness.corpus.scan import Scanner, scan_files
from harness.errors import HarnessError
from harness.progress import Advance

_MANY_FILES = 4
"""With so many files a worker, each file is read by one worker alone."""


def read_all(
    files: Sequence[Path],
    patterns: tuple[Pattern, ...],
    scratch: Path,
    *,
    k: int,
    seed: int,
    reading: Reading,
    workers: int,
    advance: Advance,
) -> None:
    """Scan what is not read yet; runs and tallies are left in ``scratch``."""
    keep_freed_memory()
    if workers <= 1:
        scan_files(files, Desk(scratch, [0] * len(files)), Scanner(patterns, k=k, seed=seed), reading, advance)
        return
    context = multiprocessing.get_context("spawn")
    claims: Any = context.Array("q", max(len(files), 1))
    known: Any = context.RawArray(ctypes.c_uint64, max(len(patterns), 1))
    told = context.Queue()
    thresholds = np.frombuffer(known, dtype=np.uint64)
    thresholds[:] = np.iinfo(np.uint64).max
    desk = Desk(scratch, claims, claims.get_lock(), whole=len(files) >= _MANY_FILES * workers)
    chosen = {"k": k, "seed": seed}
    others = [
        context.Process(
            target=_work, args=(slot, files, patterns, desk.whole, scratch, claims, known, told, reading, chosen)
        )
        for slot in range(1, workers)
    ]
    for process in others:
        process.start()

    def heard(count: int) -> None:
        advance(count)
        _listen(told, advance)

    try:
        scan_files(files, desk, Scanner(patterns, **chosen, known=thresholds[: len(patterns)]), reading, heard)
        while any(process.is_alive() for process in others):
            _listen(told, advance, wait=0.05)
        _listen(told, advance, wait=0.05)
    finally:
        for process in others:
            process.terminate()
            process.join()
    if any(process.exitcode for process in others):
        raise HarnessError("A worker was ended from outside; run the same command again to go on where it stopped.")


def _work(
    slot: int,
    files: Sequence[Path],
    patterns: tuple[Pattern, ...],
    whole: bool,
    scratch: Path,
    claims: Any,
    known: Any,
    told: Any,
    reading: Reading,
    chosen: dict[str, int],
) -> None:
    keep_freed_memory()
    try:
        desk = Desk(scratch, claims, claims.get_lock(), slot=slot, whole=whole)
        thresholds = np.frombuffer(known, dtype=np.uint64)[: len(patterns)]
        scan_files(files, desk, Scanner(patterns, **chosen, known=thresholds), reading, told.put)
    except HarnessError as error:
        told.put(error)
    except Exception:
        told.put(RuntimeError(traceback.format_exc()))


def _listen(told: Any, advance: Advance, wait: float = 0.0) -> None:
    """Pass on what other workers have read; an error of theirs is raised here."""
    try:
        while True:
            word = told.get(timeout=wait) if wait else told.get_nowait()
            if isinstance(word, Exception):
                raise word
            advance(word)
    except queue.Empty:
        return
