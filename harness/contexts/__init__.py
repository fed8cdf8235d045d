"""Texts that hold a stimulus, with the place where it stands."""

from harness.contexts.context import Context, Contexts, PairContext

__all__ = ["Context", "Contexts", "PairContext"]
