from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from harness.cell import Cell, fingerprint
from harness.methods import METHODS, method_spec
from harness.options import StatsOptions
from harness.paths import conf_dir
from harness.stimuli.yaml_file import read_yaml


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_its_code_and_its_config(name: str) -> None:
    assert callable(method_spec(name).measure())
    assert read_yaml(conf_dir() / "method" / f"{name}.yaml")["name"] == name


def test_every_option_that_a_method_declares_exists() -> None:
    known = {field.name for field in fields(StatsOptions)}
    for spec in METHODS.values():
        assert set(spec.options or ()) <= known


def test_every_option_moves_some_method() -> None:
    for field in fields(StatsOptions):
        if field.name not in {"name", "description"}:
            assert any(spec.uses(field.name) for spec in METHODS.values()), field.name


@pytest.mark.parametrize(
    ("method", "test", "option", "same"),
    [
        ("weat", "c1", {"alternative_level2": "two-sided"}, True),
        ("mleat", "c1", {"alternative_level2": "two-sided"}, False),
        ("ibd", "ibd", {"eibd_exclude": "any", "null": "normal"}, True),
        ("eibd", "ibd", {"eibd_exclude": "any"}, False),
        ("wefat", "wefat1", {"resamples": 5}, True),
        ("wefat", "wefat1", {"wefat_keep": 0.8}, False),
    ],
)
def test_an_option_without_effect_on_a_method_makes_no_new_cell(
    method: str, test: str, option: dict[str, object], same: bool, tmp_path: Path
) -> None:
    from omegaconf import OmegaConf

    from harness.config import Config

    def print_of(changed: dict[str, object]) -> str:
        base = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
        assert isinstance(base, dict)
        base["model"] |= {"name": "googlenews", "format": "embedded"}
        base |= {"test": {"name": test}, "method": {"name": method}}
        base["paths"]["runs"] = str(tmp_path)
        base["stats"] |= changed
        return fingerprint(Cell.from_config(base).identity())

    assert (print_of(option) == print_of({})) is same
