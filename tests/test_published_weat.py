"""The embedded Google News vectors reproduce the published word2vec column."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from harness.cell import Cell
from harness.config import Config
from harness.paths import conf_dir
from harness.published import load_published
from harness.result import Result
from harness.runner import Encoders, run
from harness.stimuli.yaml_file import read_yaml

TOLERANCE = 0.011  # printed values are rounded, a few truncated


@cache
def measured(
    test: str, target: str, *, stats: str = "default", model: str = "googlenews", missing: str = "drop"
) -> Result:
    config = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
    assert isinstance(config, dict)
    config["model"] |= read_yaml(conf_dir() / "model" / f"{model}.yaml")
    config["stats"] |= read_yaml(conf_dir() / "stats" / f"{stats}.yaml")
    config |= {"test": {"name": test}, "target": target}
    result = run(Cell.from_config(config), Encoders(Path("unused")))
    assert result.status == "finished", result.reason
    return result


def published(table: str, test: str, statistic: str) -> float:
    rows = load_published(table)
    (value,) = rows[(rows["test"] == test) & (rows["statistic"] == statistic) & (rows["model"] == "googlenews")][
        "value"
    ]
    return float(value)


@pytest.mark.parametrize("number", range(1, 10))
def test_level_1_of_wolfes_table_4(number: int) -> None:
    ours = measured(f"w{number}", "table4").metrics["d"]
    assert ours == pytest.approx(published("wolfe2024.table4", f"w{number}", "level1_d"), abs=TOLERANCE)


@pytest.mark.parametrize("number", range(1, 10))
def test_effect_sizes_of_caliskans_table_s1(number: int) -> None:
    ours = measured(f"c{number}", "word2vec").metrics["d"]
    assert ours == pytest.approx(published("caliskan2017.tableS1", f"c{number}", "d"), abs=TOLERANCE)


def test_test_10_says_that_billy_is_missing() -> None:
    result = measured("c10", "word2vec")
    assert result.dropped == ["Billy"]
    assert result.notes == ["googlenews lacks Billy (X)."]
    assert result.metrics["d"] == pytest.approx(-0.044, abs=0.001)


@pytest.mark.parametrize(("test", "printed", "exact"), [("c7", 0.027, 0.0227), ("c9", 0.012, 0.0076)])
def test_the_normal_fit_gives_the_printed_p_and_exact_another(test: str, printed: float, exact: float) -> None:
    assert published("caliskan2017.tableS1", test, "p") == printed
    assert measured(test, "word2vec", stats="caliskan2017").metrics["p"] == pytest.approx(printed, abs=0.002)
    assert measured(test, "word2vec").metrics["p"] == pytest.approx(exact, abs=0.0001)


@pytest.mark.parametrize("test", ["c6", "c7", "c8", "c9"])
def test_may2019_equals_enumeration_for_small_sets(test: str) -> None:
    ours, exact = (measured(test, "word2vec", stats=stats).metrics for stats in ("may2019", "default"))
    assert ours["p"] == exact["p"] == exact["p_low"] == exact["p_high"]


@pytest.mark.parametrize("number", range(1, 11))
def test_every_p_has_its_bracket_both_tails_and_the_smallest_attainable(number: int) -> None:
    found = measured(f"c{number}", "word2vec")
    metrics = found.metrics
    assert found.labels["null_used"] == "exact"
    assert 0 < metrics["p_low"] <= metrics["p"] <= metrics["p_high"] <= 1
    assert metrics["p_high"] / metrics["p_low"] < 1.01
    assert metrics["smallest_p"] <= metrics["p_greater"] * (1 + 1e-12)
    assert metrics["p_two_sided"] >= min(metrics["p_greater"], 1 - metrics["p_greater"])


@pytest.mark.parametrize("number", range(1, 11))
def test_the_second_embedded_model_measures_every_test(number: int) -> None:
    result = measured(f"c{number}", "word2vec", model="glove-6b-100d")
    assert result.metrics["d"] > 0.5
    assert result.metrics["n_dropped"] <= 3
