"""Where the shipped data and a user's own files are, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

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


def config_files(group: str) -> dict[str, Path]:
    """Return the files of a Hydra group by name: the shipped ones and a user's."""
    user = user_conf_dir()
    files: dict[str, Path] = {}
    for root in [conf_dir(), *([user] if user else [])]:
        for path in sorted((root / group).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


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
