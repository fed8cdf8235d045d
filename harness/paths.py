"""Where the shipped data and a user's own files are, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from harness.errors import HarnessError

_PACKAGE = Path(__file__).resolve().parent


@cache
def _data(name: str) -> Path:
    shipped = _PACKAGE / "_data" / name
    return shipped if shipped.is_dir() else _PACKAGE.parent / name


def conf_dir() -> Path:
    """Return the folder of Hydra's config groups."""
    return _data("conf")


def stimuli_dir() -> Path:
    """Return the folder of the shipped stimuli."""
    return _data("stimuli")


def user_conf_dir() -> Path | None:
    """Return the folder that ``HARNESS_CONF`` names: a user's models, tests and experiments."""
    value = os.environ.get("HARNESS_CONF")
    return Path(value).expanduser().resolve() if value else None


def writable(folder: Path) -> Path:
    """Make a folder if need be and return it; one sentence if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        reason = f"{folder}: nothing can be written there ({error.strerror})"
        raise HarnessError(f"{reason}; set paths.runs or HARNESS_RUNS to another folder.") from None


def runs_dir(given: str | Path | None = None) -> Path:
    """Return where runs leave their files: the argument, ``HARNESS_RUNS``, or ``runs`` here."""
    return Path(given or os.environ.get("HARNESS_RUNS") or "runs").expanduser().resolve()


@contextmanager
def replacing(path: Path, *, prefix: str = ".", binary: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` that takes its place once all is written.

    A killed process leaves the old file or the new one. The file has the permissions of any other, as the umask says:
    those of ``tempfile`` are for its owner alone, and runs are shared by the people of a project.
    """
    temporary = path.with_name(f"{prefix}{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") if binary else temporary.open("x", encoding="utf-8") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
