"""Progress of a long read, download or encoding: a context that is told how many bytes or texts are done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from harness.files import write_atomically

Advance = Callable[[int], None]


class Progress(Protocol):
    """Opens a progress display and gives the function that moves it on by a number of bytes, or of texts."""

    def __call__(self, description: str, total: int | None) -> AbstractContextManager[Advance]:
        """Begin to show ``description``, of ``total`` bytes or texts if that is known."""


@contextmanager
def silent(description: str, total: int | None) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda _: None


@contextmanager
def bar(description: str, total: int | None) -> Iterator[Advance]:
    """Show a bar with bytes, speed and time left on standard error, if that is a terminal; gone when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:
        task = display.add_task(description, total=total)
        yield lambda done: display.advance(task, done)


@contextmanager
def texts_bar(description: str, total: int | None) -> Iterator[Advance]:
    """Show a bar with texts, texts a second and time left on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:.0f} texts/s")

    console = Console(stderr=True)
    speed = Speed(table_column=Column(no_wrap=True))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
    with RichProgress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:
        task = display.add_task(description, total=total)
        yield lambda done: display.advance(task, done)


@dataclass(frozen=True)
class TextState:
    """How far the encoding of one worker is; ``finished`` when it has ended."""

    description: str
    total: int
    done: int
    seconds: float
    finished: bool = False

    @classmethod
    def read(cls, path: Path) -> TextState | None:
        """Return what a worker wrote last."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def written_to(path: Path, *, every: float = 0.2) -> Progress:
    """Return a display that writes a `TextState` to a file, for another process to show."""

    @contextmanager
    def shown(description: str, total: int | None) -> Iterator[Advance]:
        started = last = time.monotonic()
        done = 0

        def write(*, finished: bool = False) -> None:
            state = TextState(description, total or 0, done, time.monotonic() - started, finished)
            write_atomically(path, json.dumps(asdict(state)))

        def advance(more: int) -> None:
            nonlocal done, last
            done += more
            if time.monotonic() - last >= every:
                last = time.monotonic()
                write()

        write()
        try:
            yield advance
        finally:
            write(finished=True)

    return shown
