"""Transformers of the hub: encoders, decoders, and the encoder of encoder–decoders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contexts import Context
from harness.encoders.batching import buckets, pad
from harness.encoders.gguf import converted
from harness.encoders.pooling import Pool, view_tokens
from harness.encoders.postprocess import POSTPROCESS
from harness.encoders.pretrained import open_network, open_tokenizer, refuse_incomplete
from harness.encoders.protocol import VIEWS, EncodedBatch, View
from harness.encoders.tokens import BOS, ContextTokenizer, Row, Tally
from harness.encoders.torch_setup import import_torch, usable_device
from harness.encoders.weights import Weights, derived_dir, find_weights, weights_identity
from harness.errors import HarnessError
from harness.options import one_of

SENTENCE = ("auto", "cls", "last", "mean")
DTYPES = ("float32", "float16", "bfloat16", "float64")
TOKEN_BUDGET = 2048

_CHUNK = 10_000
"""Contexts that are tokenised and sorted by length at a time: memory does not grow with their number."""


@dataclass(frozen=True)
class TransformerOptions:
    """The keys of a model's config that this encoder knows, checked."""

    dtype: str
    sentence: str
    bos: str
    max_length: int | None
    device: str
    token_budget: int

    @classmethod
    def from_config(cls, model: Mapping[str, Any]) -> TransformerOptions:
        """Read a model's config; a key that it lacks has its default."""
        options = cls(
            dtype=str(model.get("dtype") or "float32"),
            sentence=str(model.get("sentence") or "auto"),
            bos=str(model.get("bos") or "auto"),
            max_length=model.get("max_length"),
            device=str(model.get("device") or "auto"),
            token_budget=int(model.get("token_budget") or TOKEN_BUDGET),
        )
        one_of("model.dtype", options.dtype, DTYPES)
        one_of("model.sentence", options.sentence, SENTENCE)
        one_of("model.bos", options.bos, BOS)
        for key in ("max_length", "token_budget"):
            value = getattr(options, key)
            if value is not None and value < 1:
                raise HarnessError(f"model.{key}={value}: must be 1 or more.")
        return options

    def identity(self) -> dict[str, Any]:
        """Return the options that determine vectors; device and batches do not."""
        return {"dtype": self.dtype, "sentence": self.sentence, "bos": self.bos, "max_length": self.max_length}


def encoder_identity(model: Mapping[str, Any], *, cache: Path | None = None) -> dict[str, Any]:
    """Return what determines the vectors that the encoder gives, without loading weights.

    Models of different names, and postprocessings of one model, share it: it is the key under which vectors are kept.
    """
    options = TransformerOptions.from_config(model)
    return {"kind": "transformer", **weights_identity(model, cache=cache), **options.identity()}


def transformer_identity(model: Mapping[str, Any], *, cache: Path | None = None) -> dict[str, Any]:
    """Return what determines a measurement's numbers: the encoder's identity, and what is done to its vectors."""
    how = str(model.get("postprocess") or "none")
    one_of("model.postprocess", how, POSTPROCESS)
    removed = {"components": model["components"]} if how == "all_but_the_top" else {}
    after = {} if how == "none" else {"postprocess": how, **removed}
    return {"name": str(model["name"]), **encoder_identity(model, cache=cache), **after}


def open_transformer(model: Mapping[str, Any], *, cache: Path | None = None) -> TransformerEncoder:
    """Open a transformer.

    Parameters
    ----------
    model
        The model's config: name; path, asset, or id with revision; dtype, device, sentence, bos, max_length,
        token_budget.
    cache
        Where digests and converted GGUF files are kept; without it, a folder beside the assets.
    """
    options, weights = TransformerOptions.from_config(model), find_weights(model, cache=cache)
    identity = {"kind": "transformer", **weights.identity, **options.identity()}
    return TransformerEncoder(str(model["name"]), identity, folder_of(weights, cache=cache), options)


def folder_of(weights: Weights, *, cache: Path | None = None) -> Path:
    """Return the folder of a model's files; a GGUF file is converted first, once."""
    if weights.path.is_dir():
        return weights.path
    return converted(weights.path, weights.identity["sha256"], cache=derived_dir(cache))


