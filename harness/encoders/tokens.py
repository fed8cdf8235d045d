"""Contexts become rows of token ids: tokenised once, the stimulus' subwords found, long texts cut around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.contexts import Context
from harness.encoders.alignment import Alignment, Window, align, bare_markers, window
from harness.errors import HarnessError

BOS = ("auto", "none")

_LONGEST = 1_000_000
"""A tokenizer that knows no limit of its model names a huge number."""


@dataclass(slots=True)
class Row:
    """What goes through the model once, and whose vectors are read from it: (context, subwords of its stimulus)."""

    ids: list[int]
    types: list[int]
    read: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)


@dataclass
class Tally:
    """What was encoded so far.

    Attributes
    ----------
    contexts
        Contexts asked for.
    rows
        Texts that went through the model; contexts of one text share a row.
    windowed
        Contexts whose text is longer than the model takes.
    straddling
        Subwords that the stimulus shares with its neighbours.
    """

    contexts: int = 0
    rows: int = 0
    windowed: int = 0
    straddling: int = 0


class ContextTokenizer:
    """Wraps the tokenizer of a model.

    Attributes
    ----------
    bos
        The token put before each text, or None: ``auto`` adds the one that the tokenizer has and does not add itself
        (GPT-Neo and XLNet among the models of omrani2023), ``none`` leaves it to the tokenizer.
    cls
        The id of the tokenizer's token for the whole sequence, if it adds one.
    cls_first
        Whether that token comes first, as in BERT.
    pad
        The id that fills up; the attention mask covers it.
    typed
        Whether the model must be told token types. Only where they are not all 0, as in XLNet, which was trained so: 0
        is the default of every model that has them, and GPT-2 takes them for words.
    limit
        Tokens that the model takes, or None.
    """

    def __init__(self, tokenizer: Any, name: str, *, bos: str, limit: int | None) -> None:
        if not tokenizer.is_fast:
            raise HarnessError(
                f"Model {name} has only a slow tokenizer ({type(tokenizer).__name__}), which does not tell the "
                "characters of its pieces: choose a model with a fast tokenizer (tokenizer.json)."
            )
        self.name = name
        self.tally = Tally()
        self._tokenizer = tokenizer
        if not self.ordinary_ids(1):
            raise HarnessError(
                f"Model {name} has a tokenizer without a vocabulary: put tokenizer.json, or the vocabulary's files, "
                "beside its config.json."
            )
        self._bare = bare_markers(tokenizer.get_vocab())
        sample = tokenizer("a", return_token_type_ids=True)
        ids, types = list(sample["input_ids"]), list(sample["token_type_ids"])
        self.typed = any(types)
        self.cls = tokenizer.cls_token_id if tokenizer.cls_token_id in ids else None
        self.cls_first = self.cls is not None and ids[0] == self.cls
        has_bos = tokenizer.bos_token_id is not None and ids[:1] != [tokenizer.bos_token_id]
        self.bos: int | None = tokenizer.bos_token_id if bos == "auto" and has_bos else None
        first = ids[0] if self.bos is None else self.bos
        self.begins_with = str(tokenizer.convert_ids_to_tokens(first)) if first in tokenizer.all_special_ids else ""
        self.pad = int(tokenizer.pad_token_id or 0)
        limits = [int(n) for n in (tokenizer.model_max_length, limit) if n is not None and 0 < n < _LONGEST]
        self.limit = min(limits, default=None)

    def ordinary_ids(self, count: int) -> list[int]:
        """Return ids of the vocabulary that have no special meaning."""
        special = set(self._tokenizer.all_special_ids)
        return [number for number in sorted(self._tokenizer.get_vocab().values()) if number not in special][:count]

    def rows(self, contexts: Sequence[Context], *, first: int = 0) -> list[Row]:
        """Return the rows of contexts; each distinct text, or window of a long one, is one row.

        Parameters
        ----------
        contexts
            Texts with the span of the stimulus.
        first
            The number of the first context.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(context.text for context in contexts))}
        encoded = self._tokenizer(
            list(places),
            padding=False,
            truncation=False,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            return_token_type_ids=True,
            return_attention_mask=False,
            verbose=False,
        )
        rows: dict[tuple[int, Window | None], Row] = {}
        for number, context in enumerate(contexts, start=first):
            place = places[context.text]
            ids, special = encoded["input_ids"][place], encoded["special_tokens_mask"][place]
            aligned = align(
                context.text,
                context.start,
                context.end,
                ids=ids,
                offsets=encoded["offset_mapping"][place],
                bare=self._bare,
            )
            if not aligned.pieces:
                raise HarnessError(
                    f"The tokenizer of {self.name} leaves nothing of {context.stimulus!r} in {context.text!r}: "
                    "it has no vector."
                )
            seen = self._window(context, aligned, special)
            row = rows.get((place, seen))
            if row is None:
                row = rows[place, seen] = self._row(ids, encoded["token_type_ids"][place], special, seen)
            shift = (self.bos is not None) + (_prefix(special) - seen.first if seen else 0)
            row.read.append((number, tuple(piece + shift for piece in aligned.pieces)))
            self.tally.straddling += aligned.straddling
            self.tally.windowed += seen is not None
        self.tally.contexts += len(contexts)
        self.tally.rows += len(rows)
        return list(rows.values())

    def _window(self, context: Context, aligned: Alignment, special: list[int]) -> Window | None:
        total = len(special) + (self.bos is not None)
        if self.limit is None or total <= self.limit:
            return None
        content = len(special) - sum(special)
        room = self.limit - (total - content)
        seen = window(aligned, prefix=_prefix(special), content=content, room=room)
        if seen is None:
            raise HarnessError(
                f"{self.name} takes {room} tokens, the stimulus {context.stimulus[:60]!r} alone has "
                f"{aligned.pieces[-1] + 1 - aligned.pieces[0]}; it cannot be encoded whole."
            )
        return seen

    def _row(self, ids: list[int], types: list[int], special: list[int], seen: Window | None) -> Row:
        def whole(values: list[int], before: list[int]) -> list[int]:
            if seen is None:
                return before + values
            prefix = _prefix(special)
            suffix = sum(special) - prefix
            return before + values[:prefix] + values[seen.first : seen.stop] + values[len(values) - suffix :]

        bos = [] if self.bos is None else [self.bos]
        return Row(whole(ids, bos), whole(types, [0] * len(bos)))


def _prefix(special: list[int]) -> int:
    """Return how many special tokens stand before the text."""
    return special.index(0)
