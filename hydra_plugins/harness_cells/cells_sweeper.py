"""The ``cells`` sweeper: composes each value of each axis once, and hands any launcher one job per plan.

Hydra executes a plugin's module before it is in ``sys.modules``, where dataclasses look postponed annotations up:
hence no ``from __future__ import annotations`` here.
"""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from harness.errors import HarnessError


@dataclass
class CellsSweeperConf:
    """``params`` are overrides that an experiment sweeps, as in Hydra's basic sweeper; ``plan`` is a frozen plan."""

    _target_: str = "hydra_plugins.harness_cells.cells_sweeper.CellsSweeper"
    params: dict[str, Any] | None = field(default_factory=dict)
    plan: str | None = None


ConfigStore.instance().store(group="hydra/sweeper", name="cells", node=CellsSweeperConf, provider="harness")


@dataclass(frozen=True)
class Axis:
    """One swept key with its values as overrides, such as ``model=googlenews``."""

    key: str
    overrides: tuple[str, ...]
    is_group: bool

    @property
    def path(self) -> tuple[str, ...]:
        """The place in the config that this axis sets: a group's package, or the key itself."""
        return tuple(self.key.replace("/", ".").split("."))


class CellsSweeper(Sweeper):
    """Expand a sweep into cells, and run those that are not known yet."""

    def __init__(self, params: dict[str, Any] | None, plan: str | None = None) -> None:
        self.params = params or {}
        self.plan = Path(plan).expanduser() if plan else None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what Hydra gives, and make the launcher."""
        from hydra.core.plugins import Plugins

        self.hydra_context = hydra_context
        self.config = config
        self.loader = hydra_context.config_loader
        self.composed = config
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Run the sweep, or freeze its plan; raise at the end if cells failed."""
        from harness.cli.sweep_report import SweepFailedError, announce, freeze, report, watch
        from harness.cli.sweep_table import print_table
        from harness.frozen import FrozenPlan
        from harness.paths import runs_dir, writable
        from harness.published import load_published
        from harness.sweep import run_sweep

        fixed, axes = self._split(arguments)
        base = self._compose([*fixed, *(axis.overrides[0] for axis in axes)])
        if base["published"]:
            load_published(base["published"])  # a name that does not exist is said before hours of measuring
        launcher = self.composed.hydra.launcher
        runs = writable(runs_dir(base["paths"]["runs"]))
        command = " ".join(["harness run", *arguments])
        if self.plan is not None and not self.plan.exists():
            return freeze(self._cells(base, fixed, axes), self.plan, runs=runs, command=command)

        def launch(plans: list[Path]) -> None:
            jobs = [[f"plan={_quoted(path)}", f"paths.runs={_quoted(runs)}"] for path in plans]
            for job in self.launcher.launch(jobs, initial_job_idx=0):
                _ = job.return_value  # raises what the job raised

        outcome = run_sweep(
            self._cells(base, fixed, axes),
            runs=runs,
            settings=base,
            command=command,
            workers=_workers(launcher),
            launch=launch,
            watch=watch,
            frozen=FrozenPlan.read(self.plan) if self.plan else None,
            announce=announce,
        )
        print_table(outcome.factors, runs=runs, published=base["published"])
        report(outcome, runs=runs)
        if outcome.failures:
            raise SweepFailedError(len(outcome.failures))
        return outcome

    def _split(self, arguments: Sequence[str]) -> tuple[list[str], list[Axis]]:
        """Separate what is fixed from what is swept; the command line wins over an experiment's params."""
        parser = OverridesParser.create(config_loader=self.loader)
        params = parser.parse_overrides([f"{key}={value}" for key, value in self.params.items()])
        for override in params:
            if override.is_hydra_override():
                raise HarnessError(
                    f"hydra.sweeper.params: {override.input_line}: an experiment may not sweep Hydra's own keys."
                )
        chosen: dict[str, Override] = {}
        for override in [*params, *parser.parse_overrides(list(arguments))]:
            chosen[override.get_key_element()] = override
        fixed: list[str] = []
        axes: list[Axis] = []
        for key, override in chosen.items():
            if override.is_hydra_override():
                continue  # already in the config that the launcher was made from
            if not override.is_sweep_override():
                fixed.append(str(override.input_line))
            elif override.is_discrete_sweep():
                values = tuple(f"{key}={value}" for value in override.sweep_string_iterator())
                if not values:
                    raise HarnessError(f"{override.input_line}: nothing matches; `harness ls` shows what there is.")
                name = key.lstrip("+~")
                is_group = "@" in name or bool(self.loader.get_group_options(name))
                axes.append(Axis(name, tuple(dict.fromkeys(values)), is_group))
            else:
                raise HarnessError(f"{override.input_line}: give values, a range or a glob; an interval has no cells.")
        return fixed, axes

    def _compose(self, overrides: Sequence[str]) -> dict[str, Any]:
        return _plain(self.loader.load_sweep_config(self.composed, list(overrides)))

    def _values(self, axis: Axis, rest: list[str]) -> Iterator[dict[str, Any]]:
        """Yield the config of each value of an axis but the first: a group is composed, a plain key is set."""
        if axis.is_group:
            yield from (self._compose([*rest, override]) for override in axis.overrides[1:])
            return
        parser = OverridesParser.create(config_loader=self.loader)
        config = self.loader.load_sweep_config(self.composed, [*rest, axis.overrides[0]])
        for override in axis.overrides[1:]:
            OmegaConf.update(config, axis.key, parser.parse_override(override).value(), merge=False)
            yield _plain(config)

    def _cells(self, base: dict[str, Any], fixed: list[str], axes: list[Axis]) -> Iterator[dict[str, Any]]:
        """Yield the config of every cell; ``base`` is the one with the first value of every axis.

        An axis is *separable* if each of its values changes the config at the axis' own place and nowhere else, and
        no other axis sets a place within it. Separable axes are composed once per value and combined by putting
        subtrees in place; for the others each combination is composed in full.
        """
        parts: dict[str, dict[str, Any]] = {}
        joint: list[Axis] = []
        for axis in axes:
            others = [other for other in axes if other is not axis]
            values = {}
            if not any(_overlap(axis.path, other.path) for other in others):
                rest = [*fixed, *(other.overrides[0] for other in others)]
                values = dict(zip(axis.overrides, [base, *self._values(axis, rest)], strict=True))
            if values and all(_differs_only_at(base, value, axis.path) for value in values.values()):
                parts |= {override: _at(value, axis.path) for override, value in values.items()}
            else:
                joint.append(axis)
        separable = [axis for axis in axes if axis not in joint]
        for together in itertools.product(*(axis.overrides for axis in joint)):
            firsts = [axis.overrides[0] for axis in separable]
            root = self._compose([*fixed, *together, *firsts]) if joint else base
            for choice in itertools.product(*(axis.overrides for axis in separable)):
                cell = root
                for axis, override in zip(separable, choice, strict=True):
                    cell = _replaced(cell, axis.path, parts[override])
                yield cell


