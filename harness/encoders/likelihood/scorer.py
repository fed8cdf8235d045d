"""Log-probabilities of targets beside attributes, whichever head the model has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contexts import PairContext
from harness.encoders.likelihood.causal import causal_request
from harness.encoders.likelihood.masked import masked_request
from harness.encoders.likelihood.network import HeadModel, silent
from harness.encoders.likelihood.sentences import Request, TokenPair, tokenised
from harness.encoders.pretrained import open_tokenizer
from harness.encoders.tokens import ContextTokenizer
from harness.encoders.transformer import TransformerOptions, folder_of
from harness.encoders.weights import find_weights, weights_identity
from harness.errors import HarnessError
from harness.options import LPBS_CAUSAL, LPBS_MULTI_TOKEN, one_of

SCORING = 1
"""Bumped when a change of code changes scores."""

_ENDINGS = {"masked": ("ForMaskedLM", "ForPreTraining"), "causal": ("ForCausalLM", "LMHeadModel")}
"""How the classes of transformers are called whose head gives probabilities of words."""


def head_of(architectures: Sequence[str]) -> str | None:
    """Return ``masked``, ``causal`` or None, by the class that a model's config.json names."""
    for head, endings in _ENDINGS.items():
        if any(name.endswith(endings) for name in architectures):
            return head
    return None


def likelihood_identity(
    model: Mapping[str, Any], *, causal: str, multi_token: str, cache: Path | None = None
) -> dict[str, Any]:
    """Return what determines scores, without loading weights: the key under which they are kept."""
    options = TransformerOptions.from_config(model)
    kept = {"dtype": options.dtype, "bos": options.bos, "max_length": options.max_length}
    how = {"causal": causal, "multi_token": multi_token, "scoring": SCORING}
    return {"kind": "likelihood", **weights_identity(model, cache=cache), **kept, **how}


def open_scorer(
    model: Mapping[str, Any], *, causal: str = "sentence", multi_token: str = "masks", cache: Path | None = None
) -> PairScorer:
    """Open a model for its probabilities; its weights are read when the first score is asked for.

    Parameters
    ----------
    model
        The model's config, as `harness.encoders.transformer.open_transformer` takes it.
    causal
        The estimator of a causal model, ``sentence`` or ``left``; without effect on a masked one.
    multi_token
        How a masked model scores a target of several pieces: ``masks``, ``first`` or ``product``.
    cache
        Where digests and converted GGUF files are kept; without it, a folder beside the assets.
    """
    one_of("stats.lpbs_causal", causal, LPBS_CAUSAL)
    one_of("stats.lpbs_multi_token", multi_token, LPBS_MULTI_TOKEN)
    folder = folder_of(find_weights(model, cache=cache), cache=cache)
    return PairScorer(str(model["name"]), folder, model, causal=causal, multi_token=multi_token)


class PairScorer:
    """Scores sentences that hold a target and an attribute.

    Attributes
    ----------
    head
        ``masked`` or ``causal``.
    estimator
        ``masked``, ``sentence`` or ``left``: what a score is.
    """

    def __init__(self, name: str, folder: Path, model: Mapping[str, Any], *, causal: str, multi_token: str) -> None:
        self.name = name
        self._folder = folder
        self._options = TransformerOptions.from_config(model)
        self._multi_token = multi_token
        about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        classes = [str(value) for value in about.get("architectures") or ()]
        head = head_of(classes)
        if head is None:
            raise HarnessError(
                f"{name} ({', '.join(classes) or 'no architecture named'}) has no head that gives probabilities of "
                "words: lpbs needs a masked or a causal language model, such as model=bert-base-uncased or "
                "model=smollm2."
            )
        self.head: str = head
        self.estimator = "masked" if head == "masked" else causal
        self._tokenizer = open_tokenizer(name, folder)
        limits = [n for n in (about.get("max_position_embeddings"), self._options.max_length) if n]
        self._tokens = ContextTokenizer(self._tokenizer, name, bos=self._options.bos, limit=min(limits, default=None))
        if head == "masked" and self._tokenizer.mask_token_id is None:
            raise HarnessError(
                f"The tokenizer of {name} has no mask token, so that nothing can be masked: lpbs needs one with a "
                "masked language model; check tokenizer_config.json."
            )
        self._model: HeadModel | None = None

    @property
    def passes(self) -> int:
        """Rows that went through the model so far."""
        return 0 if self._model is None else self._model.passes

    def tokens(self, sentences: Sequence[PairContext]) -> list[TokenPair]:
        """Return sentences as tokens."""
        return tokenised(self._tokens, sentences)

    def unknown(self, pieces: Sequence[int]) -> bool:
        """Return whether nothing of a word is in the vocabulary."""
        return self._tokenizer.unk_token_id is not None and set(pieces) == {self._tokenizer.unk_token_id}

    def score(
        self, sentences: Sequence[PairContext], *, prior: bool, advance: Callable[[int], None] = silent
    ) -> NDArray[np.float64]:
        """Return the log-probability of each sentence's target (``left``, ``masked``) or of the whole (``sentence``).

        Parameters
        ----------
        sentences
            Sentences with both spans. A causal model's prior is that of sentences with a neutral attribute: hand
            those in.
        prior
            Mask the attribute too; without effect on a causal model.
        advance
            Told how many sentences were scored, as they are.
        """
        if self._model is None:
            self._model = HeadModel(
                self.name,
                self._folder,
                head=self.head,
                dtype=self._options.dtype,
                device=self._options.device,
                budget=self._options.token_budget,
                pad_id=self._tokens.pad,
                typed=self._tokens.typed,
            )
        requests = [
            self._request(tokens, prior, pair.text)
            for tokens, pair in zip(self.tokens(sentences), sentences, strict=True)
        ]
        return self._model.log_probabilities(requests, advance=advance)

    def _request(self, sentence: TokenPair, prior: bool, text: str) -> Request:
        if self.head == "causal":
            return causal_request(sentence, estimator=self.estimator, text=text)
        mask = int(self._tokenizer.mask_token_id)
        return masked_request(sentence, mask=mask, prior=prior, multi_token=self._multi_token)
