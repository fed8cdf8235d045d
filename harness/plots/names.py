"""Names of stimuli, tests and cells as figures print them."""

from __future__ import annotations

import textwrap

from harness.result import Result


def concept_label(name: str, *, width: int | None = None) -> str:
    """Return ``caliskan2017/european_american_names_32`` as ``european american names 32``, wrapped if asked."""
    label = name.rpartition("/")[2].replace("_", " ")
    return label if width is None else textwrap.fill(label, width, break_long_words=False)


def cell_label(result: Result) -> str:
    """Return what a figure is about: the test, the model, and the corpus if its contexts come from one."""
    return f"{result.factors['test']} on {result.factors['model']}{in_corpus(result)}"


def in_corpus(result: Result) -> str:
    """Return `` in gutenberg`` where a cell's contexts come from that corpus, or nothing."""
    kind, _, source = str(result.factors.get("context")).partition("/")
    return f" in {source.partition('/')[0]}" if kind in ("corpus", "pairs_corpus") else ""
