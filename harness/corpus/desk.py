"""Who reads what: workers claim blocks of files from one desk, so that none waits and none reads what another has."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterable, Iterator, MutableSequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.corpus.streams import Claim

_TRIM, _MAP = -1, -3
"""glibc's names for two settings of ``mallopt``."""


@dataclass
class Desk:
    """The next free block of every file; with many files a worker takes a file whole.

    A claim is granted if nobody has claimed this block or a later one. Every reader goes through the blocks in order,
    so that whoever claims a later one has met all before it: none is lost, and none is read twice.
    """

    scratch: Path
    next: MutableSequence[int]
    lock: AbstractContextManager[object] = field(default_factory=threading.Lock)
    slot: int = 0
    whole: bool = True

    def open(self, number: int) -> bool:
        """Tell whether there is anything to claim of a file; if files are taken whole, take it."""
        if not self.whole:
            return True
        with self.lock:
            free, self.next[number] = not self.next[number], 1
        return free

    def claim(self, number: int, done: Iterable[tuple[int, int]]) -> Claim:
        """Return what decides which blocks of a file are read here; ``done`` are spans that were read earlier."""
        read = {block for first, last in done for block in range(first, last)}

        def granted(block: int) -> bool:
            if not self.whole:
                with self.lock:
                    if block < self.next[number]:
                        return False
                    self.next[number] = block + 1
            return block not in read

        return granted


@contextmanager
def collector_paused() -> Iterator[None]:
    """Let nobody look for cycles while millions of small tuples come and go."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def keep_freed_memory() -> None:
    """Ask glibc not to give freed blocks back to the system, which clears every page when they are wanted again."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_MAP, 32 << 20)
    mallopt(_TRIM, 256 << 20)
