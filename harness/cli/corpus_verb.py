"""``harness corpus``: samples of natural contexts from dumps and text files."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.paths import runs_dir, writable

if TYPE_CHECKING:
    from harness.corpus.manifest import Manifest

ASSETS = {"reddit-wsb": "utf-8", "gutenberg": "latin-1"}
"""Corpora that `harness fetch` knows, with the encoding of their files."""


def main(argv: list[str]) -> int:
    """Build, merge, list or report corpora."""
    arguments = _parser().parse_args(argv)
    from harness.corpus.manifest import corpora_dir

    folder = corpora_dir(runs_dir(arguments.runs))
    match arguments.verb:
        case "build":
            with _alone(_name(arguments.name), folder):
                _build(arguments, folder)
        case "merge":
            with _alone(_name(arguments.name), folder):
                _merge(arguments, folder)
        case "ls":
            _ls(folder)
        case "report":
            _report(arguments, folder)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="harness corpus", description="Samples of natural contexts of every stimulus, from dumps and text files."
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="{build,merge,ls,report}")
    build = verbs.add_parser(
        "build", parents=[shared], help="read files once and keep a sample of contexts for every stimulus of every test"
    )
    build.add_argument("name", help=f"what the corpus is called; {' and '.join(ASSETS)} need no --source")
    build.add_argument(
        "--source", nargs="+", action="extend", default=[], metavar="PATH", help="files (.zst, .bz2, .gz or plain; "
        "NDJSON, CSV, parquet, text) or folders of them"
    )  # fmt: skip
    build.add_argument("--k", type=int, default=10_000, help="contexts kept a stimulus (default: 10000)")
    build.add_argument("--window", type=int, default=4, help="words on each side (default: 4; 0: the whole sentence)")
    build.add_argument("--workers", type=int, default=1, help="processes; the sample is the same for any number")
    build.add_argument("--seed", type=int, default=0, help="of the keys that decide what is kept")
    build.add_argument("--column", help="the field that holds the text (default: title, selftext, body, text)")
    build.add_argument("--encoding", help="of the files (default: utf-8)")
    build.add_argument(
        "--layout", choices=("auto", "lines", "paragraphs"), default="auto", help="what a document of a text file is"
    )
    build.add_argument("--bots", metavar="FILE", help="more accounts to leave out, one a line")
    build.add_argument("--stimuli", metavar="DIR", help="a folder of your own stimuli, searched as well")
    build.add_argument(
        "--test", nargs="+", action="extend", default=[], metavar="FILE", help="test files whose words are searched"
    )
    build.add_argument(
        "--shards", type=int, metavar="N", help="build N shares of the files as a Hydra multirun, then unite them"
    )
    build.add_argument(
        "--hydra", nargs="+", action="extend", default=[], metavar="OVERRIDE", help="the launcher of the shards: "
        "hydra/launcher=joblib hydra.launcher.n_jobs=4"
    )  # fmt: skip
    merge = verbs.add_parser("merge", parents=[shared], help="unite corpora: exactly the corpus of all their files")
    merge.add_argument("name", help="what the united corpus is called")
    merge.add_argument("shards", nargs="+", help="corpora by name or folder")
    verbs.add_parser("ls", parents=[shared], help="the corpora of the folder of runs")
    report = verbs.add_parser("report", parents=[shared], help="counts, what falls short, and what was skipped")
    report.add_argument("name")
    report.add_argument("--test", action="append", default=[], help="tell which of its stimuli have too few contexts")
    report.add_argument("--target", help="a variant of the tests")
    report.add_argument("--needed", type=int, default=1000, help="contexts that a stimulus should have (default: 1000)")
    report.add_argument("--format", choices=("text", "csv", "json"), default="text", help="csv, json: a row a stimulus")
    return parser


def _build(arguments: argparse.Namespace, folder: Path) -> None:
    from harness.cli.corpus_shards import run_shards
    from harness.corpus.build import Settings, build
    from harness.corpus.patterns import all_concepts, compile_patterns, read_list
    from harness.corpus.readers import Reading, passed_over
    from harness.corpus.shards import plan_shards, unite_shards
    from harness.corpus.skips import NAMED
    from harness.progress import bar

    if arguments.workers < 1:
        raise HarnessError(f"--workers {arguments.workers}: at least one is needed.")
    sources, encoding = _sources(arguments.name, arguments)
    lists = [Path(__file__).parents[1] / "corpus" / "bots.txt", *([Path(arguments.bots)] if arguments.bots else [])]
    for path in lists:
        if not path.is_file():
            raise HarnessError(f"{path}: there is no such list of accounts (--bots).")
    patterns = compile_patterns(all_concepts(stimuli=arguments.stimuli, tests=arguments.test))
    settings = Settings(
        k=arguments.k,
        seed=arguments.seed,
        window=arguments.window,
        reading=Reading(
            encoding=encoding,
            column=arguments.column,
            layout=arguments.layout,
            bots=frozenset().union(*map(read_list, lists)),
        ),
    )
    name, workers, shards = arguments.name, arguments.workers, arguments.shards
    if shards is None:
        if arguments.hydra:
            raise HarnessError("--hydra chooses the launcher of shards: say how many with --shards N.")
        manifest = build(name, sources, patterns, folder, settings=settings, workers=workers, progress=bar)
    else:
        scratch = plan_shards(name, sources, patterns, folder, settings=settings, shards=shards)
        run_shards(scratch, shards, workers=workers, overrides=arguments.hydra)
        manifest = unite_shards(name, scratch, folder)
    _print_summary(manifest)
    if unread := passed_over(arguments.source):
        first = "; ".join(map(str, unread[:NAMED])) + ("; …" if len(unread) > NAMED else "")
        print(f"{len(unread):,} not read, because the ending tells no format ({first}); name a file itself to read it")
    print(f"use it with: context=corpus context.corpus={arguments.name}")


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
        raise HarnessError(
            f"{name!r} cannot be the name of a corpus: use letters, digits, '-', '_' and '.', a hundred at most."
        )
    return name


@contextmanager
def _alone(name: str, folder: Path) -> Iterator[None]:
    """Let one process at a time make a corpus: two would write into the same unfinished files."""
    from filelock import FileLock, Timeout

    writable(folder)
    try:
        lock = FileLock(folder.parent / f".corpus-{name}.lock", timeout=0).acquire()
    except Timeout:
        raise HarnessError(
            f"The corpus {name} is being made by another process: wait for it, or choose another name."
        ) from None
    with lock:
        yield


def _sources(name: str, arguments: argparse.Namespace) -> tuple[list[str | Path], str]:
    import codecs

    encoding = arguments.encoding or ("utf-8" if arguments.source else ASSETS.get(name, "utf-8"))
    try:
        plain = "a\n".encode(codecs.lookup(encoding).name) == b"a\n"
    except (LookupError, AttributeError):
        raise HarnessError(f"--encoding {encoding}: Python knows no such encoding.") from None
    if not plain:
        raise HarnessError(f"--encoding {encoding}: files are cut at line ends; convert them to UTF-8 first.")
    if arguments.source:
        return list(arguments.source), encoding
    if name not in ASSETS:
        raise HarnessError(f"Say what {name} is made of: --source PATH. Only {' and '.join(ASSETS)} need none.")
    from harness.assets import fetch
    from harness.progress import bar

    return [fetch(name, progress=bar)], encoding


def _merge(arguments: argparse.Namespace, folder: Path) -> None:
    from harness.corpus.build import merge_corpora
    from harness.corpus.manifest import find_corpus

    shards = [find_corpus(shard, folder) for shard in arguments.shards]
    _print_summary(merge_corpora(arguments.name, shards, folder))


def _print_summary(manifest: Manifest) -> None:
    from harness.corpus.report import summary

    for line in summary(manifest):
        print(line)


def _ls(folder: Path) -> None:
    from harness.corpus.manifest import Manifest, corpus_names

    for name in corpus_names(folder):
        try:
            manifest = Manifest.load(folder / name)
        except HarnessError as error:  # the others are listed all the same
            print(f"{name:<20} {error}")
            continue
        print(
            f"{name:<20} {manifest.tally.documents:>12,} documents {sum(manifest.kept):>12,} contexts  "
            f"k={manifest.k} window={manifest.window} {manifest.digest[:12]}"
        )


def _report(arguments: argparse.Namespace, folder: Path) -> None:
    from harness.corpus.manifest import Manifest, find_corpus
    from harness.corpus.report import stimulus_counts, summary, test_counts
    from harness.stimuli import load_test

    manifest = Manifest.load(find_corpus(arguments.name, folder))
    rows = [asdict(row) for row in stimulus_counts(manifest)]
    if arguments.format == "json":
        tally = manifest.tally.as_json()
        del tally["hits"]  # they stand in the rows
        print(
            json.dumps({"name": manifest.name, "k": manifest.k, **tally, "stimuli": rows}, ensure_ascii=False, indent=1)
        )
        return
    if arguments.format == "csv":
        writer = csv.DictWriter(sys.stdout, ["stimulus", "cased", "found", "kept"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    for line in summary(manifest):
        print(line)
    short = sum(row["kept"] < arguments.needed for row in rows)
    print(f"{short:,} of {len(rows):,} stimuli fall short of {arguments.needed:,} contexts (--format csv lists all)")
    for name in arguments.test:
        print(f"\n{name}")
        for slot in test_counts(manifest, load_test(name, target=arguments.target), needed=arguments.needed):
            print(f"  {slot.slot:<3} {slot.concept}: {slot.stimuli} stimuli, median {slot.median:,} contexts")
            for what, words in (("none", slot.none), (f"fewer than {arguments.needed:,}", slot.few)):
                if words:
                    print(f"      {what}: {', '.join(words)}")
