"""Shards of a corpus as a Hydra multirun: one job a shard, on any launcher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.errors import HarnessError


def run_shards(scratch: Path, shards: int, *, workers: int, overrides: list[str]) -> None:
    """Run every shard of a plan as a job; ``overrides`` choose the launcher and set it up."""
    from harness.cli.run_verb import run_hydra

    for override in overrides:
        if not override.startswith(("hydra/launcher=", "hydra.launcher.", "+hydra.launcher.")):
            raise HarnessError(f"--hydra {override}: only hydra/launcher=NAME and hydra.launcher.KEY=VALUE are taken.")
    jobs = ["--multirun", f"folder='{scratch}'", f"shard=range({shards})", f"workers={workers}"]
    run_hydra(task, [*jobs, *overrides], config_name="corpus")


def task(config: Any) -> None:
    """Build one shard. Importable, so that any launcher can call it."""
    from harness.corpus.shards import build_shard

    build_shard(Path(config.folder), config.shard, workers=config.workers)
