"""A config from a stranger must not run code.

What a folder from outside the package may hold is checked before Hydra composes it, because Hydra instantiates
whatever ``_target_`` stands under ``hydra.callbacks``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.stimuli.yaml_file import read_yaml

_PACKAGE_HEADER = re.compile(r"^\s*#\s*@package\s+(\S+)", re.MULTILINE)


def refuse_foreign_code(folder: Path) -> None:
    """Raise one sentence if a YAML file below ``folder`` names code to run or reaches into Hydra's own config."""
    if not folder.is_dir():
        raise HarnessError(f"{folder}: the folder of configs does not exist; HARNESS_CONF must name one that does.")
    if (folder / "hydra").exists():
        raise HarnessError(f"{folder / 'hydra'}: a folder from outside may not change Hydra's own config; remove it.")
    for path in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        if not path.read_text(encoding="utf-8", errors="replace").strip():
            continue
        data = read_yaml(path)
        header = _PACKAGE_HEADER.search(path.read_text(encoding="utf-8"))
        if header and header[1].split(".")[0] == "hydra":
            raise HarnessError(f"{path}: `@package {header[1]}` reaches into Hydra's own config; that is refused.")
        for keys in _keys(data):
            _check(path, keys)
        entries = data.get("defaults") or []
        if not isinstance(entries, list):
            raise HarnessError(f"{path}: defaults: is a list of other configs; found {entries!r}.")
        for entry in entries:
            if "hydra" in re.split(r"[/@.:\s]", str(entry)) or "'hydra" in str(entry) or "@hydra" in str(entry):
                raise HarnessError(f"{path}: defaults: {entry}: a file from outside may not choose Hydra's own parts.")


def _keys(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*above, *str(key).split("."))
            yield from _keys(item, (*above, *str(key).split(".")))
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item, above)


def _check(path: Path, keys: tuple[str, ...]) -> None:
    where = ".".join(keys)
    if "_target_" in keys:
        raise HarnessError(f"{path}: {where}: a config from outside may not name code to run; remove `_target_`.")
    allowed = keys[1:2] == ("mode",) or keys[1:3] == ("sweeper", "params") or keys in {("hydra",), ("hydra", "sweeper")}
    if keys[0].split("/")[0] == "hydra" and not allowed:
        raise HarnessError(f"{path}: {where}: a config from outside may set hydra.mode and hydra.sweeper.params only.")
