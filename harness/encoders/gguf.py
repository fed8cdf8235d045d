"""GGUF files: converted once to safetensors, because reading one takes half a minute and a folder of weights none."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
from pathlib import Path
from typing import Any

from filelock import FileLock

from harness.encoders.torch_setup import import_torch, import_transformers, quiet
from harness.errors import HarnessError

_CONVERSION = 1
"""Bumped when a change of code changes what is written."""


def converted(file: Path, sha256: str, *, cache: Path) -> Path:
    """Return the folder with a GGUF file's weights as float32 and its tokenizer; the first time it is written.

    It appears under its name only when it is whole, and two processes that want it wait for each other.

    Parameters
    ----------
    file
        The GGUF file.
    sha256
        Its digest, which names the folder.
    cache
        Where converted models are kept.
    """
    folder = cache / "gguf" / f"{sha256[:32]}-{_CONVERSION}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
            shutil.rmtree(fresh, ignore_errors=True)
            try:
                _convert(file, fresh)
                fresh.rename(folder)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _convert(file: Path, folder: Path) -> None:
    torch, transformers = import_torch(), import_transformers()
    if importlib.util.find_spec("gguf") is None:
        raise HarnessError(
            f"{file.name} needs the package gguf, which is not installed: pip install 'eat-harness[transformers]'."
        )
    source: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True, "trust_remote_code": False}
    # The bar of the conversion heeds no setting of transformers; it writes to standard error.
    with quiet(transformers), contextlib.redirect_stderr(io.StringIO()):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **source)
            model = transformers.AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **source)
        except (OSError, ValueError, KeyError, RuntimeError, NotImplementedError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise HarnessError(f"{file}: transformers cannot read this GGUF file ({reason}).") from None
        _clear_quantiser(model)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _clear_quantiser(model: Any) -> None:
    """Take off the marks that make ``save_pretrained`` refuse: the weights are plain float32 by now."""
    model.hf_quantizer = None
    model.is_quantized = False
    for config in (model.config, getattr(model, "generation_config", None)):
        for name in ("quantization_config", "_is_quantized"):
            if config is not None and name in vars(config):
                delattr(config, name)
