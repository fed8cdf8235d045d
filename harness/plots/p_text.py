"""A p-value as people print it."""

from __future__ import annotations

from math import isinf


def format_p(p: float, log10_p: float | None = None) -> str:
    """Return .023 as ``.023``, 3.1e-8 as ``3.1e-08``, and a p that underflows by its exponent, if that is known."""
    if p <= 0:
        return "0" if log10_p is None or isinf(log10_p) else f"1e{log10_p:.0f}"
    if p < 0.001:
        return f"{p:.1e}"
    return f"{p:.3f}".removeprefix("0")
