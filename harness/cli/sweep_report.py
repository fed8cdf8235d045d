"""What a sweep shows: a progress bar while it runs, a summary when it ends."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from harness.estimate import Estimate, estimate
from harness.frozen import FrozenPlan
from harness.progress import TextState
from harness.result import ResultStore
from harness.sweep import Outcome, Survey, survey

_POLL_SECONDS = 0.25
_WORTH_SAYING = 5.0
_WIDE = 120
"""Columns of a terminal that has room for how many texts each worker reads, beside the bar."""


class SweepFailedError(Exception):
    """Some cells of a sweep failed; the others are recorded. Exit code 1."""


@contextmanager
def watch(folder: Path, found: Survey) -> Iterator[None]:
    """Show how many cells are done, skipped and failed, and the time left, from what the workers append to files."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        texts = progress.add_task("texts", total=None, detail="", visible=False)
        bar = progress.add_task("cells", total=len(found.new), detail="")
        done = threading.Event()

        def poll() -> None:
            while True:
                last = done.wait(_POLL_SECONDS)
                now = Counter(
                    line for path in folder.glob("*.progress") for line in path.read_text(encoding="utf-8").split()
                )
                detail = f"{len(found.known)} known, {len(found.skipped)} skipped, {now['failed']} failed"
                progress.update(bar, completed=sum(now.values()), detail=detail)
                _show_texts(folder, progress, texts)
                if last:
                    return

        thread = threading.Thread(target=poll, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _show_texts(folder: Path, progress: Progress, task: TaskID) -> None:
    """Show how many texts the workers have still to encode, with what they say of the size and their speed."""
    states = [state for path in folder.glob("*.texts") if (state := TextState.read(path)) and not state.finished]
    if not states:
        progress.update(task, visible=False)
        return
    done, speed = sum(state.done for state in states), sum(state.done / max(state.seconds, 0.1) for state in states)
    said = "; ".join(state.description for state in states)
    if progress.console.width < _WIDE:
        said = ", ".join(dict.fromkeys(state.description.split(":")[0] for state in states))
    total = sum(state.total for state in states)
    progress.update(task, visible=True, completed=done, total=total, detail=f"{said}, {speed:.0f} texts/s")


def announce(expected: Estimate) -> None:
    """Say how long the cells still to measure will take and how that is known, where it is worth knowing."""
    if expected.seconds >= _WORTH_SAYING or expected.unknown:
        Console(stderr=True, soft_wrap=True).print(expected.in_words(), highlight=False, markup=False)


def freeze(configs: Iterable[Mapping[str, Any]], path: Path, *, runs: Path, command: str) -> FrozenPlan:
    """Write the cells of a sweep down and measure nothing; the same command runs them once the file is there."""
    store = ResultStore(runs)
    found = survey(configs, store, overwrite="always")
    plan = FrozenPlan(frozenset(found.fingerprints), command)
    plan.write(path, {**found.new, **found.skipped})
    console = Console(stderr=True, soft_wrap=True)
    console.print(
        f"plan {path}: {len(found.fingerprints):,} cells frozen ({len(found.skipped):,} of them without meaning), "
        f"sha256 {plan.hash}",
        highlight=False,
    )
    expected = estimate(found.new.values(), (), store, workers=1, runs=runs)
    if expected is not None:
        console.print(f"with one worker: {expected.in_words()}", highlight=False, markup=False)
    console.print("nothing was measured; the same command measures them now that the plan is frozen", highlight=False)
    return plan


def report(outcome: Outcome, *, runs: Path) -> None:
    """Print what became of the cells, and every failure with its reason."""
    console = Console(stderr=True, soft_wrap=True)
    counts = outcome.counts
    console.print(
        f"sweep {outcome.sweep}: {counts['asked']} cells asked, {counts['distinct']} distinct: "
        f"{counts['measured']} measured, {counts['known']} known, {counts['skipped']} skipped, "
        f"{counts['failed']} failed, in {outcome.seconds:.1f} s",
        highlight=False,
    )
    if outcome.texts is not None:
        console.print(
            f"texts: {outcome.texts.asked:,} asked, {outcome.texts.distinct:,} distinct, "
            f"{outcome.texts.encoded:,} encoded",
            highlight=False,
        )
    if outcome.frozen_plan is not None:
        plan = outcome.frozen_plan
        console.print(
            f"plan {plan['hash'][:16]}: {plan['planned']:,} cells planned, {plan['added']:,} added to it, "
            f"{plan['left_out']:,} left out",
            highlight=False,
        )
    for reason, tests in outcome.skipped.items():
        named = ", ".join(dict.fromkeys(tests))
        console.print(f"  skipped: {len(tests)} × {named}: {reason}", highlight=False, markup=False)
    for name, reason in outcome.failures[:20]:
        console.print(f"  failed: {name}: {reason}", highlight=False, markup=False)
    if len(outcome.failures) > 20:
        console.print(f"  … and {len(outcome.failures) - 20} more; `harness export` lists all", highlight=False)
    console.print(f"results: {runs / 'results'}", highlight=False, markup=False)
    console.print(f"next: harness compare --sweep {outcome.sweep}   harness audit {outcome.sweep}", highlight=False)
