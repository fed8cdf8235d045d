"""CLIP by transformers: CLIPModel with its own tokenizer and image processor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.encoders.pretrained import open_network, open_part, open_tokenizer, refuse_incomplete
from harness.encoders.torch_setup import import_torch, import_transformers
from harness.errors import HarnessError


class HfClipNetwork:
    """A folder in the format of transformers; see `harness.encoders.clip.ClipNetwork`."""

    def __init__(self, name: str, folder: Path, *, dtype: Any, device: Any) -> None:
        self._torch = import_torch("clip")
        self._dtype, self._device = dtype, device
        self._tokenizer, self._processor, self._model = _load(name, folder, dtype, device)
        self.dim = int(self._model.config.projection_dim)
        self.longest = int(self._model.config.text_config.max_position_embeddings)

    def prepared(self, image: Any) -> Any:
        """Return an RGB image as the folder's preprocessor_config.json says."""
        return self._processor(images=image, return_tensors="pt")["pixel_values"][0]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text takes."""
        return [len(ids) for ids in self._tokenizer(list(texts))["input_ids"]]

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the features of texts."""
        tokens = self._tokenizer(list(texts), padding=True, return_tensors="pt").to(self._device)
        return _projected(self._model.get_text_features(**tokens))

    def images(self, batch: Any) -> Any:
        """Return the features of prepared images."""
        return _projected(self._model.get_image_features(pixel_values=batch.to(self._device, self._dtype)))


def _projected(output: Any) -> Any:
    """Return the projected features: a tensor of its own before transformers 5, a field of the output since."""
    return getattr(output, "pooler_output", output)


def _load(name: str, folder: Path, dtype: Any, device: Any) -> tuple[Any, Any, Any]:
    kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    if kind != "clip":
        raise HarnessError(f"Model {name}: {folder} holds a model of type {kind!r}, and clip is needed.")
    if not (folder / "preprocessor_config.json").is_file():
        raise HarnessError(
            f"Model {name}: {folder} lacks preprocessor_config.json, which says how images are prepared."
        )
    # Resized by pillow as the models were trained; the other processor resizes tensors and gives other pixels.
    by_pillow = hasattr(import_transformers(), "CLIPImageProcessorPil")
    processor = open_part("CLIPImageProcessorPil" if by_pillow else "CLIPImageProcessor", name, folder)
    tokenizer = open_tokenizer(name, folder)
    model, missing = open_network("CLIPModel", name, folder, dtype)
    refuse_incomplete(name, folder, [key for key in missing if not key.endswith("position_ids")])
    return tokenizer, processor, model.to(device)
