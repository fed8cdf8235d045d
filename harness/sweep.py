"""Many cells: which are new, which are known, in which plans they run, and what became of each."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.cell import Cell, compatible, fingerprint
from harness.contextual import TextCount, TextTally, wanted_layers
from harness.errors import HarnessError
from harness.estimate import Estimate, estimate
from harness.files import write_atomically
from harness.frozen import FrozenPlan
from harness.options import one_of
from harness.progress import written_to
from harness.result import Result, ResultStore
from harness.runner import Encoders, run
from harness.tags import checked_tag, tag_cells
from harness.tracking import Tracker, TrackingSettings, tracking_settings

SMALL_SWEEP = 20
"""``figures=auto`` draws figures for single runs and for sweeps of at most this many cells."""

OVERWRITE = ("missing", "always", "never")
FIGURES = ("auto", "always", "never")


@dataclass
class Plan:
    """A plan file: the cells that one worker measures one after the other, with the model loaded once.

    ``layers`` are all those that the sweep asks of the model by context source, whoever measures them: a text is
    encoded once.
    """

    sweep: str | None
    runs: str
    cells: list[dict[str, Any]]
    figures: bool
    tracking: dict[str, str] | None = None
    parent: str | None = None
    layers: dict[str, list[str | int]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write the plan as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(asdict(self), ensure_ascii=False))
        return path

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a plan that a sweep wrote."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise HarnessError(f"{path} is not a plan; plans are written by `harness run -m`.") from None


@dataclass
class Survey:
    """What a sweep asks for, sorted: each distinct cell is new, known, skipped, or left alone."""

    asked: int = 0
    factors: dict[str, dict[str, Any]] = field(default_factory=dict)
    new: dict[str, Cell] = field(default_factory=dict)
    known: dict[str, Result] = field(default_factory=dict)
    skipped: dict[str, Cell] = field(default_factory=dict)
    left: dict[str, Cell] = field(default_factory=dict)
    tags: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @property
    def fingerprints(self) -> list[str]:
        """Every distinct cell, in the order asked."""
        return list(self.factors)

    @property
    def identifier(self) -> str:
        """The sweep's id: the same cells are the same sweep, so that a sweep that was cut off goes on as itself."""
        return hashlib.sha256("\n".join(sorted(self.fingerprints)).encode()).hexdigest()[:10]


def survey(configs: Iterable[Mapping[str, Any]], store: ResultStore, *, overwrite: str) -> Survey:
    """Sort the cells of a sweep; equal fingerprints collapse into one cell."""
    one_of("overwrite", overwrite, OVERWRITE)
    found = Survey()
    for config in configs:
        found.asked += 1
        cell = Cell.from_config(config)
        key = fingerprint(cell.identity())
        if config.get("tag"):
            found.tags.setdefault(checked_tag(config["tag"]), {}).setdefault(key, dict(cell.factors()))
        if key in found.factors:
            continue
        found.factors[key] = dict(cell.factors())
        recorded = None if overwrite == "always" else store.read(key)
        if compatible(cell):
            found.skipped[key] = cell
        elif recorded is not None and recorded.status == "finished":
            found.known[key] = recorded
        elif recorded is not None and overwrite == "never":
            found.left[key] = cell
        else:
            found.new[key] = cell
    return found


def plans_of(
    found: Survey,
    *,
    runs: Path,
    folder: Path,
    workers: int,
    figures: str,
    tracking: TrackingSettings | None,
    parent: str | None,
) -> list[Path]:
    """Write the plan files: cells grouped by model, a model's cells dealt out over the workers."""
    draw = figures_wanted(figures, cells=len(found.fingerprints))
    by_model: dict[str, list[Cell]] = {}
    for cell in found.new.values():
        by_model.setdefault(json.dumps(cell.model, sort_keys=True), []).append(cell)
    layers = wanted_layers(runs, found.new.values())
    paths: list[Path] = []
    settings = None if tracking is None else {"uri": tracking.uri, "experiment": tracking.experiment}
    for cells in by_model.values():
        for share in (cells[i::workers] for i in range(min(workers, len(cells)))):
            configs = [cell.config for cell in share]
            plan = Plan(found.identifier, str(runs), configs, draw, settings, parent, layers(cells[0]))
            paths.append(plan.write(folder / f"plan-{len(paths):04d}.json"))
    return paths


