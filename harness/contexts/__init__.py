"""Texts that hold a stimulus, with the place where it stands."""

from harness.contexts.context import Context, Contexts, ImageContext, PairContext

__all__ = ["Context", "Contexts", "ImageContext", "PairContext"]
