"""Packages that only corpora need."""

from __future__ import annotations

import importlib
from typing import Any

from harness.errors import HarnessError


def need(module: str) -> Any:
    """Import a package of the extra ``corpus``, or say in one sentence how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise HarnessError(
            f"Building a corpus needs the package {module}: pip install 'eat-harness[corpus]'."
        ) from None