def _quoted(path: Path) -> str:
    return str(QuotedString(text=str(path), quote=Quote.single).with_quotes())


def _workers(launcher: DictConfig) -> int:
    jobs = OmegaConf.select(launcher, "n_jobs", default=None) or OmegaConf.select(launcher, "array_parallelism") or 1
    return (os.cpu_count() or 1) if int(jobs) < 0 else min(int(jobs), 64)


def _plain(config: DictConfig) -> dict[str, Any]:
    """Return a composed config without Hydra's own part, interpolations resolved."""
    content: dict[str, Any] = OmegaConf.to_container(config, resolve=False)  # type: ignore[assignment]
    del content["hydra"]
    return OmegaConf.to_container(OmegaConf.create(content), resolve=True)  # type: ignore[return-value]


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _at(config: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        config = config[key]
    return config


def _replaced(config: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the config with one subtree replaced; untouched parts are shared, nothing is changed in place."""
    head, *rest = path
    return {**config, head: _replaced(config[head], tuple(rest), value) if rest else value}


def _differs_only_at(base: dict[str, Any], other: dict[str, Any], path: tuple[str, ...]) -> bool:
    try:
        _at(other, path)
        return _replaced(base, path, None) == _replaced(other, path, None)
    except (KeyError, TypeError):
        return False
