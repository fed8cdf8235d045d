"""A published table from our own runs: which cells it needs, what is missing, and ours beside the paper's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.beside import TOLERANCE, Printed, difference, measured, printed_beside
from harness.cell import Cell, compatible, fingerprint
from harness.encoders.weights import find_weights
from harness.errors import HarnessError
from harness.methods import METHODS
from harness.methods.weat import SIGNIFICANT
from harness.models import model_identity
from harness.natural import natural_key
from harness.paths import conf_dir, user_conf_dir
from harness.published import load_published
from harness.result import Result, ResultStore
from harness.stimuli import test_names
from harness.stimuli.yaml_file import read_yaml

if TYPE_CHECKING:
    import pandas as pd

PEOPLE = "human"
"""The model under which a table prints what was measured on people."""

DIRECT = ("context", "encoding", "pooling", "layer", "association")
"""Keys of a published ``choice`` that are keys of a config."""

VALENCE = "valence"
"""The test of which omrani2023 prints the categories as if they were tests."""

P_OF = {"d": "p", "level2_x_d": "level2_x_p", "level2_y_d": "level2_y_p", "r": "p"}
"""The p-value that gives the verdict on a statistic."""


NO_EFFECTS = frozenset({"p", "n", "n_x", "n_a"})
"""Printed numbers that are shown, and not counted as replicated effects."""


@dataclass(frozen=True)
class Need:
    """A cell that a table needs, as overrides of the config, and how many printed numbers it stands for."""

    model: str
    test: str
    method: str
    variant: str
    choices: tuple[tuple[str, str], ...]
    numbers: int = 0

    def overrides(self) -> list[str]:
        """Return what ``harness run`` is to be given."""
        found = [
            f"model={self.model}",
            f"test={self.test}",
            f"method={self.method}",
            f"target={self.variant or 'null'}",
        ]
        return [*found, *(f"{key}={value}" for key, value in self.choices)]


@dataclass(frozen=True)
class Line:
    """One printed number beside ours.

    ``agrees`` is whether ours lies within the tolerance, or within a printed bound; ``same_sign`` and ``same_verdict``
    are None where there is no sign, or the paper's verdict is not known. ``stand_in`` marks another model than the
    paper's: its numbers are shown and not judged.
    """

    test: str
    model: str
    statistic: str
    ours: float | str
    published: float | str
    relation: str
    difference: float | None
    agrees: bool | None
    same_sign: bool | None
    same_verdict: bool | None
    stand_in: bool
    dropped: tuple[str, ...]


def needs_of(table: pd.DataFrame) -> list[Need]:
    """Return the cells that a published table needs, in its order; rows of people and of comparisons need none."""
    found: Counter[Need] = Counter()
    for row in table.to_dict("records"):
        if row["model"] in {PEOPLE, ""} or row["method"] == "" or row["test"] == "":
            continue
        test = VALENCE if row["method"] in {"sc-weat", "valnorm"} else row["test"]
        found[Need(row["model"], test, row["method"], row["variant"], _choices(row))] += 1
    return [replace(need, numbers=number) for need, number in found.items()]


def _choices(row: Mapping[Hashable, Any]) -> tuple[tuple[str, str], ...]:
    """Return a printed row's choices as keys of a config."""
    given = dict(part.split("=", 1) for part in str(row["choice"]).split(";") if "=" in part)
    chosen = {key: given[key] for key in DIRECT if key in given}
    if row["method"] == "lpbs" or given.get("association") == "probability":
        chosen = {key: value for key, value in chosen.items() if key != "encoding"} | {"association": "probability"}
        chosen |= {} if chosen.get("context") == "reddit" else {"context": "pairs"}
        chosen |= {"stats.lpbs_targets": "reduced"} if given.get("words") == "reduced" else {}
    if row["paper"] == "omrani2023":
        chosen |= {"pooling": "last", "stats": "omrani2023"}
        chosen |= {"association": "omrani2023"} if given.get("association") == "projection" else {}
    prompt = given.get("prompt")
    if prompt == "bare":
        chosen["context"] = "bare"
    elif prompt:
        chosen |= {"context": "prompt", "context.templates": prompt}
    if "categories" in given:
        chosen |= {"context": "intersectional", "context.categories": given["categories"]}
    return tuple(chosen.items())


