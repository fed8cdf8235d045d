"""CLIP by open_clip: a name with a tag, a model of the hub, or a checkpoint on this machine."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.encoders.pretrained import opening
from harness.encoders.torch_setup import import_torch
from harness.encoders.weights import derived_dir, files_digest, hub_files
from harness.errors import HarnessError, did_you_mean

CONFIG = "open_clip_config.json"
WEIGHTS = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin",
    "open_clip_pytorch_model.pth",
)
"""What open_clip calls its weights in a folder, in the order that it looks for them itself."""

_SUFFIXES = (".safetensors", ".bin", ".pth", ".pt")
_HUB_FILES = (CONFIG, WEIGHTS[0], *("*.json", "*.txt", "*.model"))


def import_open_clip() -> ModuleType:
    """Import open_clip after torch and torchvision."""
    import_torch("clip")
    try:
        return importlib.import_module("open_clip")
    except ModuleNotFoundError as error:
        if error.name != "open_clip":
            raise
        raise HarnessError(
            "This model needs open_clip, which is not installed: pip install 'eat-harness[clip]'."
        ) from None


@dataclass(frozen=True)
class OpenClipFiles:
    """A checkpoint and what describes it.

    ``config`` is open_clip's description of the architecture, ``transform`` how images are prepared; ``folder`` is set
    where both come from a folder with open_clip_config.json, ``architecture`` where they are open_clip's own.
    """

    weights: Path
    config: dict[str, Any]
    transform: dict[str, Any]
    folder: Path | None = None
    architecture: str | None = None
    others: dict[str, str] = field(default_factory=dict)


def open_clip_identity(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return what determines the vectors: weights, architecture, tokenizer files and the transform of images."""
    files = find_open_clip(model)
    config = json.dumps(files.config, sort_keys=True)
    return {
        "id": files.architecture or "open_clip",
        "sha256": files_digest(files.weights.resolve(), derived_dir() / "digests"),
        "architecture": hashlib.sha256(config.encode()).hexdigest(),
        "transform": files.transform,
        **({"files": files.others} if files.others else {}),
    }


def find_open_clip(model: Mapping[str, Any]) -> OpenClipFiles:
    """Return the files that a model's config means: its path, its id on the hub, or the name and tag of open_clip."""
    if model.get("path"):
        path = Path(str(model["path"])).expanduser()
        if path.is_dir():
            return _from_folder(path, f"model.path={path}")
        if not path.is_file():
            raise HarnessError(
                f"model.path={path}: does not exist; give a folder with {CONFIG}, or a checkpoint with "
                "model.architecture."
            )
        if path.suffix.lower() not in _SUFFIXES:
            raise HarnessError(f"model.path={path}: is no checkpoint; one ends in {', '.join(_SUFFIXES)}.")
        return _built_in(model, path)
    if model.get("id") and not model.get("pretrained"):
        folder = hub_files(model, str(model["id"]), wanted=CONFIG, patterns=_HUB_FILES)
        return _from_folder(folder, f"model.id={model['id']}")
    if not model.get("architecture") or not model.get("pretrained"):
        raise HarnessError(
            "The model has no weights: set model.architecture and model.pretrained to a name and a tag of open_clip, "
            "model.id to a model of the hub, or model.path to a checkpoint."
        )
    return _tagged(model)


def _tagged(model: Mapping[str, Any]) -> OpenClipFiles:
    open_clip = import_open_clip()
    architecture, tag = str(model["architecture"]), str(model["pretrained"])
    _described(open_clip, architecture)
    known = open_clip.get_pretrained_cfg(architecture, tag)
    if not known:
        tags = open_clip.list_pretrained_tags_by_model(architecture)
        raise HarnessError(
            f"model.pretrained={tag}: open_clip has no such weights of {architecture}; it has {', '.join(tags)}."
        )
    identifier, _, name = str(known.get("hf_hub") or "").rpartition("/")
    if not identifier:
        raise HarnessError(
            f"model.pretrained={tag}: these weights of {architecture} are not on the hub: download "
            f"{known.get('url', 'them')}, and set model.path to the file."
        )
    folder = hub_files(model, identifier, wanted=name or CONFIG, patterns=(name,) if name else _HUB_FILES)
    return _built_in(model, folder / name) if name else _from_folder(folder, f"model.pretrained={tag}", architecture)


