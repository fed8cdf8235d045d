"""Names in the order that people count: w2 before w10."""

from __future__ import annotations

import re


def natural_key(name: str) -> list[tuple[str, int]]:
    """Return a sort key that compares digits as numbers."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", name)]