def config_file(group: str, name: str) -> Path | None:
    """Return the file of a Hydra group, a user's or a shipped one."""
    user = user_conf_dir()
    roots = [conf_dir(), *([user] if user else [])]
    return next((path for root in roots if (path := root / group / f"{name}.yaml").is_file()), None)


def unavailable(need: Need, *, runs: Path, extra: Sequence[str] = ()) -> str | None:
    """Return why a cell cannot be measured on this machine, or None; ``extra`` may say where the model's files are."""
    if need.method not in METHODS or config_file("method", need.method) is None:
        return f"method {need.method} is not part of this version"
    if need.test not in test_names():
        return f"test {need.test} is not stored"
    for group in ("context", "association"):
        name = dict(need.choices).get(group)
        if name is not None and config_file(group, name) is None:
            here = "pairs_corpus" if dict(need.choices).get("association") == "probability" else "corpus"
            more = f": --set context={here} puts a corpus that is here in its place" if group == "context" else ""
            return f"{group} {name} is not on this machine{more}"
    path = config_file("model", need.model)
    if path is None:
        return f"there is no config for model {need.model}"
    from harness.config import ModelConfig

    keys = (override.removeprefix("model.").partition("=") for override in extra if override.startswith("model."))
    model = {**asdict(ModelConfig()), **read_yaml(path), **{key: value for key, _, value in keys}}
    try:
        if model["kind"] == "transformer":
            find_weights(model)
        model_identity(model, runs=runs)
    except HarnessError as error:
        return str(error)
    except ImportError as error:
        return f"model {need.model} needs an extra that is not installed: {error}"
    return None


@contextmanager
def composer() -> Iterator[Callable[[Sequence[str]], dict[str, Any]]]:
    """Give a function that composes a config of overrides, as ``harness run`` does."""
    import hydra
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    from harness.config_store import register

    register(None)
    GlobalHydra.instance().clear()
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(conf_dir())):

        def compose(overrides: Sequence[str]) -> dict[str, Any]:
            config = hydra.compose("config", overrides=list(overrides))
            plain: dict[str, Any] = OmegaConf.to_container(config, resolve=True)  # type: ignore[assignment]
            return plain

        yield compose


@dataclass
class Replication:
    """A published table and what became of the cells that it needs."""

    name: str
    lines: list[Line]
    cells: int
    unavailable: dict[str, list[Need]]
    failed: list[tuple[str, str]]


def cells_to_run(
    needs: Sequence[Need], *, runs: Path, extra: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], dict[str, list[Need]]]:
    """Return the configs of the cells that can be measured here, and the others by the reason why not."""
    reasons: dict[str, list[Need]] = {}
    configs: dict[str, dict[str, Any]] = {}
    why: dict[tuple[str, str, tuple[tuple[str, str], ...]], str | None] = {}
    with composer() as compose:
        for need in needs:
            key = (need.model, need.method, need.choices)
            if key not in why:
                why[key] = unavailable(_without(need, extra), runs=runs, extra=extra)
            reason = why[key]
            if reason is None:
                config = compose([*need.overrides(), f"paths.runs='{runs}'", *extra])
                reason, identity = _meaning(config)
                if reason is None:
                    configs.setdefault(identity, config)
            if reason is not None:
                reasons.setdefault(reason, []).append(need)
    return list(configs.values()), reasons


def _without(need: Need, extra: Sequence[str]) -> Need:
    """Return a need without the choices that the user sets otherwise."""
    given = {override.partition("=")[0] for override in extra}
    model = next((o.partition("=")[2] for o in extra if o.startswith("model=")), need.model)
    return replace(need, model=model, choices=tuple(pair for pair in need.choices if pair[0] not in given))