def figures_wanted(figures: str, *, cells: int) -> bool:
    """Return whether figures are drawn while measuring; ``harness plot`` draws them later from the result."""
    one_of("figures", figures, FIGURES)
    return figures == "always" or (figures == "auto" and cells <= SMALL_SWEEP)


def run_plan(path: Path) -> list[dict[str, str]]:
    """Measure the cells of a plan; return what became of each. Progress is appended beside the plan, line by line."""
    plan = Plan.read(path)
    runs = Path(plan.runs)
    store = ResultStore(runs)
    tracker = None if plan.tracking is None else Tracker(TrackingSettings(runs, **plan.tracking))
    encoders = Encoders(runs, progress=written_to(path.with_suffix(".texts")))
    cells = [Cell.from_config(config) for config in plan.cells]
    encoders.prefetch(cells, layers=plan.layers)
    statuses = []
    with path.with_suffix(".progress").open("a", encoding="utf-8") as progress:
        for cell in cells:
            result = measure_and_record(
                cell,
                encoders,
                store,
                tracker,
                figures=plan.figures,
                sweep=plan.sweep,
                parent=plan.parent,
            )
            statuses.append({"fingerprint": result.fingerprint, "status": result.status, "reason": result.reason})
            progress.write(result.status + "\n")
            progress.flush()
    return statuses


def measure_and_record(
    cell: Cell,
    encoders: Encoders,
    store: ResultStore,
    tracker: Tracker | None,
    *,
    figures: bool,
    sweep: str | None = None,
    parent: str | None = None,
) -> Result:
    """Measure one cell and write it down: its folder first, then MLflow."""
    result = run(cell, encoders)
    result.sweep = sweep
    record(result, store, tracker, figures=figures, parent=parent)
    return result


def record(
    result: Result, store: ResultStore, tracker: Tracker | None, *, figures: bool, parent: str | None = None
) -> None:
    """Write a result's folder (config, words, traceback, figures, then the result itself) and log it."""
    folder = store.folder(result.fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "config.yaml", _yaml(result.config))
    if result.words:
        words = {"words": result.words, "read_as": result.forms}
        write_atomically(folder / "words.yaml", _yaml(words))
    traceback = folder / "traceback.txt"
    if result.traceback:
        write_atomically(traceback, result.traceback)
    else:
        traceback.unlink(missing_ok=True)
    if figures and result.status == "finished":
        from harness.plots import draw

        try:
            draw(result, folder)
        except Exception as error:  # a figure never costs the number that it shows
            result.notes.append(f"Its figures could not be drawn ({type(error).__name__}: {error}).")
    store.write(result)
    if tracker is not None:
        tracker.log(result, folder, parent=parent)


def _yaml(data: Mapping[str, Any]) -> str:
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # ten times faster where libyaml is there
    return str(yaml.dump(data, Dumper=dumper, allow_unicode=True, sort_keys=False))


@dataclass
class Outcome:
    """What a sweep came to.

    ``skipped`` has the tests of the cells without meaning by reason, one for each cell. ``texts`` tells how many texts
    the cells needed and how many were encoded for them; None where no cell reads texts. ``frozen_plan`` tells how the
    cells compare with those that were planned; None where no plan was frozen. ``factors`` are the choices as this sweep
    asked for them: a cell known before may have been measured under another label, such as a variant with the same
    words.
    """

    sweep: str
    counts: dict[str, int]
    failures: list[tuple[str, str]]
    seconds: float
    fingerprints: list[str]
    factors: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    texts: TextCount | None = None
    frozen_plan: dict[str, Any] | None = None


