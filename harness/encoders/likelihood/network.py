"""A language model with its head: sums of log-probabilities for requests, each distinct row through it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.encoders.batching import buckets, pad
from harness.encoders.likelihood.sentences import Request
from harness.encoders.pretrained import open_network
from harness.encoders.torch_setup import import_torch, import_transformers, usable_device
from harness.errors import HarnessError

FloatArray = NDArray[np.float64]

LARGEST_BATCH = 1_024
"""Tokens of a batch at most: every token has a number for each word of the vocabulary."""

FEWEST_ENDINGS = 4
"""A beginning is read by itself if so many sentences go on from it; others are read whole, in larger batches."""

_CLASSES = {"masked": "AutoModelForMaskedLM", "causal": "AutoModelForCausalLM"}


def silent(_: int) -> None:
    """Tell nobody."""


class HeadModel:
    """A masked or a causal language model.

    Attributes
    ----------
    passes
        Rows that went through the model so far; the shared beginning of several rows is one row.
    """

    def __init__(
        self, name: str, folder: Path, *, head: str, dtype: str, device: str, budget: int, pad_id: int, typed: bool
    ) -> None:
        self._torch = import_torch()
        self._device = usable_device(self._torch, device)
        self._budget, self._pad, self._typed = min(budget, LARGEST_BATCH), pad_id, typed
        self._network = _load(name, folder, head, getattr(self._torch, dtype), self._device)
        self.passes = 0
        self._remembers = head == "causal" and self._probe(name)

    def log_probabilities(self, requests: Sequence[Request], *, advance: Callable[[int], None] = silent) -> FloatArray:
        """Return the sum of the log-probabilities that each request reads.

        Parameters
        ----------
        requests
            What is asked; requests of the same tokens share a row.
        advance
            Told how many requests were answered, as they are.
        """
        found = np.zeros(len(requests))
        outstanding = np.array([len(request.reads) for request in requests])
        alone, families = self._sorted(requests)
        for answered, values in chain(self._whole_rows(requests, alone), self._beginnings(requests, families)):
            np.add.at(found, answered, values)
            np.subtract.at(outstanding, answered, 1)
            advance(int((outstanding[np.unique(answered)] == 0).sum()))
        return found

    def _sorted(self, requests: Sequence[Request]) -> tuple[list[int], dict[tuple[int, ...], list[int]]]:
        """Return the requests that are read whole, and the others by the beginning that they share."""
        if not self._remembers:
            return list(range(len(requests))), {}
        families: dict[tuple[int, ...], list[int]] = {}
        for number, request in enumerate(requests):
            families.setdefault(request.ids[: request.shared], []).append(number)
        large = {beginning: own for beginning, own in families.items() if len(own) >= FEWEST_ENDINGS}
        return [number for beginning, own in families.items() if beginning not in large for number in own], large

    def _whole_rows(
        self, requests: Sequence[Request], numbers: Sequence[int]
    ) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
        members: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for number in numbers:
            members.setdefault((requests[number].ids, requests[number].types), []).append(number)
        rows = list(members)
        for bucket in buckets([len(ids) for ids, _ in rows], budget=self._budget):
            batch = [rows[place] for place in bucket]
            logits = self._run(batch).logits
            reads = [
                (number, row, place, token)
                for row, key in enumerate(batch)
                for number in members[key]
                for place, token in requests[number].reads
            ]
            yield self._read(logits, reads)

    def _beginnings(
        self, requests: Sequence[Request], families: Mapping[tuple[int, ...], list[int]]
    ) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
        """Read every shared beginning once, keep what the model remembers of it, and go on with each ending."""
        by_length: dict[int, list[tuple[int, ...]]] = {}
        for beginning in families:
            by_length.setdefault(len(beginning), []).append(beginning)
        for length, beginnings in sorted(by_length.items(), reverse=True):
            size = max(1, self._budget // length)
            for begin in range(0, len(beginnings), size):
                batch = beginnings[begin : begin + size]
                output = self._run([(ids, (0,) * length) for ids in batch], remember=True)
                reads = [
                    (number, row, place, token)
                    for row, beginning in enumerate(batch)
                    for number in families[beginning]
                    for place, token in requests[number].reads
                    if place < length
                ]
                if reads:
                    yield self._read(output.logits, reads)
                yield from self._endings(requests, families, batch, output.past_key_values, length)

    def _endings(
        self,
        requests: Sequence[Request],
        families: Mapping[tuple[int, ...], list[int]],
        batch: Sequence[tuple[int, ...]],
        memory: Any,
        length: int,
    ) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
        members: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for row, beginning in enumerate(batch):
            for number in families[beginning]:
                ending = requests[number].ids[length:]
                if ending:
                    members.setdefault((row, ending), []).append(number)
        rows = list(members)
        for bucket in buckets([len(ending) for _, ending in rows], budget=self._budget):
            chosen = [rows[place] for place in bucket]
            logits = self._continue(memory, [row for row, _ in chosen], [ending for _, ending in chosen], length)
            yield self._read(
                logits,
                [
                    (number, at, place - length, token)
                    for at, key in enumerate(chosen)
                    for number in members[key]
                    for place, token in requests[number].reads
                    if place >= length
                ],
            )

    def _continue(self, memory: Any, rows: list[int], endings: list[tuple[int, ...]], length: int) -> Any:
        """Return the logits of endings, each after the beginning of the row that it belongs to."""
        torch = self._torch
        kept = _selected(memory, torch.tensor(rows, device=self._device))
        ids = torch.from_numpy(pad(endings, value=self._pad))
        lengths = torch.tensor([length + len(ending) for ending in endings])
        inputs = {"input_ids": ids, "attention_mask": (torch.arange(length + ids.shape[1]) < lengths[:, None]).long()}
        self.passes += len(rows)
        with torch.inference_mode():
            inputs = {key: value.to(self._device) for key, value in inputs.items()}
            return self._network(**inputs, past_key_values=kept, use_cache=True, return_dict=True).logits

    def _run(self, rows: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], *, remember: bool = False) -> Any:
        torch = self._torch
        ids = torch.from_numpy(pad([ids for ids, _ in rows], value=self._pad))
        lengths = torch.tensor([len(ids) for ids, _ in rows])
        inputs = {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}
        if self._typed:
            inputs["token_type_ids"] = torch.from_numpy(pad([types for _, types in rows], value=0))
        more = {"use_cache": True} if remember else {}
        self.passes += len(rows)
        with torch.inference_mode():
            inputs = {key: value.to(self._device) for key, value in inputs.items()}
            return self._network(**inputs, **more, return_dict=True)

    def _read(self, logits: Any, reads: Sequence[tuple[int, int, int, int]]) -> tuple[NDArray[np.int64], FloatArray]:
        """Return (request, log P) of every (request, row, place, token); the normaliser of a place is summed once."""
        torch = self._torch
        with torch.inference_mode():
            places: dict[tuple[int, int], int] = {}
            where = [places.setdefault((row, place), len(places)) for _, row, place, _ in reads]
            rows, columns = (torch.tensor([key[i] for key in places], device=self._device) for i in (0, 1))
            chosen = logits[rows, columns].float()
            normaliser = torch.logsumexp(chosen, dim=-1).double()
            tokens = torch.tensor([token for *_, token in reads], device=self._device)
            at = torch.tensor(where, device=self._device)
            values = chosen[at, tokens].double() - normaliser[at]
        return np.array([number for number, *_ in reads], dtype=np.int64), values.cpu().numpy()

    def _probe(self, name: str) -> bool:
        """Return whether a causal model can go on from a beginning that it has read; the first GPT cannot.

        A model whose probabilities at a place depend on what comes later, such as XLNet, is refused.
        """
        one, other = self._ordinary()
        first, second = ((one, one, one), (0, 0, 0)), ((one, one, other), (0, 0, 0))
        output = self._run([first, second], remember=True)
        logits = output.logits[:, :2].double()
        self.passes = 0
        if float((logits[0] - logits[1]).abs().max()) > 1e-4 * float(logits.abs().max()):
            raise HarnessError(
                f"{name} lets a word see what follows it, so that it has no probability of a sentence from left to "
                "right: lpbs needs a masked or a causal language model."
            )
        return hasattr(getattr(output, "past_key_values", None), "layers")

    def _ordinary(self) -> tuple[int, int]:
        size = int(self._network.config.vocab_size)
        return size // 2, size // 2 - 1


def _selected(memory: Any, rows: Any) -> Any:
    """Return what a model remembers of these rows, as a memory of its own: the model writes into it."""
    kept = import_transformers().DynamicCache()
    for number, layer in enumerate(memory.layers):
        kept.update(layer.keys[rows], layer.values[rows], number)
    return kept


def _load(name: str, folder: Path, head: str, dtype: Any, device: Any) -> Any:
    """Return the network of a folder with its head."""
    network, missing = open_network(_CLASSES[head], name, folder, dtype)
    lacking = [key for key in missing if "pooler" not in key.split(".")]
    if lacking:
        raise HarnessError(
            f"The weights of {name} lack {len(lacking)} parameters of its {head} language-model head ({min(lacking)} "
            "…), so that it gives no probabilities: lpbs needs a masked or a causal language model with its head."
        )
    return network.to(device)
