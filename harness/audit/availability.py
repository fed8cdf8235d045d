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
from harness.paths import conf_dir, user_conf_dir
from harness.stimuli import test_names
from harness.stimuli.yaml_file import read_yaml

_INSTEAD = {
    "context": ": --corpus NAME puts a corpus that is here in its place",
    "lexicon": ": --set lexicon=vader puts the one that is here in its place",
}


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
    for group in ("context", "association", "lexicon"):
        name = dict(need.choices).get(group)
        if name is not None and config_file(group, name) is None:
            more = _INSTEAD.get(group, "")
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
