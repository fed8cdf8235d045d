"""Targets that are one piece of a model's vocabulary: the reduced word sets of husse2022 (Appendix B.2, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.contexts import Context
from harness.encoders.pretrained import open_tokenizer
from harness.encoders.tokens import ContextTokenizer
from harness.encoders.transformer import TransformerOptions, folder_of
from harness.encoders.weights import find_weights
from harness.errors import HarnessError
from harness.stimuli import AssociationTest, load_test

_BEFORE, _AFTER = "This is ", "."
"""Where a word stands when its pieces are counted: a byte-level vocabulary has other pieces at the start of a text."""


@dataclass(frozen=True)
class Retained:
    """A set of targets of a test, and how many of them are one piece of a vocabulary."""

    test: str
    model: str
    slot: str
    concept: str
    listed: int
    kept: int

    @property
    def share(self) -> float:
        """The share of targets that are left."""
        return self.kept / self.listed


def retained(test: str, model: Mapping[str, Any], *, target: str | None) -> list[Retained]:
    """Return how many targets of X and of Y a reduction to the model's vocabulary leaves."""
    found = _association_test(test, target)
    name = str(model["name"])
    return [
        Retained(test, name, slot, concept.name, len(concept.words), len(in_vocabulary(concept.words, model)))
        for slot, concept in (("X", found.X), ("Y", found.Y))
    ]


def _association_test(name: str, target: str | None, stimuli: str | None = None) -> AssociationTest:
    found = load_test(name, target=target, stimuli=stimuli)
    if not isinstance(found, AssociationTest):
        raise HarnessError(f"{name} has no two sets of targets, so that nothing is reduced.")
    return found


def in_vocabulary(words: Sequence[str], model: Mapping[str, Any]) -> list[str]:
    """Return the words that the tokenizer of a model leaves whole, and knows."""
    if model["kind"] != "transformer":
        raise HarnessError(f"{model['name']} has no vocabulary of pieces to reduce words to.")
    tokenizer = open_tokenizer(str(model["name"]), folder_of(find_weights(model)))
    tokens = ContextTokenizer(tokenizer, str(model["name"]), bos=TransformerOptions.from_config(model).bos, limit=None)
    kept = []
    for word in words:
        (row,) = tokens.rows([Context(f"{_BEFORE}{word}{_AFTER}", len(_BEFORE), len(_BEFORE) + len(word))])
        ((_, pieces),) = row.read
        if len(pieces) == 1 and row.ids[pieces[0]] != tokenizer.unk_token_id:
            kept.append(word)
    return kept


def reduced_to_vocabulary(config: dict[str, Any]) -> dict[str, Any]:
    """Return a config whose test holds only the targets that are one piece of its model's vocabulary."""
    test = _association_test(config["test"]["name"], config["target"], config["paths"].get("stimuli"))
    slots = {slot: getattr(test, slot) for slot in "XYAB"}
    words = {slot: list(concept.words) for slot, concept in slots.items()}
    for slot in "XY":
        words[slot] = in_vocabulary(words[slot], config["model"])
        if len(words[slot]) < 2:
            raise HarnessError(
                f"{len(words[slot])} of the {len(slots[slot].words)} targets of {test.name}, {slot}, are one piece of "
                f"the vocabulary of {config['model']['name']}; at least two are needed"
            )
    inline = {slot: {"name": slots[slot].name, "kind": slots[slot].kind, "words": words[slot]} for slot in slots}
    return {**config, "test": {"name": test.name, "kind": "association", **inline}, "target": None, "unequal": "keep"}
