"""Take members out of archives: nothing lands outside the folder meant for it, and every byte is checked."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from harness.errors import HarnessError

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the digest of a file; of a folder, that of the lines ``<sha256>  <path>`` sorted by path."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        names = sorted((file.relative_to(path).as_posix(), file) for file in files)
        return hashlib.sha256("".join(f"{sha256_of(file)}  {name}\n" for name, file in names).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str, what: str) -> None:
    """Raise one sentence if a file is not the one that is meant."""
    found = sha256_of(path)
    if found != expected:
        raise HarnessError(
            f"{what}: the sha256 is {found}, expected {expected}: the download is damaged or not the file that was "
            "tested; it was not kept. Try again, and if it stays so, do not use it."
        )


def _safe_name(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise HarnessError(f"{archive.name}: the member {name!r} points outside its archive; nothing was unpacked.")
    return path


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Go through the ordinary files of a zip, wheel or tar archive."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                for info in opened.infolist():
                    if not info.is_dir():
                        with opened.open(info) as content:
                            yield info.filename, content
            return
        with tarfile.open(archive) as tar:
            for member in tar:
                content_or_none = tar.extractfile(member) if member.isfile() else None
                if content_or_none is not None:
                    with content_or_none as content:
                        yield member.name, content
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        raise HarnessError(f"{archive.name}: not a readable archive ({error}); fetch it again.") from None


def _write(content: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)


def unpack_all(archive: Path, folder: Path) -> None:
    """Unpack every file of an archive into a folder."""
    for name, content in _members(archive):
        _write(content, folder.joinpath(*_safe_name(name, archive).parts))


def unpack_member(archive: Path, member: str, folder: Path) -> Path:
    """Take one file, or one folder if ``member`` ends in ``/``, out of an archive; return where it is now."""
    target = folder / PurePosixPath(member).name
    found = False
    for name, content in _members(archive):
        path = _safe_name(name, archive)
        if member.endswith("/") and name.startswith(member):
            _write(content, target.joinpath(*path.relative_to(member).parts))
            found = True
        elif name == member:
            _write(content, target)
            return target
    if not found:
        raise HarnessError(f"{archive.name}: it holds no {member!r}; the package has changed.")
    return target


def is_archive(name: str) -> bool:
    """Return whether a downloaded file is unpacked; a lone ``.gz`` is not, readers open it as it is."""
    return name.lower().endswith((".zip", ".tar", ".tar.gz", ".tgz"))
