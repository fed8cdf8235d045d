"""Models by kind: what identifies one, and how to open it. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.options import one_of
from harness.progress import bar

if TYPE_CHECKING:
    from harness.encoders.protocol import ContextualEncoder
    from harness.encoders.static import Lookup


class Encoder(Protocol):
    """What turns stimuli into vectors."""

    @property
    def name(self) -> str:
        """The model's name."""

    def lookup(self, stimuli: Sequence[str], *, fallbacks: Mapping[str, Sequence[str]] | None = None) -> Lookup:
        """Return the vectors of stimuli, and which have none."""


def is_static(model: Mapping[str, Any]) -> bool:
    """Return whether the model gives one vector per word, whatever the context."""
    return bool(model["kind"] == "static")


def is_shared_space(model: Mapping[str, Any]) -> bool:
    """Return whether the model has images and texts in one space, a vector for each and no layers to choose."""
    return bool(model["kind"] == "clip")


def model_identity(model: Mapping[str, Any], *, runs: Path) -> dict[str, Any]:
    """Return what determines a model's vectors: the digest of its files and how words are read with them."""
    check_kind(model)
    if not is_static(model):
        return CONTEXTUAL[model["kind"]].identity(model, runs)
    from harness.encoders.static import vector_file

    stat = vector_file(model).path.stat()
    return dict(_identity(json.dumps(dict(model), sort_keys=True), runs, stat.st_size, stat.st_mtime_ns))


@cache
def _identity(model: str, runs: Path, size: int, changed: int) -> dict[str, Any]:
    from harness.encoders.static import static_identity

    return static_identity(json.loads(model), cache=vector_cache(runs), progress=bar)


def open_encoder(model: Mapping[str, Any], *, runs: Path, wanted: frozenset[str]) -> Encoder:
    """Open a static model for at least the stimuli wanted."""
    check_kind(model)
    from harness.encoders.static import open_static

    return open_static(model, cache=vector_cache(runs), wanted=wanted, progress=bar)


def open_contextual(model: Mapping[str, Any], *, runs: Path) -> ContextualEncoder:
    """Open a model that reads whole texts."""
    check_kind(model)
    return CONTEXTUAL[model["kind"]].open(model, runs)


def vectors_identity(model: Mapping[str, Any], *, runs: Path) -> dict[str, Any]:
    """Return what determines the vectors of a model that reads texts: the key under which they are stored."""
    check_kind(model)
    return CONTEXTUAL[model["kind"]].vectors(model, runs)


def _open_transformer(model: Mapping[str, Any], runs: Path) -> ContextualEncoder:
    from harness.encoders.transformer import open_transformer

    return open_transformer(model)


def _transformer_identity(model: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    from harness.encoders.transformer import transformer_identity

    return transformer_identity(model)


def _open_elmo(model: Mapping[str, Any], runs: Path) -> ContextualEncoder:
    from harness.encoders.elmo import open_elmo

    return open_elmo(model, cache=vector_cache(runs))


def _elmo_identity(model: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    from harness.encoders.elmo import elmo_identity

    return elmo_identity(model, cache=vector_cache(runs))


def _transformer_vectors(model: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    from harness.encoders.transformer import encoder_identity

    return encoder_identity(model)


def _open_clip(model: Mapping[str, Any], runs: Path) -> ContextualEncoder:
    from harness.encoders.clip import open_clip_model

    return open_clip_model(model)


def _clip_identity(model: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    from harness.encoders.clip import clip_identity

    return clip_identity(model)


def _clip_vectors(model: Mapping[str, Any], runs: Path) -> dict[str, Any]:
    from harness.encoders.clip import vectors_identity

    return vectors_identity(model)


@dataclass(frozen=True)
class ContextualKind:
    """How models of a kind are opened, and what identifies one without opening it.

    ``identity`` is what determines a measurement's numbers, ``vectors`` what determines the vectors that are stored:
    what is done to them afterwards is in the first alone.
    """

    open: Callable[[Mapping[str, Any], Path], ContextualEncoder]
    identity: Callable[[Mapping[str, Any], Path], dict[str, Any]]
    vectors: Callable[[Mapping[str, Any], Path], dict[str, Any]]


CONTEXTUAL = {
    "transformer": ContextualKind(_open_transformer, _transformer_identity, _transformer_vectors),
    "elmo": ContextualKind(_open_elmo, _elmo_identity, _elmo_identity),
    "clip": ContextualKind(_open_clip, _clip_identity, _clip_vectors),
}
"""The kinds of model that read whole texts."""


def vector_cache(runs: Path) -> Path:
    """Return the folder that keeps the rows of large vector files."""
    return runs / "store" / "static"


def check_kind(model: Mapping[str, Any]) -> None:
    """Raise one sentence for a kind of model that does not exist."""
    one_of("model.kind", model["kind"], ("static", *CONTEXTUAL))