class TransformerEncoder:
    """Reads texts and gives the vectors of their stimuli, and of the texts.

    Attributes
    ----------
    name, identity, dim, layers
        As in `harness.encoders.protocol.ContextualEncoder`.
    sentence
        The rule that is used: ``cls``, ``last`` or ``mean``. ``auto`` follows husse2022, Output Encoding: [CLS] where
        the tokenizer puts such a token first (BERT), the last token of a decoder, else the mean over the text's tokens.
    causal
        Whether a token's vector depends on the tokens before it alone.
    max_length
        Tokens that the model takes, or None.
    begins_with
        The special token that every text begins with, or an empty text.
    """

    def __init__(self, name: str, identity: dict[str, Any], folder: Path, options: TransformerOptions) -> None:
        self.name = name
        self.identity = identity
        self._torch = import_torch()
        self._device = usable_device(self._torch, options.device)
        self._budget = options.token_budget
        tokenizer, self._model = _load(name, folder, getattr(self._torch, options.dtype), self._device)
        limits = [n for n in (_positions(self._model), options.max_length) if n is not None]
        self._tokens = ContextTokenizer(tokenizer, name, bos=options.bos, limit=min(limits, default=None))
        self.max_length = self._tokens.limit
        self.begins_with = self._tokens.begins_with
        self._probe()
        self.sentence = self._sentence_rule(options.sentence)

    @property
    def tally(self) -> Tally:
        """What was encoded so far."""
        return self._tokens.tally

    def _probe(self) -> None:
        """Find out the shape of the model, and whether a later token changes the vectors of earlier ones."""
        one, other = self._tokens.ordinary_ids(2)
        base = self._hidden([Row([one] * 4, [0] * 4)], every_layer=True)
        changed = self._hidden([Row([one, one, one, other], [0] * 4)], every_layer=False)
        self.layers = len(base) - 1
        self.dim = int(base[self.layers].shape[-1])
        before, after = base[self.layers][0, :3], changed[0][0, :3]
        self.causal = bool((before - after).abs().max() <= 1e-6 * before.abs().max())

    def _sentence_rule(self, asked: str) -> str:
        if asked == "cls" and self._tokens.cls is None:
            raise HarnessError(
                f"model.sentence=cls: the tokenizer of {self.name} adds no such token; use last or mean."
            )
        if asked != "auto":
            return asked
        if self.causal:
            return "last"
        return "cls" if self._tokens.cls_first else "mean"

    def encode(
        self, contexts: Sequence[Context], *, views: Sequence[View], layers: Sequence[int]
    ) -> Iterator[EncodedBatch]:
        """Encode each text once and yield the vectors batch by batch, every index exactly once.

        Parameters
        ----------
        contexts
            Texts with the span of the stimulus.
        views
            ``mean``, ``first``, ``last`` of the stimulus' subwords, ``sentence``.
        layers
            0 is the embeddings, `layers` the last layer.
        """
        for view in views:
            one_of("view", view, VIEWS)
        for layer in layers:
            if not 0 <= layer <= self.layers:
                raise HarnessError(f"layer={layer}: {self.name} has layers 0 (embeddings) to {self.layers} (last).")
        for begin in range(0, len(contexts), _CHUNK):
            rows = self._tokens.rows(contexts[begin : begin + _CHUNK], first=begin)
            for bucket in buckets([len(row.ids) for row in rows], budget=self._budget):
                yield self._batch([rows[place] for place in bucket], views, layers)

    def _batch(self, rows: list[Row], views: Sequence[View], layers: Sequence[int]) -> EncodedBatch:
        last_only = set(layers) <= {self.layers}
        hidden = self._hidden(rows, every_layer=not last_only)
        read = [(place, number, pieces) for place, row in enumerate(rows) for number, pieces in row.read]
        vectors: dict[tuple[View, int], NDArray[np.float32]] = {}
        for view in views:
            chosen = [
                (place, view_tokens(view, rows[place], pieces, sentence=self.sentence, cls=self._tokens.cls))
                for place, _, pieces in read
            ]
            pool = Pool(self._torch, chosen, width=hidden[0].shape[1], device=self._device)
            vectors |= {(view, layer): pool(hidden[0 if last_only else layer]) for layer in layers}
        return EncodedBatch(np.array([number for _, number, _ in read], dtype=np.int64), vectors)

    def _hidden(self, rows: list[Row], *, every_layer: bool) -> Sequence[Any]:
        """Return the hidden states of every layer, or of the last one alone: rows × tokens × dimensions."""
        torch = self._torch
        lengths = torch.tensor([len(row.ids) for row in rows])
        ids = torch.from_numpy(pad([row.ids for row in rows], value=self._tokens.pad))
        inputs = {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}
        if self._tokens.typed:
            inputs["token_type_ids"] = torch.from_numpy(pad([row.types for row in rows], value=0))
        try:
            with torch.inference_mode():
                inputs = {key: value.to(self._device) for key, value in inputs.items()}
                output = self._model(**inputs, output_hidden_states=every_layer, return_dict=True)
        except (RuntimeError, MemoryError) as error:
            if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error):
                raise HarnessError(
                    f"{self.name}: memory ran out on a batch of {len(rows)} texts of {ids.shape[1]} tokens; lower "
                    f"model.token_budget (now {self._budget}). What was encoded before is kept."
                ) from None
            raise
        return (*output.hidden_states[:-1], output.last_hidden_state) if every_layer else (output.last_hidden_state,)


def _load(name: str, folder: Path, dtype: Any, device: Any) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder; of an encoder–decoder its encoder."""
    tokenizer = open_tokenizer(name, folder)
    model, missing = open_network("AutoModel", name, folder, dtype)
    two_parts = bool(model.config.is_encoder_decoder)
    unused = ("pooler", "decoder") if two_parts else ("pooler",)
    refuse_incomplete(name, folder, [key for key in missing if not any(part in unused for part in key.split("."))])
    model = model.get_encoder() if two_parts else model
    model.config.use_cache = False
    return tokenizer, model.to(device)


def _positions(model: Any) -> int | None:
    """Return how many tokens the model has positions for; None where positions are relative."""
    number = getattr(model.config, "max_position_embeddings", None)
    if number is None or number < 1:
        return None
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    # RoBERTa and its kin count positions from the one after padding's.
    skipped = getattr(table, "padding_idx", None)
    return int(number) - (0 if skipped is None else skipped + 1)
