"""``harness store``: what vectors and scores of models take on disk, whether they are sound, and less of them."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

from rich.console import Console
from rich.table import Table

from harness.errors import HarnessError, did_you_mean
from harness.paths import runs_dir
from harness.sizes import size_text
from harness.store import BlockStore

_DAY = 86_400


def main(argv: list[str]) -> int:
    """List, measure, check or prune the store; exit code 1 if damaged blocks were found."""
    parser = argparse.ArgumentParser(
        prog="harness store", description="Look after the stored vectors of contextual models and the scores of LPBS."
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--runs", help="the folder of runs (or HARNESS_RUNS; default: runs)")
    shared.add_argument("--encoder", help="only this encoder, by the beginning of its name in `harness store ls`")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="{ls,size,verify,prune}")
    verbs.add_parser("ls", parents=[shared], help="encoders and sources, with texts held and texts encoded")
    verbs.add_parser("size", parents=[shared], help="bytes in all")
    verbs.add_parser("verify", parents=[shared], help="check every block; damaged ones are named and dropped")
    prune = verbs.add_parser("prune", parents=[shared], help="remove blocks, the least recently used first")
    prune.add_argument("--max-gb", type=float, help="until the blocks take at most this many GB")
    prune.add_argument("--older-than", type=float, metavar="DAYS", help="what was not used for so many days")
    prune.add_argument("--dry-run", action="store_true", help="remove nothing; tell what would be removed")
    arguments = parser.parse_args(argv)
    store = BlockStore(runs_dir(arguments.runs) / "store")
    encoder = _encoder(store, arguments.encoder)
    match arguments.verb:
        case "ls":
            _ls(store, encoder)
        case "size":
            print(size_text(sum(block.bytes for block in store.blocks(encoder))))
        case "verify":
            return _verify(store, encoder)
        case "prune":
            _prune(store, encoder, arguments)
    return 0


def _encoder(store: BlockStore, prefix: str | None) -> str | None:
    if prefix is None:
        return None
    found = [name for name in store.encoders() if name.startswith(prefix)]
    if len(found) != 1:
        what = f"{len(found)} encoders" if found else "No encoder"
        raise HarnessError(
            f"{what} in {store.root} begin{'s' if not found else ''} with {prefix!r}."
            f"{did_you_mean(prefix, store.encoders())}"
        )
    return found[0]


def _ls(store: BlockStore, encoder: str | None) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("encoder", "model", "source"):
        table.add_column(column, overflow="fold", no_wrap=column == "encoder")
    for column in ("blocks", "size", "texts held", "texts encoded"):
        table.add_column(column, justify="right")
    for name in [encoder] if encoder else store.encoders():
        blocks, sizes = Counter[str](), Counter[str]()
        for block in store.blocks(name):
            blocks[block.source] += 1
            sizes[block.source] += block.bytes
        model = str((store.description(name) or {}).get("name", ""))
        for source in blocks:
            table.add_row(name, model, source, f"{blocks[source]:,}", size_text(sizes[source]), "", "")
        texts = f"{store.distinct_texts(name):,}", f"{store.texts_encoded(name):,}"
        table.add_row(name, model, "all", f"{blocks.total():,}", size_text(sizes.total()), *texts)
    console = Console(soft_wrap=False)
    if not console.is_terminal:
        console.width = max(console.width, 140)
    console.print(table, markup=False)


def _verify(store: BlockStore, encoder: str | None) -> int:
    sound = damaged = 0
    for block, wrong in store.verify(encoder):
        if wrong is None:
            sound += 1
        else:
            damaged += 1
            print(f"{block.path}: {wrong}; dropped, and computed again when it is needed")
    print(f"{sound:,} blocks sound, {damaged:,} damaged")
    return 1 if damaged else 0


def _prune(store: BlockStore, encoder: str | None, arguments: argparse.Namespace) -> None:
    if encoder is None and arguments.max_gb is None and arguments.older_than is None:
        raise HarnessError("Say what may go: --max-gb N, --older-than DAYS or --encoder NAME.")
    for flag, value in (("--max-gb", arguments.max_gb), ("--older-than", arguments.older_than)):
        if value is not None and not 0 <= value < math.inf:
            raise HarnessError(f"{flag} {value:g}: is a number from 0 on.")
    removed = store.prune(
        cap=None if arguments.max_gb is None else int(arguments.max_gb * 1e9),
        older_than=None if arguments.older_than is None else time.time() - arguments.older_than * _DAY,
        encoder=encoder,
        dry_run=arguments.dry_run,
    )
    verb = "would be removed" if arguments.dry_run else "removed"
    left = sum(block.bytes for block in store.blocks()) - (
        sum(block.bytes for block in removed) if arguments.dry_run else 0
    )
    freed = size_text(sum(block.bytes for block in removed))
    print(f"{len(removed):,} blocks ({freed}) {verb}, {size_text(left)} left")
