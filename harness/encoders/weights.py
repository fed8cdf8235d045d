"""Where a transformer's files are on this machine, and what says which weights they hold."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.assets import assets_dir, locate, registry
from harness.assets.registry import HubSource
from harness.assets.unpack import sha256_of
from harness.errors import HarnessError

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SAFE, _PICKLED = "*.safetensors", "pytorch_model*.bin"
_OTHER_FILES = ("*.json", "*.txt", "*.model")
_SECONDS = 10


@dataclass(frozen=True)
class Weights:
    """A folder in the format of transformers, or a GGUF file, and its identity: a commit of the hub or a sha256."""

    path: Path
    identity: dict[str, str]


def derived_dir(cache: Path | None = None) -> Path:
    """Return where digests and converted models are kept: the argument, or a folder beside the assets."""
    return cache if cache is not None else assets_dir() / "derived"


def weights_identity(model: Mapping[str, Any], *, cache: Path | None = None) -> dict[str, str]:
    """Return which weights a model's config means; a pinned commit of the hub is known without its files."""
    if not model.get("path") and not model.get("asset") and _COMMIT.fullmatch(str(model.get("revision"))):
        return {"id": _hub_id(model), "revision": str(model["revision"])}
    return find_weights(model, cache=cache).identity


def find_weights(model: Mapping[str, Any], *, cache: Path | None = None) -> Weights:
    """Return the files that a model's config means: its path, its asset, or its id on the hub, in this order.

    A model of the hub is looked for among the assets and in the hub's own cache. One that the registry of assets lists
    is never downloaded here, so that a measurement does not begin with gigabytes; another is.
    """
    if model.get("path"):
        path = Path(str(model["path"])).expanduser()
        if not path.exists():
            raise HarnessError(f"model.path={path}: does not exist; give a folder with config.json, or a GGUF file.")
        if model.get("name") == "":
            raise HarnessError(
                f"model.path={path}: set model.name too, by which results and figures tell models apart."
            )
        return _local(path, f"model.path={path}", cache)
    if model.get("asset"):
        name = str(model["asset"])
        asset = locate(name)
        if asset is None:
            raise _not_fetched(model, name.split("/")[0])
        return _local(asset, f"The asset {name}", cache)
    return _from_hub(model)


def _local(path: Path, what: str, cache: Path | None) -> Weights:
    if path.is_file() and path.suffix.lower() != ".gguf":
        raise HarnessError(f"{what}: is a file, but not a GGUF file; give the folder that holds config.json.")
    checked = path if path.is_file() else _checked(path, what)
    return Weights(checked, {"sha256": files_digest(path.resolve(), derived_dir(cache) / "digests")})


def _checked(folder: Path, what: str) -> Path:
    if not _complete(folder):
        raise HarnessError(f"{what}: {folder} holds no config.json with weights (model.safetensors) beside it.")
    return folder


