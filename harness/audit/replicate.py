"""A published table from our own runs: which cells it needs, what is missing, and ours beside the paper's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.audit.vocabulary import reduced_to_vocabulary
from harness.beside import DESCRIPTIONS, TOLERANCE, Printed, difference, measured, printed_beside
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

REDDIT = "reddit"
"""The context of guo2021 and husse2022: a dump of Reddit's comments of 2014."""

VALENCE = "valence"
"""The test of which omrani2023 prints the categories as if they were tests."""

P_OF = {"d": "p", "level2_x_d": "level2_x_p", "level2_y_d": "level2_y_p", "r": "p"}
"""The p-value that gives the verdict on a statistic."""


LEVELS = {"husse2022": 0.01}
"""Below which p a paper calls a number significant, where it is not .05."""

NO_EFFECTS = frozenset({"p", "n", "n_x", "n_a"})
"""Printed numbers that are shown, and not counted as replicated effects."""


@dataclass(frozen=True)
class Need:
    """A cell that a table needs, as overrides of the config, and how many printed numbers it stands for.

    ``reduced``: the targets are those that are one piece of the model's vocabulary, whatever the method.
    """

    model: str
    test: str
    method: str
    variant: str
    choices: tuple[tuple[str, str], ...]
    reduced: bool = False
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
    choice: str = ""


def needs_of(table: pd.DataFrame) -> list[Need]:
    """Return the cells that a published table needs, in its order; rows of people and of comparisons need none."""
    found = Counter(need for row in table.to_dict("records") if (need := need_of(row)) is not None)
    return [replace(need, numbers=number) for need, number in found.items()]


def need_of(row: Mapping[Hashable, Any]) -> Need | None:
    """Return the cell that a printed number needs; None for people, and for comparisons of cells."""
    if row["model"] in {PEOPLE, ""} or row["method"] == "" or row["test"] == "":
        return None
    test = VALENCE if row["method"] in {"sc-weat", "valnorm"} else row["test"]
    given = _given(row)
    reduced = given.get("words") == "reduced" and given.get("association") == "cosine"
    return Need(row["model"], test, row["method"], row["variant"], _choices(row), reduced)


def own_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without the numbers that it cites of others, where it has its own of the same cell."""
    rows = table.to_dict("records")
    cited = [_given(row).get("reported", row["paper"]) != row["paper"] for row in rows]
    own = {_cell(row) for row, other in zip(rows, cited, strict=True) if not other}
    return table[[not other or _cell(row) not in own for row, other in zip(rows, cited, strict=True)]]


def _cell(row: Mapping[Hashable, Any]) -> tuple[Any, ...]:
    """Return what a number and the one cited beside it share: a cited paper's pooling and N may be others."""
    given = _given(row)
    return (*(row[key] for key in ("model", "test", "method", "variant")), given.get("context"), given.get("encoding"))


def _given(row: Mapping[Hashable, Any]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in str(row["choice"]).split(";") if "=" in part)


def _choices(row: Mapping[Hashable, Any]) -> tuple[tuple[str, str], ...]:
    """Return a printed row's choices as keys of a config."""
    given = _given(row)
    chosen = {key: given[key] for key in DIRECT if key in given}
    if row["method"] == "ceat":
        chosen |= {"stats.ceat_samples": given["N"]} if "N" in given else {}
        chosen |= {"stats.ceat_mode": "fixed"} if given.get("sentences") == "fixed" else {}
    if row["method"] == "lpbs" or given.get("association") == "probability":
        chosen = {key: value for key, value in chosen.items() if key != "encoding"} | {"association": "probability"}
        chosen |= {} if chosen.get("context") == "reddit" else {"context": "pairs"}
        chosen |= {"stats": "kurita2019"} if row["method"] == "lpbs" and row["paper"] == "husse2022" else {}
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
            more = ": --corpus NAME puts a corpus that is here in its place" if group == "context" else ""
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


@dataclass(frozen=True)
class StandIns:
    """What takes the place of models and of the Reddit dump that are not on this machine."""

    models: tuple[str, ...] = ()
    corpus: str | None = None

    def __bool__(self) -> bool:
        return bool(self.models or self.corpus)

    def of(self, need: Need) -> list[Need]:
        """Return the cells to measure for a published one: one a model, in the corpus that is here."""
        choices = dict(need.choices)
        if self.corpus is not None and choices.get("context") == REDDIT:
            pairs = choices.get("association") == "probability"
            choices |= {"context": "pairs_corpus" if pairs else "corpus", "context.corpus": self.corpus}
        found = replace(need, choices=tuple(choices.items()))
        return [replace(found, model=model) for model in self.models] or [found]


NO_STAND_INS = StandIns()


@dataclass(frozen=True)
class Met:
    """A published cell, the model that it was measured on, and the result, or the reason why there is none."""

    need: Need
    model: str
    config: dict[str, Any] | None
    result: Result | None
    reason: str = ""


@dataclass
class Replication:
    """A published table and what became of the cells that it needs; ``unavailable`` and ``failed`` by the reason."""

    name: str
    lines: list[Line]
    met: list[Met]
    unavailable: dict[str, list[Need]]
    failed: list[tuple[str, str]]

    @property
    def cells(self) -> int:
        """How many distinct cells were measured."""
        return len({met.result.fingerprint for met in self.met if met.result is not None})


