"""Import torch, torchvision and transformers so that they live together, or say in one sentence what is missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any

from harness.errors import HarnessError

_OPERATORS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
"""The operators that torchvision's Python parts name at import; a compiled torchvision for this torch defines them."""

_libraries: list[Any] = []
"""Operators live as long as the library object that defined them."""


@cache
def import_torch(extra: str = "transformers") -> ModuleType:
    """Import torch, and torchvision's Python parts if it is installed; return torch.

    A torchvision built for another torch (CUDA beside CPU) raises at import, and with it everything that imports it.
    Only its Python parts are needed here, so the operators that it misses are declared and it is imported again.

    Parameters
    ----------
    extra
        The extra of this package that brings torch, named if torch is not installed.
    """
    torch = _import("torch", extra)
    with suppress(ImportError):
        _import_torchvision(torch)
    return torch


@cache
def import_transformers() -> ModuleType:
    """Import transformers after torch; return it."""
    import_torch()
    return _import("transformers", "transformers")


def _import(name: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise HarnessError(
            f"This model needs {name}, which is not installed: pip install 'eat-harness[{extra}]'."
        ) from None


def _import_torchvision(torch: ModuleType) -> None:
    missing = iter(_OPERATORS)
    while True:
        try:
            importlib.import_module("torchvision")
            return
        except RuntimeError as error:
            name = next((name for name in missing if f"torchvision::{name} does not exist" in str(error)), None)
            if name is None:
                raise
        for module in [module for module in sys.modules if module.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define(_OPERATORS[name])
        _libraries.append(library)


def usable_device(torch: ModuleType, device: str) -> Any:
    """Return a device by its name; ``auto`` is the first GPU if there is one, and one that is not there is refused."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise HarnessError(f"model.device={device}: this machine has no such device; cpu always works.") from None
    return torch.device(device)


@contextmanager
def quiet(transformers: ModuleType) -> Iterator[None]:
    """Keep transformers from printing bars and advice while a model is opened; what it was told before comes back."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
