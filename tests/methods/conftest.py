from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness.cell import Cell
from harness.config import Config
from tests.encoders.likelihood_tiny import TEMPLATES, train_causal, train_masked
from tests.methods.probability_cells import Make


@pytest.fixture(scope="session")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked language model that has learned the plant."""
    return train_masked(tmp_path_factory.mktemp("masked"))


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal language model that has learned the plant."""
    return train_causal(tmp_path_factory.mktemp("causal"))


@pytest.fixture
def cell(own_test: Path, runs: Path, tmp_path: Path) -> Make:
    """Make a cell of LPBS on a small model."""

    def make(folder: Path | None, *, templates: tuple[str, ...] = TEMPLATES, **changes: Any) -> Cell:
        path = tmp_path / "pairs.yaml"
        path.write_text(f"kind: pair\ntemplates: {list(templates)}\n", encoding="utf-8")
        base: Any = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
        base["model"] |= {"name": "tiny", "kind": "transformer", "path": str(folder), **changes.pop("model", {})}
        base["test"] = changes.pop("test", {"path": str(own_test)})
        base["method"] = changes.pop("method", {"name": "lpbs"})
        base["association"] |= {"name": "probability"}
        base["context"] |= {"name": "pairs", "templates": str(path), **changes.pop("context", {})}
        base["paths"]["runs"] = str(runs)
        base["stats"] |= {"ci_resamples": 0, **changes.pop("stats", {})}
        return Cell.from_config({**base, **changes})

    return make
