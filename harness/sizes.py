"""Numbers of bytes as people read them."""

from __future__ import annotations


def size_text(size: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> [size_text(n) for n in (12, 123_456_789, 5e9)]
    ['12 bytes', '123 MB', '5.0 GB']
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
