"""A p-value as people print it."""

from __future__ import annotations


def format_p(p: float, log10_p: float | None = None) -> str:
    """Return .023 as ``.023``, 3.1e-8 as ``3.1e-08``, and a p that underflows by its exponent."""
    if p <= 0 and log10_p is not None:
        return f"1e{log10_p:.0f}"
    if p < 0.001:
        return f"{p:.1e}"
    return f"{p:.3f}".removeprefix("0")
