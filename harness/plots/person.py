"""What the figures of a word in intersectional contexts call it and its two poles, and how they print shares."""

from __future__ import annotations

from harness.result import Result


def stimulus(result: Result) -> str:
    """Return the word that all sentences are about; several, if the test has them."""
    return ", ".join(result.words["W"]["used"])


def poles(result: Result) -> tuple[str, str]:
    """Return what a large and what a small projection are near to."""
    first, _, second = result.labels.get("poles", "first pole v second pole").partition(" v ")
    return first, second


def per_cent(share: float) -> str:
    """Return a share as people print it; what is neither none nor all is not rounded to it."""
    if 0 < share < 0.005:
        return "< 1 %"
    if 0.995 <= share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"
