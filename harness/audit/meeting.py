"""Needs that are met: what stands in, what is measured, and why a cell has no result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.audit.availability import unavailable
from harness.audit.needs import Need
from harness.audit.vocabulary import reduced_to_vocabulary
from harness.cell import Cell, compatible, fingerprint
from harness.errors import HarnessError
from harness.paths import conf_dir
from harness.result import Result, ResultStore

REDDIT = "reddit"
"""The context of guo2021 and husse2022: a dump of Reddit's comments of 2014."""


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
