"""Whether a cell can be measured on this machine, and what is in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.audit.needs import Need
from harness.encoders.weights import find_weights
from harness.errors import HarnessError
from harness.methods import METHODS
from harness.models import model_identity
from harness.paths import config_files
from harness.stimuli import test_names
from harness.stimuli.yaml_file import read_yaml

_INSTEAD = {
    "context": ": --corpus NAME puts a corpus that is here in its place",
    "lexicon": ": --set lexicon=vader puts the one that is here in its place",
}


def unavailable(need: Need, *, runs: Path, extra: Sequence[str] = ()) -> str | None:
    """Return why a cell cannot be measured on this machine, or None; ``extra`` may say where the model's files are."""
    if need.method not in METHODS or need.method not in config_files("method"):
        return f"method {need.method} is not part of this version"
    if need.test not in test_names():
        return f"test {need.test} is not stored"
    for group in ("context", "association", "lexicon"):
        name = dict(need.choices).get(group)
        if name is not None and name not in config_files(group):
            more = _INSTEAD.get(group, "")
            return f"{group} {name} is not on this machine{more}"
    path = config_files("model").get(need.model)
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
