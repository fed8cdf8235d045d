"""What a reader should know of stimuli that a static model reads as something else: one line a cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from harness.result import Result

MEAN = "mean of "
_FEW = 4


def warnings(result: Result) -> list[str]:
    """Return one line about stimuli folded into one by case or read as the mean of several words, if there are any."""
    parts = [*folded(result.words, result.forms)]
    means = [word for word, form in result.forms.items() if form.startswith(MEAN)]
    if means:
        parts.append(f"read as the mean of several words: {_few(means)}")
    where = f"{result.factors['test']} on {result.factors['model']}"
    return [f"{where}: {'; '.join(parts)}"] if parts else []


def folded(words: Mapping[str, Mapping[str, list[str]]], forms: Mapping[str, str]) -> list[str]:
    """Say which different stimuli of a test are one and the same key of the vocabulary."""
    keys: dict[str, dict[str, str]] = defaultdict(dict)
    for slot, sets in words.items():
        for word in sets["used"]:
            keys[forms.get(word, word)].setdefault(word, f"{word} ({slot})")
    return [f"{' and '.join(own.values())} are read as one word, {key}" for key, own in keys.items() if len(own) > 1]


def _few(words: list[str]) -> str:
    return ", ".join(words[:_FEW]) + (f" and {len(words) - _FEW} more" if len(words) > _FEW else "")
