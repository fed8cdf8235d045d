"""ELMo: whole texts in, one vector a word out, from the files that its authors published."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache as remember
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from harness.assets import locate
from harness.contexts import Context
from harness.encoders.batching import buckets, pad
from harness.encoders.elmo_characters import (
    BEGIN_ROW,
    END_ROW,
    FIRST_WORD_ROW,
    PADDING_ROW,
    TOKENIZER_VERSION,
    TokenisedContext,
    character_table,
    tokenise,
)
from harness.encoders.elmo_weights import ElmoFiles, ElmoOptions, read_options, read_weights
from harness.encoders.protocol import EncodedBatch, View
from harness.encoders.readers import file_sha256
from harness.encoders.rowcache import file_digest
from harness.errors import HarnessError
from harness.progress import Progress, silent

if TYPE_CHECKING:
    from harness.encoders.elmo_network import ElmoNetwork

_BATCH_TOKENS = 1024
_EDGES = 2  # begin and end of sentence: read by the network, never part of a vector

Vectors = npt.NDArray[np.float32]


class ElmoEncoder:
    """Encodes texts with a bidirectional language model over characters.

    The layers of a published model are 0, the word from its characters; 1 and 2, the recurrent layers; and 3, ELMo's
    own combination: **the sum of the three**, which guo2021 and husse2022 measure. It is the last one, so that
    ``layer=last`` means what those papers mean, and the top recurrent layer alone is ``layer=2``.

    ``mean``, ``first`` and ``last`` pool the words of the stimulus, and are equal where it is one word; ``sentence`` is
    the mean over all words of the text, then the sum over layers (husse2022).

    Attributes
    ----------
    name
        The model's name.
    identity
        What determines the vectors: the digests of both files, and how texts are cut into words.
    dim
        Numbers in a vector: forward and backward side by side.
    layers
        The index of the sum.
    """

    def __init__(
        self, identity: dict[str, Any], options: ElmoOptions, network: ElmoNetwork, *, batch_tokens: int = _BATCH_TOKENS
    ) -> None:
        self.name = str(identity["name"])
        self.identity = identity
        self.dim = 2 * options.lstm.projection_dim
        self.layers = options.lstm.n_layers + 1
        self._max_characters = options.char_cnn.max_characters_per_token
        self._network = network
        self._batch_tokens = batch_tokens

    def encode(
        self, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
    ) -> Iterator[EncodedBatch]:
        """Encode texts and yield their vectors batch by batch, every index exactly once.

        Texts of the same words pass through the network once, wherever their stimuli stand. Batches hold texts of
        similar length; neither they nor the padding change a vector by more than rounding.
        """
        for layer in layers:
            if not 0 <= layer <= self.layers:
                raise HarnessError(
                    f"layer={layer}: {self.name} has the layers 0 (characters) to {self.layers - 1}, "
                    f"and {self.layers}, or last, for their sum."
                )
        tokenised = [tokenise(context) for context in contexts]
        sharing: dict[tuple[str, ...], list[int]] = {}
        for index, text in enumerate(tokenised):
            sharing.setdefault(text.tokens, []).append(index)
        distinct = list(sharing)
        for bucket in buckets([len(text) + _EDGES for text in distinct], budget=self._batch_tokens):
            texts = [distinct[place] for place in bucket]
            hidden = self._forward(texts)
            indices = [index for text in texts for index in sharing[text]]
            rows = [row for row, text in enumerate(texts) for _ in sharing[text]]
            pooled = {
                view: np.stack(
                    [_pool(hidden[:, row], tokenised[index], view) for row, index in zip(rows, indices, strict=True)],
                    axis=1,
                )
                for view in views
            }
            vectors = {(view, layer): self._layer(pooled[view], layer) for view in views for layer in layers}
            yield EncodedBatch(np.array(indices, dtype=np.int64), vectors)

    def _forward(self, texts: Sequence[tuple[str, ...]]) -> Vectors:
        words = sorted({word for text in texts for word in text})
        row_of = {word: row for row, word in enumerate(words, start=FIRST_WORD_ROW)}
        rows = [[BEGIN_ROW, *(row_of[word] for word in text), END_ROW] for text in texts]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        table = character_table(words, self._max_characters)
        return self._network.forward(table, pad(rows, value=PADDING_ROW), lengths)

    def _layer(self, pooled: Vectors, layer: int) -> Vectors:
        return pooled.sum(axis=0, dtype=np.float32) if layer == self.layers else np.ascontiguousarray(pooled[layer])


def _pool(hidden: Vectors, text: TokenisedContext, view: View) -> Vectors:
    """Return one vector a layer, of shape (layers, dim); the first token of ``hidden`` begins the sentence."""
    words = hidden[:, 1 : len(text.tokens) + 1]
    match view:
        case "mean":
            return np.asarray(words[:, text.first : text.stop].mean(axis=1))
        case "first":
            return words[:, text.first]
        case "last":
            return words[:, text.stop - 1]
        case "sentence":
            return np.asarray(words.mean(axis=1))


def elmo_files(model: Mapping[str, Any]) -> ElmoFiles:
    """Return the two files that a model's config means; one sentence if they are not on this machine."""
    name = str(model["name"])
    if model.get("path"):
        folder = Path(str(model["path"])).expanduser()
        if not folder.is_dir():
            raise HarnessError(
                f"model.path={folder}: is not a folder; give the one that holds ELMo's options.json and weights.hdf5."
            )
    elif model.get("asset"):
        asset = str(model["asset"])
        found = locate(asset)
        if found is None:
            raise HarnessError(
                f"Model {name} needs weights that are not on this machine yet: run `harness fetch {asset}`, "
                "or set model.path to the folder that holds its options.json and weights.hdf5."
            )
        folder = found
    else:
        raise HarnessError(f"Model {name} has no weights: set model.path to the folder that holds them.")
    return ElmoFiles(_only(folder, "options.json"), _only(folder, "weights.hdf5"))


