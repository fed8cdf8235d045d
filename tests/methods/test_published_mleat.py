"""The numbers of wolfe2024's Table 4, on the embedded Google News vectors with the lists that the table really used."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.beside import TOLERANCE, difference, printed_beside
from harness.cli import main
from harness.published import load_published
from harness.result import Result, ResultStore


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    runs: Path = tmp_path_factory.mktemp("table4")
    arguments = ["run", "experiment=wolfe2024_table4", f"paths.runs={runs}", "tracking=none", "figures=never"]
    assert main(arguments) == 0
    return {str(result.factors["test"]): result for result in ResultStore(runs)}


@pytest.mark.parametrize("test", [f"w{i}" for i in range(1, 10)])
def test_a_row_of_table_4_is_met_at_all_three_levels_and_in_its_pattern(test: str, measured: dict[str, Result]) -> None:
    result = measured[test]
    printed = printed_beside(result, load_published("wolfe2024.table4"))
    gaps = {name: difference(result, number) for name, number in printed.items() if name != "pattern"}
    assert len(gaps) == 11
    assert {name: gap for name, gap in gaps.items() if gap is None or abs(gap) > TOLERANCE} == {}
    assert result.labels["pattern"] == printed["pattern"].value
    assert result.dropped == []


def test_test_10_is_measured_without_the_name_that_the_vectors_lack(measured: dict[str, Result]) -> None:
    assert measured["w10"].dropped == ["Billy"]
    assert measured["w10"].labels["pattern"] == "AY-Singular"
    assert measured["w10"].metrics["level2_y_d"] == pytest.approx(1.07, abs=TOLERANCE)


def test_the_p_values_that_decide_patterns_are_exact(measured: dict[str, Result]) -> None:
    for result in measured.values():
        assert result.labels["level2_null_used"] == "exact"
        for target in "xy":
            low, high = (result.metrics[f"level2_{target}_p_{end}"] for end in ("low", "high"))
            assert (low < 0.05) == (high < 0.05)


def test_the_papers_own_convention_gives_every_asterisk_and_pattern(tmp_path: Path) -> None:
    arguments = ["run", "experiment=wolfe2024_table4", "stats=wolfe2024", f"paths.runs={tmp_path}"]
    assert main([*arguments, "tracking=none", "figures=never"]) == 0
    table = load_published("wolfe2024.table4")
    compared = 0
    for result in ResultStore(tmp_path):
        for statistic, p in (("level1_d", "p"), ("level2_x_d", "level2_x_p"), ("level2_y_d", "level2_y_p")):
            row = table[(table["test"] == result.factors["test"]) & (table["statistic"] == statistic)].iloc[0]
            assert bool(row["significant"]) == (result.metrics[p] < 0.05), (result.factors["test"], statistic)
            compared += 1
        assert result.labels["pattern"] == printed_beside(result, table)["pattern"].value
    assert compared == 30