def _from_folder(folder: Path, what: str, architecture: str | None = None) -> OpenClipFiles:
    described = folder / CONFIG
    if not described.is_file():
        hint = (
            "; it looks like one of transformers: add model.backend=transformers" * (folder / "config.json").is_file()
        )
        raise HarnessError(f"{what}: {folder} holds no {CONFIG}{hint}.")
    weights = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise HarnessError(f"{what}: {folder} holds no weights ({WEIGHTS[0]}) beside its {CONFIG}.")
    try:
        said = json.loads(described.read_text(encoding="utf-8"))
        config = dict(said["model_cfg"])
        transform = _transform(config, said.get("preprocess_cfg") or {})
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"{described}: is not a description by open_clip ({error}).") from None
    # Only a tokenizer of the hub reads files of its own; open_clip's comes with its package.
    tokenizer = sorted(path for suffix in ("json", "txt", "model") for path in folder.glob(f"*.{suffix}"))
    others = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tokenizer if path != described}
    uses_others = bool(config.get("text_cfg", {}).get("hf_tokenizer_name"))
    return OpenClipFiles(
        weights, config, transform, folder=folder, architecture=architecture, others=others if uses_others else {}
    )


def _built_in(model: Mapping[str, Any], weights: Path) -> OpenClipFiles:
    """Return a checkpoint of an architecture that open_clip knows; a tag tells how its weights were trained."""
    if not model.get("architecture"):
        raise HarnessError(
            f"model.path={weights}: a checkpoint does not say what it is: set model.architecture, such as ViT-B-32 (or "
            f"ViT-B-32-quickgelu for weights by OpenAI), or give a folder with {CONFIG}."
        )
    open_clip = import_open_clip()
    architecture = str(model["architecture"])
    config = _described(open_clip, architecture)
    tag = open_clip.get_pretrained_cfg(architecture, str(model["pretrained"])) if model.get("pretrained") else {}
    if tag.get("quick_gelu"):
        config["quick_gelu"] = True
    return OpenClipFiles(weights, config, _transform(config, tag), architecture=architecture)


def _described(open_clip: ModuleType, architecture: str) -> dict[str, Any]:
    config = open_clip.get_model_config(architecture)
    if config is None:
        names = open_clip.list_models()
        raise HarnessError(
            f"model.architecture={architecture}: open_clip knows no such model.{did_you_mean(architecture, names)}"
        )
    return dict(deepcopy(config))


def _transform(config: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return how images are prepared, in open_clip's words: its defaults, the model's size, and what is said of it."""
    import_open_clip()
    from dataclasses import asdict

    transform = importlib.import_module("open_clip.transform")
    known = asdict(transform.PreprocessCfg())
    merged = transform.merge_preprocess_dict(known, dict(said)) | {"size": config["vision_cfg"].get("image_size", 224)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in sorted(merged.items())}


class OpenClipNetwork:
    """A model of open_clip; see `harness.encoders.clip.ClipNetwork`."""

    def __init__(self, name: str, files: OpenClipFiles, *, dtype: Any, device: Any) -> None:
        open_clip = import_open_clip()
        transform = importlib.import_module("open_clip.transform")
        self._dtype, self._device = dtype, device
        place = f"local-dir:{files.folder}" if files.folder else str(files.architecture)
        what = str(files.weights) if files.folder else f"{files.weights} as {files.architecture}"
        given: dict[str, Any] = {}
        if not files.folder:
            given = {"pretrained": str(files.weights), "force_quick_gelu": bool(files.config.get("quick_gelu"))}
        # open_clip and what it builds on share no base for a config or weights that do not fit.
        with opening(name, what, unreadable=(Exception,)):
            model = open_clip.create_model(place, weights_only=True, require_pretrained=True, **given)
            self._tokenizer = open_clip.get_tokenizer(place)
        self._model = model.eval().requires_grad_(False).to(device=device, dtype=dtype)
        self._transform = transform.image_transform_v2(transform.PreprocessCfg(**files.transform), is_train=False)
        self.longest = int(self._tokenizer.context_length)
        self.dim = int(files.config["embed_dim"])

    def prepared(self, image: Any) -> Any:
        """Return an RGB image as the model's own transform makes it."""
        return self._transform(image)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text takes."""
        inner = getattr(self._tokenizer, "tokenizer", None)
        if inner is not None:
            return [len(ids) for ids in inner(list(texts))["input_ids"]]
        return [len(self._tokenizer.encode(text)) + 2 for text in texts]

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the features of texts."""
        return self._model.encode_text(self._tokenizer(list(texts)).to(self._device))

    def images(self, batch: Any) -> Any:
        """Return the features of prepared images."""
        return self._model.encode_image(batch.to(self._device, self._dtype))
