"""Where the shipped data and a user's own files are, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

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


def runs_dir(given: str | Path | None = None) -> Path:
    """Return where runs leave their files: the argument, ``HARNESS_RUNS``, or ``runs`` here."""
    return Path(given or os.environ.get("HARNESS_RUNS") or "runs").expanduser().resolve()