def _complete(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(any(folder.glob(pattern)) for pattern in (_SAFE, _PICKLED))


def _hub_id(model: Mapping[str, Any]) -> str:
    if not model.get("id"):
        raise HarnessError(
            "The model has no weights: set model.id to a model of the hub, or model.path to a folder or a GGUF file."
        )
    return str(model["id"])


def _from_hub(model: Mapping[str, Any]) -> Weights:
    identifier, revision = _hub_id(model), str(model["revision"]) if model.get("revision") else None
    asset = _asset_of(identifier)
    fetched = locate(asset) if asset else None
    commit = _commit_of(fetched) if fetched else None
    if fetched and revision in (None, commit):
        return Weights(_checked(fetched, f"The asset {asset}"), {"id": identifier, "revision": str(commit)})
    hub = _hub_client()
    folder = _hub_cached(hub, identifier, revision)
    if folder is None and fetched:
        raise HarnessError(
            f"Model {model['name']}: model.revision={revision}, but the asset {asset} on this machine is {commit}: run "
            f"`hf download {identifier} --revision {revision}`, or set model.revision to what is here."
        )
    if folder is None and asset:
        raise _not_fetched(model, asset)
    folder = folder or _downloaded(hub, model, identifier, revision)
    return Weights(folder, {"id": identifier, "revision": folder.name})


def hub_files(model: Mapping[str, Any], identifier: str, *, wanted: str, patterns: Sequence[str]) -> Path:
    """Return a folder with chosen files of a model of the hub: from the assets, the hub's cache, or the hub itself.

    Parameters
    ----------
    model
        The model's config, for its name and revision.
    identifier
        The model's id on the hub.
    wanted
        The file without which a copy on this machine is of no use.
    patterns
        What is downloaded; nothing that the registry of assets lists is.
    """
    asset, revision = _asset_of(identifier), model.get("revision")
    fetched = locate(asset) if asset else None
    if fetched and (fetched / wanted).is_file():
        return fetched
    hub = _hub_client()
    with suppress(OSError, ValueError):
        folder = Path(hub.snapshot_download(identifier, revision=revision, local_files_only=True))
        if (folder / wanted).is_file():
            return folder
    if asset:
        raise _not_fetched(model, asset)
    try:
        return Path(hub.snapshot_download(identifier, revision=revision, allow_patterns=list(patterns)))
    except Exception as error:  # as in _downloaded
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise HarnessError(
            f"Model {model['name']} ({identifier}) is not on this machine, and the hub does not give it ({reason}): "
            f"run `hf download {identifier}` where there is network, or set model.path to its folder."
        ) from None


def _asset_of(identifier: str) -> str | None:
    """Return the asset that is this model of the hub."""
    sources = ((asset.name, asset.source) for asset in registry().values())
    return next((name for name, source in sources if isinstance(source, HubSource) and source.id == identifier), None)


def _commit_of(folder: Path) -> str:
    return str(json.loads((folder / "asset.json").read_text(encoding="utf-8"))["pin"])


def _hub_client() -> ModuleType:
    try:
        return importlib.import_module("huggingface_hub")
    except ModuleNotFoundError:
        raise HarnessError(
            "Models of the hub need huggingface_hub, which is not installed: pip install 'eat-harness[transformers]'."
        ) from None


def _hub_cached(hub: ModuleType, identifier: str, revision: str | None) -> Path | None:
    """Return the hub's own copy on this machine, whose folder is named by the commit."""
    try:
        folder = Path(hub.snapshot_download(identifier, revision=revision, local_files_only=True))
    except (OSError, ValueError):
        return None
    return folder if _complete(folder) else None


def _downloaded(hub: ModuleType, model: Mapping[str, Any], identifier: str, revision: str | None) -> Path:
    """Download a model into the hub's cache, safetensors if it has them, no code and nothing from subfolders."""
    pinned = f" --revision {revision}" if revision else ""
    try:
        about = hub.HfApi().model_info(identifier, revision=revision, timeout=_SECONDS)
        names = [file.rfilename for file in about.siblings]
        weights = _SAFE if any("/" not in name and name.endswith(".safetensors") for name in names) else _PICKLED
        patterns = [weights, *_OTHER_FILES]
        return Path(
            hub.snapshot_download(identifier, revision=about.sha, allow_patterns=patterns, ignore_patterns="*/*")
        )
    # The client's errors share no base: its transport's, the hub's answers, and files all come from other packages.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise HarnessError(
            f"Model {model['name']} ({identifier}) is not on this machine, and the hub does not give it ({reason}): "
            f"run `hf download {identifier}{pinned}` where there is network, or set model.path to its folder."
        ) from None


def _not_fetched(model: Mapping[str, Any], asset: str) -> HarnessError:
    return HarnessError(
        f"Model {model['name']} needs weights that are not on this machine yet: run `harness fetch {asset}`, or set "
        "model.path to the folder if you have it."
    )


def files_digest(path: Path, cache: Path) -> str:
    """Return the digest of the files that determine the vectors, computed once for each state of the files."""
    files = _files(path)
    stamps = [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    known = cache / f"{hashlib.sha256(str(path).encode()).hexdigest()[:32]}.json"
    try:
        record = json.loads(known.read_text(encoding="utf-8"))
        if record["files"] == stamps:
            return str(record["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    digests = [(file.name, sha256_of(file)) for file in files]
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests)
    digest = digests[0][1] if path.is_file() else hashlib.sha256(lines.encode()).hexdigest()
    cache.mkdir(parents=True, exist_ok=True)
    temporary = known.with_name(f"{known.name}.{os.getpid()}")
    temporary.write_text(json.dumps({"files": stamps, "sha256": digest}), encoding="utf-8")
    temporary.replace(known)
    return digest


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    weights = list(path.glob(_SAFE)) or list(path.glob(_PICKLED))
    others = [file for pattern in _OTHER_FILES for file in path.glob(pattern)]
    return sorted(weights + others, key=lambda file: file.name)
