"""The rules of DESIGN.md on who may import what, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text("utf-8"))
    for package in ("harness", "hydra_plugins")
    for path in sorted((ROOT / package).rglob("*.py"))
}
FILES = {"open", "read_text", "read_bytes", "write_text", "write_bytes"}


def below(*packages: str) -> list[str]:
    return [name for name in MODULES if any(f"{name}.".startswith(f"{package}.") for package in packages)]


def imports(module: str) -> Iterator[str]:
    """Yield every module that is imported anywhere in one, also within functions and for types."""
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(package: str) -> set[str]:
    return {module for module in MODULES if any(f"{name}.".startswith(f"{package}.") for name in imports(module))}


def calls(module: str) -> set[str]:
    names = (node.func for node in ast.walk(MODULES[module]) if isinstance(node, ast.Call))
    return {name.id if isinstance(name, ast.Name) else getattr(name, "attr", "") for name in names}


def test_the_statistics_import_nothing_else_of_the_project() -> None:
    assert len(below("harness.stats")) > 10
    for module in below("harness.stats"):
        strangers = {name for name in imports(module) if name.startswith(("harness", "hydra_plugins"))}
        assert all(name.startswith("harness.stats") for name in strangers), module


def test_methods_open_no_file_and_know_neither_hydra_nor_mlflow_nor_who_calls_them() -> None:
    known = ("harness.methods", "harness.stats", "harness.stimuli", "harness.options", "harness.errors")
    assert len(below("harness.methods")) > 10
    for module in below("harness.methods"):
        own = {name for name in imports(module) if name.startswith("harness") and not name.startswith(known)}
        assert own <= {"harness.result.Result"}, module
        assert not {name.partition(".")[0] for name in imports(module)} & {"mlflow", "hydra", "omegaconf", "pathlib"}
        assert not calls(module) & FILES, module


def test_only_tracking_imports_mlflow() -> None:
    assert importers("mlflow") == {"harness.tracking"}


def test_only_the_command_line_prints() -> None:
    printing = {module for module in MODULES if "print" in calls(module)}
    assert printing <= set(below("harness.cli"))


def test_only_what_composes_configs_imports_hydra() -> None:
    composing = {"harness.config_store", "harness.audit.meeting", "harness.cli.run_verb"}
    found = importers("hydra") | importers("omegaconf")
    assert found - set(below("hydra_plugins")) == composing


def test_nothing_but_its_own_plugin_imports_the_command_line() -> None:
    outside = importers("harness.cli") - set(below("harness.cli"))
    assert outside == {"harness.__main__", "hydra_plugins.harness_cells.cells_sweeper"}


def test_private_names_stay_in_their_package() -> None:
    for module in MODULES:
        for name in imports(module):
            parts = name.split(".")
            private = [number for number, part in enumerate(parts) if part.startswith("_")]
            if parts[0] == "harness" and private:
                assert f"{module}.".startswith(".".join([*parts[: private[0]], ""])), f"{module} imports {name}"
