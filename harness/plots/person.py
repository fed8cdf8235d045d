"""What the figures of a word in intersectional contexts call it, and the two ends of its projection."""

from __future__ import annotations

from harness.result import Result


def stimulus(result: Result) -> str:
    """Return the word that all sentences are about; several, if the test has them."""
    return ", ".join(result.words["W"]["used"])


def poles(result: Result) -> tuple[str, str]:
    """Return what a large and what a small projection are near to."""
    first, _, second = result.labels.get("poles", "first pole v second pole").partition(" v ")
    return first, second
