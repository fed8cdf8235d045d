"""What transformers reads from a folder: without network, without code from the folder, safetensors first."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from safetensors import SafetensorError

from harness.encoders.torch_setup import import_transformers, quiet
from harness.errors import HarnessError

_LOCAL = {"local_files_only": True, "trust_remote_code": False}
_UNREADABLE = (OSError, ValueError, KeyError, ImportError, RuntimeError, EOFError, SafetensorError)


@contextmanager
def opening(name: str, what: Path | str, *, unreadable: tuple[type[Exception], ...] = _UNREADABLE) -> Iterator[None]:
    """Say in one sentence that a model cannot be opened, and why, where its files raise something while it is."""
    try:
        yield
    except UnpicklingError:
        raise HarnessError(
            f"Model {name} cannot be opened from {what}: its pickle is damaged or holds more than weights, and code "
            "from a file is not run; use safetensors."
        ) from None
    except unreadable as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise HarnessError(f"Model {name} cannot be opened from {what}: {reason}") from None


def open_part(kind: str, name: str, folder: Path) -> Any:
    """Return what a class of transformers makes of a folder: a tokenizer, or an image processor."""
    transformers = import_transformers()
    with quiet(transformers), opening(name, folder):
        return getattr(transformers, kind).from_pretrained(folder, **_LOCAL)


def open_tokenizer(name: str, folder: Path) -> Any:
    """Return the tokenizer of a folder."""
    return open_part("AutoTokenizer", name, folder)


def open_network(kind: str, name: str, folder: Path, dtype: Any) -> tuple[Any, Collection[str]]:
    """Return a network for inference, of a class of transformers, and the parameters that its weights lack.

    transformers makes those up at random: whoever calls this knows which of them are not used, and refuses the others.
    """
    transformers = import_transformers()
    with quiet(transformers), opening(name, folder):
        network, found = getattr(transformers, kind).from_pretrained(
            folder,
            dtype=dtype,
            use_safetensors=any(folder.glob("*.safetensors")),
            output_loading_info=True,
            **_LOCAL,
        )
    return network.eval().requires_grad_(False), found["missing_keys"]


def refuse_incomplete(name: str, folder: Path, lacking: Collection[str]) -> None:
    """Raise one sentence if weights lack parameters that are used."""
    if lacking:
        raise HarnessError(
            f"Model {name}: the weights in {folder} lack {len(lacking)} parameters ({min(lacking)} …) of what its "
            "config.json describes; fetch it again, or set model.path to a whole one."
        )
