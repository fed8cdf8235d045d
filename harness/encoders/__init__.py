"""Encoders: what turns stimuli into vectors."""

from harness.encoders.static import Lookup, StaticEncoder, open_static, static_identity

__all__ = ["Lookup", "StaticEncoder", "open_static", "static_identity"]