def _only(folder: Path, ending: str) -> Path:
    found = sorted(folder.glob(f"*{ending}"))
    if len(found) != 1:
        held = f"{len(found)} files" if found else "no file"
        raise HarnessError(f"{folder}: holds {held} whose name ends in {ending}; ELMo needs exactly one.")
    return found[0]


def elmo_identity(
    model: Mapping[str, Any], *, cache: Path | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Return what determines a model's vectors, without reading its weights.

    Parameters
    ----------
    model
        The model's config: name, and path or asset.
    cache
        The folder that remembers the digests of files by path, size and time of change; None remembers them in this
        process alone.
    progress
        Shows the bytes read into ``cache``; see `harness.progress`.
    """
    options, weights = (_digest(path, cache, progress) for path in elmo_files(model))
    return {
        "kind": "elmo",
        "name": str(model["name"]),
        "options": options,
        "weights": weights,
        "tokenizer": TOKENIZER_VERSION,
    }


def _digest(path: Path, cache: Path | None, progress: Progress) -> str:
    if cache is not None:
        return file_digest(path, "elmo", cache=cache, progress=progress)
    state = path.stat()
    return _remembered_digest(path.resolve(), state.st_size, state.st_mtime_ns)


@remember
def _remembered_digest(path: Path, size: int, changed: int) -> str:
    return file_sha256(path, silent)


def open_elmo(model: Mapping[str, Any], *, cache: Path | None = None, progress: Progress = silent) -> ElmoEncoder:
    """Open ELMo.

    Parameters
    ----------
    model
        The model's config: ``name``; ``path``, a folder that holds options and weights, or ``asset``; ``device``
        (default: a GPU if there is one) and ``batch_tokens``, the tokens of a batch, which change no vector.
    cache
        The folder that remembers the digests of files; see `elmo_identity`.
    progress
        Shows the bytes read; see `harness.progress`.
    """
    files = elmo_files(model)
    _require(str(model["name"]), "h5py", "torch")
    options = read_options(files.options)
    weights = read_weights(files.weights, options)
    from harness.encoders.elmo_network import ElmoNetwork

    network = ElmoNetwork(options, weights, device=_device(model.get("device")))
    batch_tokens = int(model.get("batch_tokens") or _BATCH_TOKENS)
    return ElmoEncoder(
        elmo_identity(model, cache=cache, progress=progress), options, network, batch_tokens=batch_tokens
    )


def _require(model: str, *packages: str) -> None:
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError:
            raise HarnessError(
                f"Model {model} needs {package}, which is not installed: run `pip install 'eat-harness[elmo]'`."
            ) from None


def _device(given: Any) -> str:
    import torch

    if given in (None, "auto"):
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=str(given))
    except (RuntimeError, AssertionError):
        raise HarnessError(f"model.device={given}: torch cannot use it on this machine; use cpu or auto.") from None
    return str(given)
