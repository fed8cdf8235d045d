from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from harness.beside import difference, printed_beside
from harness.cli.beside_table import agreement, print_beside
from harness.published import COLUMNS, load_published
from harness.result import Result


def result(method: str = "mleat", model: str = "googlenews", test: str = "w1", **metrics: Any) -> Result:
    factors = {"model": model, "test": test, "method": method, "target": "table4", "encoding": None}
    labels = {key: value for key, value in metrics.items() if isinstance(value, str)}
    numbers = {key: value for key, value in metrics.items() if not isinstance(value, str)}
    return Result("f" * 64, "finished", {}, factors, numbers, labels)


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    plain = {"paper": "p", "table": "t", "model": "m", "test": "w1", "method": "mleat", "variant": "", "choice": ""}
    plain |= {"statistic": "d", "value": 1.0, "relation": "=", "significant": None, "uncertain": False, "note": ""}
    frame = pd.DataFrame([{**plain, **row} for row in rows], columns=list(COLUMNS))
    frame["significant"] = frame["significant"].astype("boolean")
    return frame


def test_a_statistic_is_matched_by_its_name_and_level_1_is_d() -> None:
    found = printed_beside(
        result(d=1.5, level2_x_d=0.8, level3_xa_mean=0.1, pattern="AX-Singular"), load_published("wolfe2024.table4")
    )
    assert (found["d"].value, found["level2_x_d"].value, found["level3_xa_mean"].value) == (1.54, 0.78, 0.11)
    assert "level1_d" not in found
    assert "level3_xb_mean" not in found


def test_a_pattern_that_is_not_named_follows_from_effects_and_asterisks() -> None:
    ours = result(level2_x_d=0.8, level2_y_d=-0.3, pattern="AB-Divergent")
    found = printed_beside(ours, load_published("wolfe2024.table4"))
    assert found["pattern"].value == "AX-Singular"
    assert found["pattern"].derived


def test_a_pattern_that_is_named_is_taken_as_it_is() -> None:
    ours = result(model="glove-840b-300d", level2_x_d=0.6, level2_y_d=-0.7, pattern="AB-Divergent")
    found = printed_beside(ours, load_published("wolfe2024.table1"))
    assert found["pattern"].value == "AB-Divergent"
    assert not found["pattern"].derived


def test_choices_that_are_no_factor_stand_in_the_name() -> None:
    ours = result("eibd", "glove-840b-300d", "ibd", **{"AF.emergent.accuracy": 0.8, "AF.emergent.tp": 3.0})
    found = printed_beside(ours, load_published("guo2021.text"))
    assert {name: number.value for name, number in found.items()} == {
        "AF.emergent.accuracy": 0.847,
        "AF.emergent.tp": 4.0,
    }


def test_a_table_of_several_models_is_matched_by_model() -> None:
    text = load_published("wolfe2024.text")
    before, after = (
        printed_beside(result(model=f"histwords-eng-{year}", test="w7", d=1.0, level2_x_d=0.1, pattern="x"), text)
        for year in (1960, 1990)
    )
    assert (before["d"].value, after["d"].value) == (0.07, 1.25)
    assert "level2_x_d" not in before
    assert before["pattern"].value == "Non-Directional"


def test_a_table_of_one_model_is_set_beside_any_but_no_difference_is_taken() -> None:
    ours = result("wefat", "googlenews", "wefat1", r=0.85, p=1e-14)
    found = printed_beside(ours, load_published("caliskan2017.text"))
    assert found["r"].value == 0.9
    assert difference(ours, found["r"]) is None


def test_a_choice_that_is_a_factor_must_agree() -> None:
    ours = result(d=1.0)
    ours.factors["encoding"] = "word"
    rows = table({"choice": "encoding=sentence", "value": 7.0}, {"choice": "encoding=word;N=10000", "value": 3.0})
    assert printed_beside(ours, rows)["d"].value == 3.0


def test_variants_are_matched_where_a_test_has_several() -> None:
    rows = table({"variant": "names", "value": 1.0}, {"variant": "table4", "value": 2.0})
    assert printed_beside(result(d=1.0), rows)["d"].value == 2.0


def test_what_the_paper_prints_as_missing_or_as_a_bound_has_no_difference() -> None:
    ours = result(model="m", d=1.0, p=0.1)
    found = printed_beside(ours, table({"value": float("nan")}, {"statistic": "p", "value": 0.05, "relation": ">"}))
    assert set(found) == {"p"}
    assert difference(ours, found["p"]) is None


def test_the_agreement_counts_numbers_and_names_the_worst() -> None:
    ours = result(d=1.545, level2_x_d=0.7, level2_y_d=-0.28, pattern="Non-Directional")
    numbers, patterns = agreement([(ours, printed_beside(ours, load_published("wolfe2024.table4")))])
    assert numbers.startswith("2 of 3 published numbers agree within 0.011; the largest difference is 0.080 (w1 on")
    assert patterns.startswith("0 of 1 published patterns")


@pytest.mark.parametrize("method", ["weat", "mleat"])
def test_weat_and_mleat_share_level_1(method: str) -> None:
    found = printed_beside(result(method, test="c1", d=1.5), load_published("caliskan2017.tableS1"))
    assert found["d"].value == 1.54


def test_cells_of_one_test_and_model_are_told_apart_by_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = []
    for context in ("bare", "prompt/brings_to_mind"):
        ours = result(model="clip-vit-l-14-336", test="w-clip-flower-insect", d=1.0, level2_x_d=0.5)
        ours.factors["context"] = context
        pairs.append((ours, printed_beside(ours, load_published("wolfe2024.table2"))))
    print_beside(Console(width=120), pairs, published="wolfe2024.table2")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line[1:2] == ["difference"]] == [
        ["bare", "difference", "-0.880", "-0.370"],
        ["prompt/brings_to_mind", "difference", "-0.840", "-0.540"],
    ]
    print_beside(Console(width=120), pairs[:1], published="wolfe2024.table2")
    assert "bare" not in capsys.readouterr().out
