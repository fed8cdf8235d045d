"""Files that take their place whole: a killed process leaves the old one or the new one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: Path, *, prefix: str = ".", binary: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` that takes its place once all is written.

    It has the permissions of any other file, as the umask says: those of ``tempfile`` are for its owner alone, and
    runs are shared by the people of a project.
    """
    temporary = path.with_name(f"{prefix}{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") if binary else temporary.open("x", encoding="utf-8") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, text: str) -> None:
    """Write a text to a temporary name and rename it once."""
    with replacing(path) as file:
        file.write(text)
