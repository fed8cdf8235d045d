"""Static word vectors: one vector a word, whatever the context."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from harness.assets import locate
from harness.encoders.forms import FormPolicy, possible_keys
from harness.encoders.readers import Batch, check_format, detect, file_sha256, iterate
from harness.encoders.readers.arrays import read_safetensors
from harness.encoders.readers.entries import Rows
from harness.encoders.rowcache import KeptRows, file_digest, kept_rows
from harness.errors import HarnessError
from harness.paths import stimuli_dir
from harness.progress import Progress, silent

FloatMatrix = npt.NDArray[np.float64]
Wanted = Iterable[str] | Callable[[], Iterable[str]]

_EMBEDDED = "embedded"


@dataclass(frozen=True)
class Lookup:
    """The vectors of some stimuli, and what became of each.

    Attributes
    ----------
    words
        The stimuli that have a vector, in the order asked.
    matrix
        Their vectors, one row a word.
    forms
        For each stimulus that the vocabulary holds, the key that stands for it, or ``mean of a, b``.
    missing
        The stimuli that the vocabulary lacks under every form.
    zero
        The stimuli whose vector has no length: no cosine is defined, so they are not among ``words``.
    """

    words: tuple[str, ...]
    matrix: FloatMatrix
    forms: dict[str, str]
    missing: tuple[str, ...]
    zero: tuple[str, ...]


class VectorFile(NamedTuple):
    """A file of vectors and how to read it."""

    path: Path
    format: str


class StaticEncoder:
    """Looks words up in a file of vectors.

    The mean that stands for a phrase is taken over unit vectors: a word's length follows its frequency, and should not
    decide which word of a phrase counts more.

    Attributes
    ----------
    name
        The model's name.
    identity
        What determines the numbers: the digest of the file and the policies of looking up.
    dim
        Numbers in a vector.
    vocabulary_size
        Words in the file.
    cased
        Whether the vocabulary tells *Rose* from *rose*.
    source
        The file and its format.
    """

    def __init__(
        self,
        name: str,
        policy: FormPolicy,
        source: VectorFile,
        kept: KeptRows,
        more: Callable[[frozenset[str]], KeptRows],
    ) -> None:
        self.name = name
        self.source = source
        self.identity = _identity(name, policy, kept.sha256)
        self._policy = policy
        self._more = more
        self._keep(kept)

    def _keep(self, kept: KeptRows) -> None:
        self._kept = kept
        self._places = {word: place for place, word in enumerate(kept.rows.words)}
        self.dim = int(kept.rows.matrix.shape[1])
        self.cased = kept.rows.cased
        self.vocabulary_size = kept.rows.vocabulary_size

    def lookup(self, stimuli: Sequence[str], *, fallbacks: Mapping[str, Sequence[str]] | None = None) -> Lookup:
        """Return the vectors of stimuli.

        Parameters
        ----------
        stimuli
            Words or phrases.
        fallbacks
            For a stimulus, other spellings, tried in order when the vocabulary lacks it.
        """
        others = fallbacks or {}
        keys = possible_keys([*stimuli, *(form for word in stimuli for form in others.get(word, ()))])
        if not keys <= self._kept.asked:
            self._keep(self._more(keys))
        words: list[str] = []
        rows: list[npt.NDArray[np.float64]] = []
        forms: dict[str, str] = {}
        missing: list[str] = []
        zero: list[str] = []
        for stimulus in stimuli:
            found = self._policy.resolve(stimulus, others.get(stimulus, ()), self._places, cased=self.cased)
            if found is None:
                missing.append(stimulus)
                continue
            forms[stimulus] = found[0] if len(found) == 1 else f"mean of {', '.join(found)}"
            row = self._vector(found)
            if row.any():
                words.append(stimulus)
                rows.append(row)
            else:
                zero.append(stimulus)
        matrix = np.array(rows, dtype=np.float64).reshape(len(rows), self.dim)
        return Lookup(tuple(words), matrix, forms, tuple(missing), tuple(zero))

    def _vector(self, keys: tuple[str, ...]) -> npt.NDArray[np.float64]:
        rows = self._kept.rows.matrix[[self._places[key] for key in keys]].astype(np.float64)
        if len(keys) == 1:
            return np.asarray(rows[0])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not lengths.all():
            return np.zeros(self.dim)
        return np.asarray((rows / lengths).mean(axis=0))

    def iterate(self, *, batch_rows: int = 10_000, progress: Progress = silent) -> Iterator[Batch]:
        """Go through the whole vocabulary, not only the rows that are kept."""
        file_format = "safetensors" if self.source.format == _EMBEDDED else self.source.format
        return iterate(self.source.path, file_format=file_format, batch_rows=batch_rows, progress=progress)


def _identity(name: str, policy: FormPolicy, sha256: str) -> dict[str, Any]:
    return {"kind": "static", "name": name, "sha256": sha256, "case": policy.case, "phrase": list(policy.phrase)}


def vector_file(model: Mapping[str, Any]) -> VectorFile:
    """Return the file that a model's config means; one sentence if it is not on this machine."""
    name, given = str(model["name"]), str(model.get("format") or "auto")
    if model.get("path") and given == _EMBEDDED:
        raise HarnessError(
            f"model={name} is part of the package and takes no model.path: for a file of yours use model=vectors "
            "model.path=FILE model.name=NAME."
        )
    if model.get("path"):
        path = Path(str(model["path"])).expanduser()
        if not path.is_file():
            kind = "is a folder" if path.is_dir() else "does not exist"
            raise HarnessError(f"model.path={path}: {kind}; give the file that holds the vectors.")
        if not os.access(path, os.R_OK):
            raise HarnessError(f"model.path={path}: you may not read this file; change its permissions.")
    elif given == _EMBEDDED:
        path = stimuli_dir() / "vectors" / f"{name}.safetensors"
        if not path.is_file():
            raise HarnessError(f"Model {name}: no vectors of that name are shipped; set model.path to a file of them.")
    elif model.get("asset"):
        path = _fetched(name, str(model["asset"]))
    else:
        raise HarnessError(f"Model {name} has no vectors: set model.path to a file of them.")
    if given == "auto":
        given = detect(path)
    if given != _EMBEDDED:
        check_format(given)
    return VectorFile(path, given)