def run_sweep(
    configs: Iterable[Mapping[str, Any]],
    *,
    runs: Path,
    settings: Mapping[str, Any],
    command: str,
    workers: int,
    launch: Callable[[list[Path]], None],
    watch: Callable[[Path, Survey], Any],
    frozen: FrozenPlan | None = None,
    announce: Callable[[Estimate], None] | None = None,
) -> Outcome:
    """Survey, reconcile, plan, launch, and close the sweep's parent whatever happens.

    ``launch`` runs plan files on whatever launcher Hydra has, and ``watch`` is a context that shows progress.
    ``frozen`` is the plan to set the cells beside; ``announce`` is told how long the new cells will take.
    """
    started = time.time()
    store = ResultStore(runs)
    found = survey(configs, store, overwrite=settings["overwrite"])
    figures_wanted(settings["figures"], cells=0)
    folder = runs / "sweeps" / found.identifier
    folder.mkdir(parents=True, exist_ok=True)
    for tag, cells in found.tags.items():
        tag_cells(runs, tag, cells)
    tracking = tracking_settings(settings["tracking"], runs)
    tracker = parent = None
    if tracking is not None:
        tracker = Tracker(tracking)
        tracker.reconcile(store)
        parent = tracker.open_sweep(found.identifier, command=command)
    status = "FAILED"
    outcome = Outcome(found.identifier, {}, [], 0.0, found.fingerprints, found.factors)
    outcome.frozen_plan = frozen.beside(found.fingerprints) if frozen else _frozen_before(folder)
    if announce is not None:
        expected = estimate(found.new.values(), found.known.values(), store, workers=workers, runs=runs)
        if expected is not None:
            announce(expected)
    for cell in found.skipped.values():
        outcome.skipped.setdefault(str(compatible(cell)), []).append(cell.test.name)
    tally = TextTally(runs, found.new.values())
    try:
        skip(found, store, tracker, parent)
        work = folder / f"plans-{os.getpid()}-{time.time_ns()}"
        plans = plans_of(
            found,
            runs=runs,
            folder=work,
            workers=workers,
            figures=settings["figures"],
            tracking=tracking,
            parent=parent,
        )
        if plans:
            with watch(work, found):
                launch(plans)
        outcome.failures = failures(found, store)
        status = "FAILED" if outcome.failures else "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        outcome.counts = count(found, store)
        outcome.texts = tally.count()
        outcome.seconds = time.time() - started
        write_atomically(folder / "sweep.json", json.dumps({"command": command, **asdict(outcome)}, indent=1))
        if tracker is not None and parent is not None:
            tracker.close_sweep(parent, outcome.counts, [folder / "sweep.json"], status=status)
    return outcome


def _frozen_before(folder: Path) -> dict[str, Any] | None:
    """Return what the record of a sweep says of its plan: going on without naming the plan does not undo it."""
    try:
        record = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    plan = record.get("frozen_plan") if isinstance(record, dict) else None
    return plan if isinstance(plan, dict) else None


def skip(found: Survey, store: ResultStore, tracker: Tracker | None, parent: str | None) -> None:
    """Record the cells that have no meaning, each with its reason, once."""
    encoders = Encoders(store.root.parent)
    for key, cell in found.skipped.items():
        recorded = store.read(key)
        if recorded is None or recorded.status != "skipped":
            measure_and_record(cell, encoders, store, tracker, figures=False, sweep=found.identifier, parent=parent)


def failures(found: Survey, store: ResultStore) -> list[tuple[str, str]]:
    """Return the new cells that failed, or that no worker came to, with the reason."""
    failed = []
    for key, cell in found.new.items():
        result = store.read(key)
        name = "/".join(str(cell.factors()[f]) for f in ("model", "test", "method", "stats"))
        if result is None:
            failed.append((name, "was not measured: its worker ended early"))
        elif result.status == "failed":
            failed.append((name, result.reason))
    return failed


def count(found: Survey, store: ResultStore) -> dict[str, int]:
    """Return how many cells were asked for, are distinct, and what became of them."""
    now = Counter(result.status if (result := store.read(key)) else "missing" for key in found.new)
    return {
        "asked": found.asked,
        "distinct": len(found.fingerprints),
        "known": len(found.known),
        "measured": now["finished"],
        "skipped": len(found.skipped),
        "failed": now["failed"] + now["missing"] + len(found.left),
    }
