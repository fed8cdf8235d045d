"""Errors that are a sentence for the person at the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HarnessError(Exception):
    """A user's mistake or a missing thing: shown as one line, exit code 2."""


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return `` Did you mean …?`` with the nearest options, or an empty string."""
    lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(name.lower(), list(lower), n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(lower[n] for n in near)}?" if near else ""