def meet(
    needs: Sequence[Need],
    *,
    runs: Path,
    measure: Callable[[list[dict[str, Any]]], list[tuple[str, str]]],
    stand_ins: StandIns = NO_STAND_INS,
    extra: Sequence[str] = (),
) -> tuple[list[Met], list[tuple[str, str]]]:
    """Measure the cells that are missing; return what became of each, and the cells that failed."""
    asked = _asked(needs, runs=runs, stand_ins=stand_ins, extra=extra)
    configs = {key: config for *_, key, config in asked if config is not None}
    failed = measure(list(configs.values())) if configs else []
    store = ResultStore(runs)
    met = []
    for need, model, reason, key, config in asked:
        found = store.read(key) if key else None
        if found is None:
            met.append(Met(need, model, config, None, reason or "no result was recorded"))
        elif found.status != "finished":
            met.append(Met(need, model, config, None, f"{found.status}: {found.reason}"))
        else:
            met.append(Met(need, model, config, found))
    return met, failed


def _asked(
    needs: Sequence[Need], *, runs: Path, stand_ins: StandIns, extra: Sequence[str]
) -> list[tuple[Need, str, str, str, dict[str, Any] | None]]:
    """Return for each need and model the reason why it cannot be measured here, or its fingerprint and config."""
    found: list[tuple[Need, str, str, str, dict[str, Any] | None]] = []
    why: dict[tuple[str, str, tuple[tuple[str, str], ...]], str | None] = {}
    composed: dict[Need, tuple[str, str, dict[str, Any] | None]] = {}
    with composer() as compose:
        for need in needs:
            for cell in stand_ins.of(need):
                alone = replace(cell, numbers=0)
                key = (cell.model, cell.method, cell.choices)
                if key not in why:
                    why[key] = unavailable(_without(cell, extra), runs=runs, extra=extra)
                if alone not in composed:
                    composed[alone] = (
                        (str(why[key]), "", None)
                        if why[key] is not None
                        else _composed(alone, compose, [f"paths.runs='{runs}'", *extra])
                    )
                found.append((need, cell.model, *composed[alone]))
    return found


def _composed(
    need: Need, compose: Callable[[Sequence[str]], dict[str, Any]], extra: Sequence[str]
) -> tuple[str, str, dict[str, Any] | None]:
    config = compose([*need.overrides(), *extra])
    try:
        if need.reduced:
            config = reduced_to_vocabulary(config)
    except HarnessError as error:
        return str(error), "", None
    reason, identity = _meaning(config)
    return (reason, "", None) if reason else ("", identity, config)


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


def level_of(table: pd.DataFrame) -> float:
    """Return the p below which the paper of a table calls a number significant."""
    return LEVELS.get(str(table["paper"].iloc[0]), SIGNIFICANT)


def lines_of(results: Sequence[Result], table: pd.DataFrame) -> list[Line]:
    """Set every finished cell beside the table."""
    level = level_of(table)
    lines = []
    for result in sorted(results, key=lambda one: natural_key(str(one.factors["test"]))):
        for name, printed in printed_beside(result, table).items():
            ours = measured(result, name)
            if ours is not None:
                lines.append(_line(result, name, ours, printed, level))
    return lines


def _line(result: Result, name: str, ours: float | str, printed: Printed, level: float) -> Line:
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
        same_verdict=(p < level) == printed.significant if known and p is not None else None,
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
    stand_ins: StandIns = NO_STAND_INS,
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
    stand_ins
        Models and a corpus in place of the paper's: ours are shown and not judged.
    extra
        Overrides for every cell, such as a preset.
    """
    table = own_numbers(load_published(name))
    met, failed = meet(needs_of(table), runs=runs, measure=measure, stand_ins=stand_ins, extra=extra)
    printed = len({row["model"] for row in table.to_dict("records") if need_of(row) is not None})
    by_model = not stand_ins.models or printed == 1
    return Replication(name, lines_met(met, table) if by_model else [], met, reasons_of(met), failed)


def lines_met(met: Sequence[Met], table: pd.DataFrame) -> list[Line]:
    """Set every measured cell beside the numbers that it was measured for."""
    needs = [need_of(row) for row in table.to_dict("records")]
    # What a cell was asked to be it is: only choices that are no key of the config tell its numbers apart.
    choices = [_but(row["choice"], DIRECT) for row in table.to_dict("records")]
    known = table.assign(choice=choices)
    lines = []
    for one in met:
        if one.result is not None:
            rows = [need == replace(one.need, numbers=0) for need in needs]
            said = place_of(table[rows].to_dict("records")[0])
            lines += [replace(line, choice=said) for line in lines_of([one.result], known[rows])]
    return sorted(lines, key=lambda line: natural_key(line.test))


def _but(choice: str, keys: Collection[str]) -> str:
    return ";".join(part for part in choice.split(";") if part.partition("=")[0] not in keys)


def place_of(row: Mapping[Hashable, Any]) -> str:
    """Return the choices of a printed number as a reader tells them apart: targets, context, encoding, words."""
    shown = _but(str(row["choice"]), DESCRIPTIONS - {"words", "attributes", "prompt"})
    parts = [str(row["variant"]), *(part.partition("=")[2] for part in shown.split(";"))]
    return " ".join(dict.fromkeys(filter(None, parts)))


def reasons_of(met: Sequence[Met]) -> dict[str, list[Need]]:
    """Return the cells that have no result, by the reason, each under the model that was asked for."""
    found: dict[str, Counter[Need]] = {}
    for one in met:
        if one.result is None:
            cell = replace(one.need, model=one.model, numbers=0)
            found.setdefault(one.reason, Counter())[cell] += one.need.numbers
    return {
        reason: [replace(need, numbers=numbers) for need, numbers in needs.items()] for reason, needs in found.items()
    }