def _fetched(model: str, asset: str) -> Path:
    path = locate(asset)
    if path is None:
        raise HarnessError(
            f"Model {model} needs vectors that are not on this machine yet: run `harness fetch {asset.split('/')[0]}`, "
            "or set model.path to the file if you have it."
        )
    return path


def static_identity(model: Mapping[str, Any], *, cache: Path, progress: Progress = silent) -> dict[str, Any]:
    """Return what determines the numbers of a model, without reading its vectors (a new file is hashed once)."""
    source = vector_file(model)
    if source.format == _EMBEDDED:
        digest = file_sha256(source.path, silent)
    else:
        digest = file_digest(source.path, source.format, cache=cache, progress=progress)
    return _identity(str(model["name"]), FormPolicy.from_config(model), digest)


def open_static(
    model: Mapping[str, Any], *, cache: Path, wanted: Wanted = (), progress: Progress = silent
) -> StaticEncoder:
    """Open a static model.

    Parameters
    ----------
    model
        The model's config: name, format, path, asset, case, phrase.
    cache
        The folder that keeps the rows of large files.
    wanted
        The stimuli that will be looked up, or a function that gives them: they are read in one pass over a large file.
        A later `StaticEncoder.lookup` of others is correct too, and reads the file again.
    progress
        Shows the bytes read; see `harness.progress`.
    """
    policy, source, name = FormPolicy.from_config(model), vector_file(model), str(model["name"])
    if source.format == _EMBEDDED:
        whole = _embedded(source.path)
        return StaticEncoder(
            name, policy, source, whole, lambda keys: KeptRows(whole.rows, whole.asked | keys, whole.sha256)
        )

    asked = possible_keys(wanted() if callable(wanted) else wanted)

    def more(keys: frozenset[str]) -> KeptRows:
        return kept_rows(source.path, source.format, keys, cache=cache, progress=progress)

    return StaticEncoder(name, policy, source, more(asked), more)


def _embedded(path: Path) -> KeptRows:
    table = read_safetensors(path)
    rows: Rows = table.select(frozenset(table.words))
    return KeptRows(rows, frozenset(table.words), file_sha256(path, silent))