def _meaning(config: dict[str, Any]) -> tuple[str | None, str]:
    try:
        cell = Cell.from_config(config)
        return compatible(cell), fingerprint(cell.identity())
    except HarnessError as error:
        return str(error), ""


def lines_of(results: Sequence[Result], table: pd.DataFrame) -> list[Line]:
    """Set every finished cell beside the table."""
    lines = []
    for result in sorted(results, key=lambda one: natural_key(str(one.factors["test"]))):
        for name, printed in printed_beside(result, table).items():
            ours = measured(result, name)
            if ours is not None:
                lines.append(_line(result, name, ours, printed))
    return lines


def _line(result: Result, name: str, ours: float | str, printed: Printed) -> Line:
    stand_in = printed.model != result.factors["model"]
    gap = difference(result, printed)
    agrees: bool | None = None
    same_sign: bool | None = None
    if not stand_in:
        if isinstance(printed.value, str) or isinstance(ours, str):
            agrees = ours == printed.value
        elif gap is not None:
            agrees = abs(gap) <= TOLERANCE + 1e-12
        else:
            agrees = ours <= printed.value if printed.relation == "<" else ours >= printed.value
        if not isinstance(printed.value, str) and not isinstance(ours, str) and name in P_OF:
            same_sign = math.copysign(1, ours) == math.copysign(1, printed.value)
    p = result.metrics.get(P_OF.get(name, ""))
    known = printed.significant is not None and p is not None and not stand_in
    return Line(
        test=str(result.factors["test"]),
        model=str(result.factors["model"]),
        statistic=name,
        ours=ours,
        published=printed.value,
        relation=printed.relation,
        difference=gap,
        agrees=agrees,
        same_sign=same_sign,
        same_verdict=(p < SIGNIFICANT) == printed.significant if known and p is not None else None,
        stand_in=stand_in,
        dropped=tuple(result.dropped),
    )


def summary_line(found: Replication) -> str:
    """Return the one line that ends a replication."""
    judged = [line for line in found.lines if not line.stand_in]
    if not found.lines:
        return f"{found.name}: no printed number could be compared."
    if not judged:
        models = ", ".join(sorted({line.model for line in found.lines}))
        return f"{found.name}: {len(found.lines)} printed numbers beside {models}, another model than the paper's."

    def of(values: list[bool | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{sum(known)} of {len(known)}"

    effects = [line for line in judged if line.difference is not None and line.statistic not in NO_EFFECTS]
    numbers = [line.agrees for line in effects]
    parts = [
        f"{found.name}: {found.cells} cells compared",
        f"{of([*numbers])} numbers within ±{TOLERANCE:g}".replace("0.", "."),
        f"same sign {of([line.same_sign for line in judged])}",
        f"same verdict {of([line.same_verdict for line in judged])}",
    ]
    patterns = [line.agrees for line in judged if line.statistic == "pattern"]
    return ", ".join(parts + ([f"same pattern {of([*patterns])}"] if patterns else [])) + "."


def replicate(
    name: str,
    *,
    runs: Path,
    measure: Callable[[list[dict[str, Any]]], list[tuple[str, str]]],
    extra: Sequence[str] = (),
) -> Replication:
    """Measure what a published table still needs, and set ours beside it.

    Parameters
    ----------
    name
        A table, such as ``caliskan2017.tableS1``.
    runs
        The folder of runs.
    measure
        Runs the configs as a sweep; returns the cells that failed, with the reason.
    extra
        Overrides for every cell: another model, a corpus, a preset.
    """
    table = load_published(name)
    configs, reasons = cells_to_run(needs_of(table), runs=runs, extra=extra)
    failed = measure(configs) if configs else []
    store = ResultStore(runs)
    keys = [fingerprint(Cell.from_config(config).identity()) for config in configs]
    results = [result for key in keys if (result := store.finished(key)) is not None]
    return Replication(name, lines_of(results, table), len(results), reasons, failed)
