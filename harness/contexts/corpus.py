"""Sentences that people wrote: the stored sample of a corpus as a source of contexts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.contexts.context import Context, Contexts
from harness.contexts.window import windowed
from harness.errors import HarnessError
from harness.paths import runs_dir
from harness.stimuli.schema import Concept

KEPT_STIMULI = 4_000
"""Texts are kept in memory for so many stimuli."""


class CorpusSource:
    """The contexts of a stimulus in a corpus, those with the smallest keys first.

    ``identity`` is the digest of the stored sample. The first n contexts are a uniform sample of all, and the same n
    for every model, so that ``contexts=1000`` is a part of ``contexts=10000``.
    """

    def __init__(self, folder: Path, *, window: int | None, contexts: int | None) -> None:
        from harness.corpus.manifest import SAMPLE, Manifest
        from harness.corpus.merge import sample_of

        manifest = Manifest.load(folder)
        self.window = manifest.window if window is None else window
        self.identity = manifest.digest
        self.label = "/".join(
            ["corpus", manifest.name, f"window{self.window}", *([] if contexts is None else [f"n{contexts}"])]
        )
        self._name, self._limit = manifest.name, contexts
        self._searched = {(pattern.key, pattern.cased) for pattern in manifest.patterns}
        self._sample = sample_of(folder / SAMPLE, digest=manifest.digest)
        self._read = lru_cache(maxsize=KEPT_STIMULI)(self._contexts)

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the contexts of one stimulus; none if the corpus does not hold it."""
        from harness.corpus.patterns import is_cased, pattern_key

        cased = is_cased(concept)
        return self._read(word, pattern_key(word, cased=cased), cased)

    def _contexts(self, word: str, key: str, cased: bool) -> Contexts:
        if (key, cased) not in self._searched:
            raise HarnessError(
                f"The corpus {self._name} was not searched for {word!r} ({'a name' if cased else 'any case'}): "
                f"build it again with --test FILE or --stimuli DIR"
            )
        rows = self._sample.contexts(key, cased=cased)
        if rows is None:
            return Contexts()
        rows = rows.slice(0, self._limit) if self._limit is not None else rows
        texts, starts, ends = (rows[name].to_pylist() for name in ("text", "start", "end"))
        return Contexts(
            windowed(Context(text, start, end), words=self.window)
            for text, start, end in zip(texts, starts, ends, strict=True)
        )


def corpus_folder(config: Mapping[str, Any]) -> Path:
    """Return the folder of the corpus that a config of the group ``context`` names."""
    from harness.corpus.manifest import corpora_dir, find_corpus

    if not config.get("corpus"):
        name = config["name"]
        raise HarnessError(f"context={name} has no corpus: set context.corpus to a name of `harness corpus ls`.")
    folder = Path(config["folder"]).expanduser() if config.get("folder") else corpora_dir(runs_dir())
    return find_corpus(str(config["corpus"]), folder)


def corpus_stamp(config: Mapping[str, Any]) -> int:
    """Return when the sample of a corpus was written."""
    from harness.corpus.manifest import SAMPLE

    sample = corpus_folder(config) / SAMPLE
    return sample.stat().st_mtime_ns if sample.is_file() else 0  # that it is gone, opening it tells


def corpus_source(config: Mapping[str, Any], stimuli: str | Path | None) -> CorpusSource:
    """Return the source of a config: ``corpus``, ``window`` (words on each side, 0: all), ``contexts`` (how many)."""
    window, contexts = config.get("window"), config.get("contexts")
    if window is not None and int(window) < 0:
        raise HarnessError(f"context.window={window}: is a number of words on each side, or 0 for the sentence.")
    if contexts is not None and int(contexts) < 1:
        raise HarnessError(f"context.contexts={contexts}: must be 1 or more, or null for all that are stored.")
    return CorpusSource(
        corpus_folder(config),
        window=None if window is None else int(window),
        contexts=None if contexts is None else int(contexts),
    )
