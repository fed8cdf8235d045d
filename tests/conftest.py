"""Shared by all tests: small models made of numbers that are known, and the command line in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.cli import main
from harness.stimuli import load


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of the person who runs it."""
    for name in ("HARNESS_CONF", "HARNESS_RUNS", "HARNESS_STIMULI", "HARNESS_IMAGES", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    load._test_files.cache_clear()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def write_vectors(path: Path, vectors: dict[str, np.ndarray]) -> Path:
    lines = [f"{word} {' '.join(repr(float(v)) for v in vector)}" for word, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


WORDS = {
    "X": ["rose", "tulip", "daisy", "lily", "orchid", "poppy", "violet", "iris"],
    "Y": ["ant", "wasp", "fly", "flea", "moth", "gnat", "tick", "louse"],
    "A": ["love", "peace", "joy", "honest", "happy", "gift", "laughter", "heaven"],
    "B": ["hatred", "war", "pain", "evil", "sad", "poison", "agony", "hell"],
}


def planted(*, shift: float = 1.0, dim: int = 12, seed: int = 0) -> dict[str, np.ndarray]:
    """Vectors in which X leans to A and Y to B by ``shift``."""
    rng = np.random.default_rng(seed)
    axis = np.eye(dim)[0]
    lean = {"X": shift, "Y": -shift, "A": 2.0, "B": -2.0}
    return {word: rng.normal(size=dim) + lean[slot] * axis for slot, words in WORDS.items() for word in words}


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    return write_vectors(tmp_path / "vectors.txt", planted())


@pytest.fixture
def own_test(tmp_path: Path) -> Path:
    path = tmp_path / "garden.yaml"
    path.write_text("name: garden\n" + "".join(f"{slot}: {words}\n" for slot, words in WORDS.items()), encoding="utf-8")
    return path


@pytest.fixture
def own(vectors: Path, own_test: Path, runs: Path) -> list[str]:
    """Overrides of a quick cell: own words on own vectors, no MLflow."""
    return [
        "model=vectors",
        f"model.path={vectors}",
        "test=file",
        f"test.path={own_test}",
        f"paths.runs={runs}",
        "tracking=none",
        "figures=never",
    ]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process; return exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setitem(os.environ, "COLUMNS", "200")
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
