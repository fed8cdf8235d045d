"""``harness rank``: the words of a whole vocabulary, or of a file, that are nearest to one intersectional group."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from harness.cli.catalogue import details
from harness.config import ModelConfig
from harness.encoders.static import StaticEncoder, open_static
from harness.errors import HarnessError, did_you_mean
from harness.methods.rank import Ranked, rank_vocabulary
from harness.models import vector_cache
from harness.paths import runs_dir
from harness.progress import bar
from harness.stimuli import DetectionTask, load_test


def main(argv: list[str]) -> int:
    """Rank words for a group by IBD's score."""
    parser = argparse.ArgumentParser(
        prog="harness rank",
        description="Rank words for a group by IBD's score: the largest effect size of the group's names against "
        "another group's. IBD at threshold t detects the words with a score above t.",
    )
    parser.add_argument("--group", required=True, help="a group of the test, such as AF")
    parser.add_argument("--test", default="ibd", help="the test that names the groups (default: ibd)")
    parser.add_argument("--model", default="vectors", help="a static model (`harness ls models`)")
    parser.add_argument("--path", help="a file of vectors, with or instead of --model")
    parser.add_argument("--words", type=Path, help="rank the words of this file, one a line, not the whole vocabulary")
    parser.add_argument("--top", type=int, default=50, help="how many words to show (default: 50)")
    parser.add_argument("--runs", help="the folder of runs, which keeps rows of large files (or HARNESS_RUNS)")
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args(argv)
    ranked, notes = _rank(arguments)
    if arguments.json:
        rows = [{"rank": i, **asdict(row)} for i, row in enumerate(ranked, start=1)]
        print(json.dumps({"group": arguments.group, "notes": notes, "words": rows}, ensure_ascii=False, indent=1))
        return 0
    for i, row in enumerate(ranked, start=1):
        print(f"{i:>4}  {row.score:6.3f}  {row.word:<24} against {row.against}")
    for note in notes:
        print(note)
    return 0


def _rank(arguments: argparse.Namespace) -> tuple[list[Ranked], list[str]]:
    test = load_test(arguments.test)
    if not isinstance(test, DetectionTask):
        raise HarnessError(
            f"Test {test.name} is of kind {test.kind}; ranking needs one of kind detection, such as ibd."
        )
    if arguments.group not in test.groups:
        raise HarnessError(
            f"Test {test.name} has no group {arguments.group!r}.{did_you_mean(arguments.group, test.groups)} "
            f"It has {', '.join(test.groups)}."
        )
    words = _words(arguments.words) if arguments.words else []
    names = {
        form
        for concept in test.groups.values()
        for form in (*concept.words, *(other for others in concept.fallbacks.values() for other in others))
    }
    encoder = open_static(
        _model(arguments.model, arguments.path),
        cache=vector_cache(runs_dir(arguments.runs)),
        wanted=[*names, *words],
        progress=bar,
    )
    found = {
        group: encoder.lookup(concept.words, fallbacks=concept.fallbacks) for group, concept in test.groups.items()
    }
    notes = []
    for group, lookup in found.items():
        lost = [*lookup.missing, *lookup.zero]
        if lost:
            notes.append(f"{encoder.name} lacks {', '.join(lost)} ({group}).")
        if len(lookup.words) < 2:
            raise HarnessError(f"{encoder.name} has {len(lookup.words)} of the names of {group}; two are needed.")
    batches, lost = _batches(encoder, words)
    if lost:
        notes.append(f"{encoder.name} lacks {', '.join(lost)}.")
    spelled = {form for lookup in found.values() for form in lookup.forms.values()}
    ranked = rank_vocabulary(
        batches,
        found[arguments.group].matrix,
        {group: lookup.matrix for group, lookup in found.items() if group != arguments.group},
        top=arguments.top,
        exclude={*names, *spelled},
    )
    return ranked, notes


def _batches(
    encoder: StaticEncoder, words: Sequence[str]
) -> tuple[Iterable[tuple[Sequence[str], ArrayLike]], list[str]]:
    """Return what is ranked, the whole vocabulary or the words given, and which of those have no vector."""
    if not words:
        return encoder.iterate(progress=bar), []
    lookup = encoder.lookup(words)
    return [(lookup.words, lookup.matrix)], [*lookup.missing, *lookup.zero]


def _model(name: str, path: str | None) -> dict[str, Any]:
    chosen = asdict(ModelConfig()) | details("models", name)
    if path:
        chosen |= {"path": path, "format": "auto"}
    if name == "vectors" and not path:
        raise HarnessError("No vectors were chosen: give --model NAME (`harness ls models`) or --path FILE.")
    if chosen["kind"] != "static":
        raise HarnessError(f"Model {name} is not of kind static: it has no vocabulary of vectors to rank.")
    return chosen


def _words(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"--words {path}: cannot be read as UTF-8 text ({error}).") from None
    words = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not words:
        raise HarnessError(f"--words {path}: holds no word; write one a line.")
    return words
