"""What a stored corpus tells about itself, and where corpora are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from harness.corpus.patterns import Pattern
from harness.corpus.scan import Tally
from harness.errors import HarnessError, did_you_mean

SAMPLE = "sample.parquet"
MANIFEST = "manifest.json"


@dataclass
class Manifest:
    """How a corpus was made and what it holds; ``digest`` is the sha256 of its sample."""

    name: str
    k: int
    seed: int
    window: int
    searched: str
    patterns: list[Pattern]
    kept: list[int]
    tally: Tally
    files: list[dict[str, Any]] = field(default_factory=list)
    digest: str = ""

    def save(self, folder: Path) -> None:
        """Write it beside its sample."""
        patterns = [{f.name: getattr(p, f.name) for f in fields(p)} for p in self.patterns]
        data = {**vars(self), "patterns": patterns, "tally": self.tally.as_json()}
        (folder / MANIFEST).write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read it."""
        try:
            data = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            patterns = [Pattern(**{**row, "forms": tuple(row["forms"])}) for row in data["patterns"]]
            return cls(**{**data, "patterns": patterns, "tally": Tally.from_json(data["tally"])})
        except FileNotFoundError:
            raise HarnessError(f"{folder} holds no corpus: {MANIFEST} is not there.") from None
        except (ValueError, TypeError, KeyError) as error:
            raise HarnessError(f"{folder / MANIFEST} is damaged ({error}); build the corpus again.") from None


def corpora_dir(runs: Path) -> Path:
    """Return where the corpora of a folder of runs are."""
    return runs / "corpora"


def corpus_names(folder: Path) -> list[str]:
    """Return the names of the corpora in a folder."""
    return sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}") if not path.parent.name.startswith("."))


def find_corpus(name: str, folder: Path) -> Path:
    """Return the folder of a corpus, by its name in a folder of corpora or by its own path."""
    for path in (folder / name, Path(name).expanduser()):
        if (path / MANIFEST).is_file():
            return path
    raise HarnessError(
        f"There is no corpus {name!r} in {folder}.{did_you_mean(name, corpus_names(folder))} "
        f"`harness corpus build {Path(name).name}` makes one; any but reddit-wsb and gutenberg needs --source FILES."
    )
