"""Scores of sentences on disk: each sentence is scored once under one model and estimator, whatever the test."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.blockfile import SUFFIX, TEMPORARY, DamagedBlockError, check_digest, read_header, read_tensor, write_block
from harness.contexts import PairContext
from harness.contexts.pairs import pair_key
from harness.encoders.likelihood import PairScorer
from harness.progress import Progress, silent
from harness.store import ROWS, BlockStore, encoder_id

SCORES = "scores"
"""The folder that holds the scores of a model and estimator, where an encoder has its sources of texts."""

_KEY = 16


class ScoreStore:
    """The scores of one model and estimator: files of (digest of a sentence, log-probability), never rewritten.

    They lie in the store of vectors as the blocks of one more encoder, so that whatever looks after that store looks
    after them: a row of ``harness store ls`` counts sentences for texts.
    """

    def __init__(self, store: Path, identity: Mapping[str, Any]) -> None:
        self._blocks = BlockStore(store)
        self._id = encoder_id(identity)
        self.folder = store / self._id / SCORES
        self._identity = json.dumps(dict(identity), sort_keys=True, ensure_ascii=False)
        self._known: dict[bytes, float] = {}
        self._read: set[Path] = set()

    def scores(
        self, scorer: PairScorer, sentences: Sequence[PairContext], *, prior: bool, progress: Progress = silent
    ) -> NDArray[np.float64]:
        """Return a score for each sentence; those that no process has scored before are scored, and kept."""
        mark = b"\1" if prior and scorer.head == "masked" else b"\0"
        keys = [hashlib.sha256(mark + pair_key(sentence)).digest()[:_KEY] for sentence in sentences]
        if not self._known.keys() >= set(keys):
            self._complete(scorer, dict(zip(keys, sentences, strict=True)), prior=prior, progress=progress)
        return np.array([self._known[key] for key in keys])

    def _complete(
        self, scorer: PairScorer, wanted: Mapping[bytes, PairContext], *, prior: bool, progress: Progress
    ) -> None:
        from filelock import FileLock

        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / ".lock"):
            for left in self.folder.glob(f"{TEMPORARY}*"):
                left.unlink(missing_ok=True)
            self._load()
            missing = {key: sentence for key, sentence in wanted.items() if key not in self._known}
            if not missing:
                return
            self._blocks.describe(self._id, {"name": scorer.name, "identity": json.loads(self._identity)})
            what, started = "priors" if prior else "sentences", time.monotonic()
            with progress(f"{scorer.name}: {len(missing):,} {what} to score", len(missing)) as advance:
                found = scorer.score(list(missing.values()), prior=prior, advance=advance)
            self._write(list(missing), found)
            self._blocks.count(self._id, texts=len(missing), seconds=time.monotonic() - started)

    def _write(self, keys: Sequence[bytes], scores: NDArray[np.float64]) -> None:
        path = self.folder / f"{hashlib.sha256(b''.join(keys)).hexdigest()[:32]}{SUFFIX}"
        rows = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), _KEY)
        # As bytes, because a block knows no float64 and a score keeps all its digits.
        numbers = np.ascontiguousarray(scores, dtype="<f8").view(np.uint8).reshape(len(keys), 8)
        write_block(path, {ROWS: rows, "scores": numbers}, {"encoder": self._identity})
        self._known |= dict(zip(keys, scores.tolist(), strict=True))
        self._read.add(path)

    def _load(self) -> None:
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            if path in self._read:
                continue
            try:
                header = read_header(path)
                check_digest(path, header)
                rows = np.ascontiguousarray(read_tensor(path, header.tensors[ROWS]))
                numbers = np.ascontiguousarray(read_tensor(path, header.tensors["scores"])).view("<f8").ravel()
            except (DamagedBlockError, KeyError):
                path.unlink(missing_ok=True)
                continue
            self._known |= {row.tobytes(): float(number) for row, number in zip(rows, numbers, strict=True)}
            self._read.add(path)
