"""Measure associations in embeddings, and audit the methods that claim to measure them.

In a notebook::

    import harness

    test = harness.load_test("c1")
    found = harness.weat(test.X, test.Y, test.A, test.B, vectors)  # a gensim KeyedVectors, or a dict of arrays
    found.d, found.p.p

    harness.load_results("runs")  # every recorded cell as a data frame
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import ceat, mleat, weat, wefat
    from harness.methods.rank import rank_vocabulary
    from harness.methods.wefat import compare_scores
    from harness.published import load_published
    from harness.stimuli import load_concept, load_test
    from harness.tables import load_results

_PUBLIC = {
    "weat": "harness.api",
    "mleat": "harness.api",
    "wefat": "harness.api",
    "ceat": "harness.api",
    "compare_scores": "harness.methods.wefat",
    "rank_vocabulary": "harness.methods.rank",
    "load_test": "harness.stimuli",
    "load_concept": "harness.stimuli",
    "load_results": "harness.tables",
    "load_published": "harness.published",
}

__all__ = [
    "ceat",
    "compare_scores",
    "load_concept",
    "load_published",
    "load_results",
    "load_test",
    "mleat",
    "rank_vocabulary",
    "weat",
    "wefat",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
