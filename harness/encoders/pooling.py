"""From the vectors of tokens to one vector a context: which tokens each view averages."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.encoders.protocol import View
from harness.encoders.tokens import Row


def view_tokens(view: View, row: Row, pieces: tuple[int, ...], *, sentence: str, cls: int | None) -> Sequence[int]:
    """Return the tokens of a row whose vectors a view averages.

    Parameters
    ----------
    view
        ``mean``, ``first``, ``last`` of the stimulus' subwords, ``sentence``.
    row
        The text's tokens.
    pieces
        The stimulus' subwords among them.
    sentence
        The rule for the whole text: ``cls``, ``last`` or ``mean`` (every token that is not padding).
    cls
        The id of the tokenizer's token for the whole sequence.
    """
    match view, sentence:
        case ("mean", _):
            return pieces
        case ("first", _):
            return pieces[:1]
        case ("last", _):
            return pieces[-1:]
        case (_, "cls"):
            return [row.ids.index(cls)] if cls is not None else []
        case (_, "last"):
            return [len(row.ids) - 1]
        case _:
            return range(len(row.ids))


class Pool:
    """Averages chosen tokens of a batch; made once for a view and used on every layer."""

    def __init__(self, torch: ModuleType, chosen: Sequence[tuple[int, Sequence[int]]], *, width: int, device: Any):
        """Take for each context the row that it is read from and the tokens chosen there.

        Parameters
        ----------
        torch
            The module.
        chosen
            For each context, its row and the places of tokens in it.
        width
            Tokens of a row, padding included.
        device
            Where the hidden states are.
        """
        self._torch = torch
        counts = np.array([len(tokens) for _, tokens in chosen])
        index = np.array([row * width + token for row, tokens in chosen for token in tokens], dtype=np.int64)
        self._index = torch.from_numpy(index).to(device)
        self._single = bool((counts == 1).all())
        self._owners = torch.from_numpy(np.repeat(np.arange(len(chosen)), counts)).to(device)
        self._counts = torch.from_numpy(counts).to(device)

    def __call__(self, hidden: Any) -> NDArray[np.float32]:
        """Return one vector a context from hidden states, rows × width × dimensions."""
        torch = self._torch
        with torch.inference_mode():
            picked = hidden.flatten(0, 1)[self._index]
            # Half precision is not enough to add up many vectors.
            picked = picked if picked.dtype == torch.float64 else picked.float()
            if not self._single:
                sums = picked.new_zeros(len(self._counts), picked.shape[-1])
                picked = sums.index_add_(0, self._owners, picked) / self._counts[:, None]
            return np.asarray(picked.to("cpu", torch.float32).numpy())
