"""What Hydra finds without a file: the schema of the config, and every test of the stimuli by its name."""

from __future__ import annotations

from pathlib import Path

from hydra.core.config_store import ConfigStore

from harness.config import Config
from harness.paths import user_conf_dir
from harness.stimuli import test_files


def register(stimuli: str | Path | None = None) -> None:
    """Register the schema and the tests, so that a new test is one YAML file and no config."""
    store = ConfigStore.instance()
    store.store(name="schema", node=Config, provider="harness")
    store.store(group="test", name="file", node={"path": "???"}, provider="harness")
    user = user_conf_dir()
    for name, path in test_files(stimuli).items():
        if user is None or not path.is_relative_to(user):  # those Hydra finds by itself
            store.store(group="test", name=name, node={"name": name}, provider="stimuli")
