"""The stored tables say what the papers print, in one form."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from harness import published
from harness.errors import HarnessError
from harness.stimuli import load as stimuli
from harness.stimuli.categories import load_category_set

ROWS = {
    "caliskan2017.table1": 64,
    "caliskan2017.tableS1": 64,
    "caliskan2017.text": 7,
    "guo2021.table1": 224,
    "guo2021.table2": 112,
    "guo2021.table3": 480,
    "guo2021.table4": 480,
    "guo2021.text": 17,
    "husse2022.table3": 161,
    "husse2022.table4": 21,
    "husse2022.table5": 33,
    "husse2022.table6": 6,
    "husse2022.table7": 16,
    "husse2022.table8": 16,
    "husse2022.table11": 192,
    "husse2022.table12": 251,
    "husse2022.table13": 288,
    "husse2022.table14": 36,
    "omrani2023.table2": 120,
    "omrani2023.text": 9,
    "wolfe2024.table1": 120,
    "wolfe2024.table2": 120,
    "wolfe2024.table3": 220,
    "wolfe2024.table4": 110,
    "wolfe2024.table5": 110,
    "wolfe2024.table6": 110,
    "wolfe2024.table7": 110,
    "wolfe2024.table8": 110,
    "wolfe2024.table9": 121,
    "wolfe2024.table10": 121,
    "wolfe2024.table11": 121,
    "wolfe2024.table12": 121,
    "wolfe2024.text": 23,
}
EFFECTS = {
    "caliskan2017.table1": 18,
    "guo2021.table1": 112,
    "guo2021.table2": 56,
    "guo2021.table3": 240,
    "guo2021.table4": 240,
    "wolfe2024.table1": 10,
    "wolfe2024.table2": 10,
    "wolfe2024.table3": 20,
    **{f"wolfe2024.table{number}": 10 for number in range(4, 9)},
    **{f"wolfe2024.table{number}": 11 for number in range(9, 13)},
    "omrani2023.table2": 60,
}
PATTERNS = {
    "AB-Divergent",
    "BA-Divergent",
    "A-Uniform",
    "B-Uniform",
    "AX-Singular",
    "BX-Singular",
    "AY-Singular",
    "BY-Singular",
    "Non-Directional",
}
METHODS = {"weat", "wefat", "mleat", "ceat", "seat", "lpbs", "ibd", "eibd", "sc-weat", "valnorm", "iat", ""}
LEVEL_EFFECTS = ["level1_d", "level2_x_d", "level2_y_d"]
CELL = ["model", "test", "method", "variant", "choice"]


@pytest.fixture(scope="module")
def everything() -> pd.DataFrame:
    return published.load_published()


def _checker() -> ModuleType:
    path = Path(__file__).resolve().parents[1] / "tools" / "check_published.py"
    spec = importlib.util.spec_from_file_location("check_published", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stored_tables_are_exactly_these_in_the_order_of_paper_and_number() -> None:
    assert published.published_tables() == list(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_table_has_its_columns_its_rows_and_its_own_name(name: str) -> None:
    table = published.load_published(name)
    assert tuple(table.columns) == published.COLUMNS
    assert len(table) == ROWS[name]
    assert set(table["paper"] + "." + table["table"]) == {name}


@pytest.mark.parametrize("name", EFFECTS)
def test_a_table_holds_as_many_effect_sizes_as_the_paper_prints(name: str) -> None:
    table = published.load_published(name)
    assert table["statistic"].isin(["d", "level1_d"]).sum() == EFFECTS[name]


def test_all_tables_together_are_the_tables_one_by_one(everything: pd.DataFrame) -> None:
    assert len(everything) == sum(ROWS.values())


def test_no_printed_number_is_stored_twice(everything: pd.DataFrame) -> None:
    assert not everything.duplicated(list(published.KEY_COLUMNS)).any()


def test_values_are_finite_numbers_but_for_patterns_and_what_is_printed_as_not_available(
    everything: pd.DataFrame,
) -> None:
    for row in everything.itertuples():
        if row.statistic == "pattern":
            assert row.value in PATTERNS
        elif str(row.note).startswith("printed n/a"):
            assert math.isnan(row.value)
        else:
            assert isinstance(row.value, float) and math.isfinite(row.value), row


def test_a_table_without_patterns_has_a_column_of_floats() -> None:
    assert published.load_published("guo2021.table1")["value"].dtype == float


def test_only_probabilities_and_shares_are_bounds(everything: pd.DataFrame) -> None:
    assert set(everything["relation"]) == {"=", "<", ">"}
    assert set(everything.loc[everything["relation"] != "=", "statistic"]) == {"p", "share"}


def test_probabilities_shares_and_correlations_lie_in_their_ranges(everything: pd.DataFrame) -> None:
    of = {name: rows["value"].astype(float) for name, rows in everything.groupby("statistic") if name != "pattern"}
    for name in ("p", "share", "accuracy", "chance"):
        assert of[name].between(0, 1).all()
    for name in ("r", "rho"):
        assert of[name].dropna().between(-1, 1).all()


def test_methods_and_choices_are_in_one_form(everything: pd.DataFrame) -> None:
    assert set(everything["method"]) == METHODS
    for choice in everything["choice"][everything["choice"] != ""].unique():
        keys = [part.split("=", 1)[0] for part in choice.split(";")]
        assert all("=" in part for part in choice.split(";")), choice
        assert len(keys) == len(set(keys)), choice


def test_every_named_test_and_variant_is_shipped(everything: pd.DataFrame) -> None:
    named = everything[(everything["test"] != "") & (everything["paper"] != "omrani2023")]
    assert set(named["test"]) <= set(stimuli.test_names())
    for row in named[named["variant"] != ""].drop_duplicates(["test", "variant"]).itertuples():
        data, _ = stimuli.read_test(str(row.test))
        assert row.variant in stimuli.variant_names(data), row


def test_every_category_of_omrani_is_in_the_shipped_set_that_the_row_names(everything: pd.DataFrame) -> None:
    named = everything[(everything["paper"] == "omrani2023") & (everything["method"] == "sc-weat")]
    assert len(named) == 127
    for row in named.drop_duplicates(["test", "choice"]).itertuples():
        choice = dict(part.split("=") for part in str(row.choice).split(";"))
        shipped = {c.name: c for c in load_category_set(choice["categories"]).categories}
        assert choice.get("term", shipped[row.test].first) in {shipped[row.test].first, shipped[row.test].second}


def test_only_effect_sizes_and_correlations_carry_a_verdict(everything: pd.DataFrame) -> None:
    known = everything[everything["significant"].notna()]
    assert set(known["statistic"]) == {"d", "r", *LEVEL_EFFECTS}


def test_what_is_uncertain_says_why_and_has_no_verdict(everything: pd.DataFrame) -> None:
    uncertain = everything[everything["uncertain"]]
    assert (uncertain["note"] != "").all()
    assert uncertain["significant"].isna().all()
    tables = uncertain.groupby(["paper", "table"]).size().to_dict()
    assert tables == {("guo2021", "text"): 8, ("husse2022", "table13"): 80, ("wolfe2024", "table6"): 1}


def test_husse_verdicts_are_stored_only_with_the_place_that_tells_them(everything: pd.DataFrame) -> None:
    known = everything[(everything["paper"] == "husse2022") & everything["significant"].notna()]
    assert known["note"].str.contains("significance from|bold in the text").all()


def test_caliskan_finds_all_but_the_last_word2vec_test_significant() -> None:
    for name, exceptions in (("caliskan2017.table1", set()), ("caliskan2017.tableS1", {"c10"})):
        weat = published.load_published(name).query("method == 'weat' and statistic == 'd'")
        assert set(weat.loc[~weat["significant"].astype(bool), "test"]) == exceptions
        assert weat["significant"].notna().all()


@pytest.mark.parametrize("name", ["guo2021.table1", "guo2021.table2", "guo2021.table3", "guo2021.table4"])
def test_guo_verdicts_follow_from_the_printed_p(name: str) -> None:
    table = published.load_published(name)
    effects = table[table["statistic"] == "d"].set_index(CELL)
    p = table[table["statistic"] == "p"].set_index(CELL)
    assert (effects["significant"].astype(bool) == (p["value"] < 0.05).reindex(effects.index)).all()


@pytest.mark.parametrize(
    ("tests", "count"), [(["i1", "i2", "i3", "i4"], 13), (["c6", "c7", "c8"], 9), (["c3", "c4", "c5"], 8)]
)
def test_guo_counts_of_congruent_significant_effects_follow_from_table_1(tests: list[str], count: int) -> None:
    table = published.load_published("guo2021.table1")
    effects = table[(table["statistic"] == "d") & table["choice"].str.contains("random") & table["test"].isin(tests)]
    assert (effects["significant"].astype(bool) & (effects["value"] > 0)).sum() == count


def test_omrani_verdicts_follow_from_the_printed_bounds() -> None:
    table = published.load_published("omrani2023.table2")
    effects = table[table["statistic"] == "d"].set_index(CELL)
    p = table[table["statistic"] == "p"].set_index(CELL).reindex(effects.index)
    assert (effects["significant"].astype(bool) == (p["relation"] == "<")).all()


def test_gpt_neo_has_six_effects_of_a_half_or_more_as_omrani_counts_them() -> None:
    table = published.load_published("omrani2023.table2")
    strong = table[(table["statistic"] == "d") & (table["value"] >= 0.5)].groupby("model").size()
    assert strong["gpt-neo-1.3b"] == 6
    assert strong.idxmax() == "gpt-neo-1.3b"


@pytest.mark.parametrize("name", [f"wolfe2024.table{number}" for number in range(1, 13)])
def test_wolfe_verdicts_are_known_for_levels_1_and_2_and_for_nothing_else(name: str) -> None:
    table = published.load_published(name)
    levels = table["statistic"].isin(LEVEL_EFFECTS)
    assert table.loc[levels, "significant"].notna().all()
    assert table.loc[~levels, "significant"].isna().all()


def _pattern(x: str, y: str) -> str:
    match x, y:
        case "", "":
            return "Non-Directional"
        case _, "":
            return f"{x}X-Singular"
        case "", _:
            return f"{y}Y-Singular"
        case _ if x == y:
            return f"{x}-Uniform"
    return f"{x}{y}-Divergent"


@pytest.mark.parametrize("name", ["wolfe2024.table1", "wolfe2024.table2"])
def test_the_patterns_that_wolfe_names_follow_from_the_printed_level_2(name: str) -> None:
    for _, cell in published.load_published(name).groupby(CELL):
        row = cell.set_index("statistic")
        side = {
            target: ("A" if row.loc[f"level2_{target}_d", "value"] > 0 else "B")
            if row.loc[f"level2_{target}_d", "significant"]
            else ""
            for target in "xy"
        }
        assert row.loc["pattern", "value"] == _pattern(side["x"], side["y"])


@pytest.mark.parametrize(("first", "second"), [("3", "5"), ("3", "8"), ("2", "12")])
def test_cells_that_wolfe_prints_twice_are_the_same(first: str, second: str) -> None:
    key = [*CELL, "statistic"]
    tables = [published.load_published(f"wolfe2024.table{number}") for number in (first, second)]
    shared = tables[0].merge(tables[1], on=key)
    assert len(shared) >= 55
    assert (shared["value_x"] == shared["value_y"]).all()
    assert shared["significant_x"].equals(shared["significant_y"])


@pytest.mark.parametrize("number", ["11", "12", "13"])
def test_husse_prints_a_cell_alike_in_every_table_but_for_dis_on_elmo(number: str) -> None:
    ours = published.load_published("husse2022.table3")
    ours = ours[ours["choice"].str.endswith("reported=husse2022")].copy()
    ours["choice"] = ours["choice"].str.removesuffix(";reported=husse2022")
    shared = ours.merge(published.load_published(f"husse2022.table{number}"), on=CELL)
    assert len(shared) >= 75
    shared = shared[~shared["note_y"].str.contains("last digit lost")]
    different = shared[shared["value_x"] != shared["value_y"]]
    assert set(zip(different["model"], different["test"], strict=True)) <= {("elmo", "h-dis")}


def test_husse_method_correlations_follow_from_tables_3_and_4() -> None:
    ours = published.load_published("husse2022.table3")
    ours = ours[ours["choice"].str.endswith("reported=husse2022")]
    lpbs = published.load_published("husse2022.table4")
    lpbs = lpbs[lpbs["choice"].str.contains("words=full")].set_index("test")["value"]
    correlations = published.load_published("husse2022.table5")
    correlations = correlations[correlations["choice"].str.endswith("scores=all")]
    assert len(correlations) == 18
    for row in correlations.itertuples():
        of_model = ours[ours["model"] == row.model]
        of_seat = of_model[of_model["method"] == "seat"]
        scores = {
            "s-seat": of_seat[of_seat["choice"].str.contains("encoding=sentence")].set_index("test")["value"],
            "w-seat": of_seat[of_seat["choice"].str.contains("encoding=word")].set_index("test")["value"],
            "ceat": of_model[of_model["method"] == "ceat"].set_index("test")["value"],
            "lpbs": lpbs,
        }
        first, second = str(row.choice).split(";")[0].removeprefix("methods=").split("|")
        assert scores[first].corr(scores[second]) == pytest.approx(row.value, abs=0.006)


def test_a_misspelt_table_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(HarnessError, match=r"'caliskan2017.tabel1'\. Did you mean caliskan2017\.table"):
        published.load_published("caliskan2017.tabel1")


def test_naming_the_tables_does_not_import_pandas() -> None:
    code = "import sys, harness.published as p; p.published_tables(); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ROW = {"paper": "guo2021", "table": "table1", "statistic": "d", "relation": "=", "significant": "", "note": ""}


@pytest.mark.parametrize(
    ("printed", "row"),
    [
        ("< 10 <sup>-30</sup>", {"statistic": "p", "value": "1e-30"}),
        ("$10^{-7}$", {"statistic": "p", "value": "1e-07"}),
        ("10 ⁻³⁰", {"statistic": "p", "value": "1e-30"}),
        ("n.s.", {"statistic": "p", "value": "0.05", "relation": ">"}),
        ("an accuracy of 81.6% and", {"statistic": "accuracy", "value": "0.816"}),
        ("39k", {"statistic": "n", "value": "39000", "note": "printed 39k"}),
        (".10 (.08)", {"value": "0.10"}),
        ("−0.69*", {"value": "-0.69", "paper": "wolfe2024", "significant": "true"}),
    ],
)
def test_the_checker_finds_each_printed_form_and_no_other_number(printed: str, row: dict[str, str]) -> None:
    checker = _checker()
    assert checker.missing([ROW | row], printed) == []
    assert len(checker.missing([ROW | row], "1.23")) == 1


def test_the_checker_wants_a_number_printed_as_often_as_it_is_stored() -> None:
    rows = [ROW | {"value": "0.47"}, ROW | {"value": "0.47"}]
    assert _checker().missing(rows, "0.47\t0.47") == []
    assert len(_checker().missing(rows, "0.47\t0.48")) == 1


def test_the_checker_knows_the_place_of_every_stored_table() -> None:
    assert set(_checker().SECTIONS) == {name for name in ROWS if not name.endswith(".text")}
