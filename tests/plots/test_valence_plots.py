"""The figures of omrani2023 are drawn from a result's tables alone, and show what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness.models
from harness.cell import Cell
from harness.plots import deciles, draw, interactions, valence, valnorm
from harness.plots.p_text import format_p
from harness.plots.person import per_cent
from harness.result import Result
from harness.runner import Encoders, run
from tests.methods.test_valence import FIVE, POLES, config
from tests.planted_encoder import PlantedEncoder


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, runs: Path) -> Any:
    rated = {"sunny": 2.0, "rainy": -1.0, "bland": 0.0, "great": 3.0}
    planted = PlantedEncoder(poles=POLES | rated, terms={"male": 0.5, "muslim": 0.2}, noise=0.3)
    monkeypatch.setitem(harness.models.CONTEXTUAL, "planted", planted.kind())
    path = runs.parent / "norms.csv"
    path.write_text("word,rating\n" + "".join(f"{word},{value}\n" for word, value in (rated | {"love": 3}).items()))

    def measure(**changes: Any) -> Result:
        lexicon = {"name": "norms", "asset": None, "path": str(path)}
        found = run(Cell.from_config(config(runs, lexicon=lexicon, **changes)), Encoders(runs))
        assert found.status == "finished", found.traceback
        return found

    return measure


def texts(drawing: Any) -> set[str]:
    return {text.get_text() for axes in drawing.axes for text in axes.texts}


def test_a_cell_in_context_has_three_figures(measured: Any, tmp_path: Path) -> None:
    found = {path.name for path in draw(measured(context={**FIVE, "shuffles": 2}), tmp_path)}
    assert {"valence.png", "deciles.png", "interactions.png"} <= found


def test_the_means_of_both_terms_are_marked_and_named(measured: Any) -> None:
    result = measured(context=FIVE)
    axes = valence.figure(result).axes[0]
    assert {"male", "female", "christian", "muslim"} <= {text.get_text() for text in axes.texts}
    marked = {round(float(line.get_xdata()[0]), 6) for line in axes.lines if len(line.get_xdata()) == 1}
    for row in result.tables["categories"]:
        assert {round(row["mean_first"], 6), round(row["mean_second"], 6)} <= marked


def test_the_bars_of_a_decile_are_as_long_as_the_shares(measured: Any) -> None:
    result = measured(context={**FIVE, "orders": "all"})
    drawing = deciles.figure(result)
    axes = drawing.axes[0]
    shares = sorted(row["share"] for row in result.tables["deciles"] if row["end"] == "top")
    ends = [
        max(bar.get_x() + bar.get_width() for bar in axes.patches if round(bar.get_y() + 0.375) == y) for y in range(10)
    ]
    assert ends == pytest.approx(shares)
    assert {label.get_text() for label in axes.get_legend().get_texts()} == {f"position {n}" for n in range(1, 6)}


def test_figures_name_the_poles_and_the_word_of_the_cell(measured: Any) -> None:
    own = {"poles": ["caliskan2017/math", "caliskan2017/arts"]}
    result = measured(context=FIVE, association=own)
    assert result.factors["poles"] == "caliskan2017/math v caliskan2017/arts"
    for module in (valence, interactions):
        assert "person on math v arts" in module.figure(result).get_suptitle()
    assert valence.figure(result).axes[0].get_xlabel() == "mean projection: arts ← → math"
    assert [axes.get_title(loc="left") for axes in deciles.figure(result).axes] == [
        "the tenth nearest to math (3 sentences)",
        "the tenth nearest to arts (3 sentences)",
    ]


def test_every_interaction_has_a_cell(measured: Any) -> None:
    result = measured(context=FIVE)
    heat = interactions.figure(result).axes[1]
    assert len(heat.texts) == 10
    assert heat.images[0].get_array().count() == 10


def test_the_lines_of_valnorm_are_the_layers(measured: Any) -> None:
    result = measured(method="valnorm")
    lines = {line.get_label(): line for line in valnorm.figure(result).axes[0].lines}
    assert list(lines["projection, all words"].get_ydata()) == [row["r_projection"] for row in result.tables["layers"]]
    assert "cosine, without the pole words" in lines


def test_valnorm_of_one_layer_shows_the_words_alone(measured: Any) -> None:
    assert len(valnorm.figure(measured(method="valnorm", layer=1)).axes) == 1


def test_both_p_values_of_a_category_stand_beside_its_effect(measured: Any) -> None:
    result = measured(context=FIVE)
    right = valence.figure(result).axes[1].child_axes[0]
    beside = {label.get_text().split()[2]: label.get_text() for label in right.get_yticklabels()}
    assert len(right.get_yticklabels()) == 5
    for row in result.tables["categories"]:
        text = beside[f"{row['d']:.2f}"]
        assert f"p = {format_p(row['p_two_sided'])} " in text
        assert text.endswith(f"paired p = {format_p(row['paired_p_two_sided'])}")


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.002, "< 1 %"), (0.994, "99 %"), (0.997, "> 99 %"), (1.0, "100 %")]
)
def test_a_share_that_is_neither_none_nor_all_is_not_rounded_to_it(share: float, text: str) -> None:
    assert per_cent(share) == text


@pytest.mark.parametrize("number", [3, 5])
def test_no_text_of_the_interactions_is_cut(measured: Any, tmp_path: Path, number: int) -> None:
    path = tmp_path / "own.yaml"
    rows = [("age", "young", "old"), ("origin", "local", "foreign"), ("sexual orientation", "gay", "straight")]
    rows += [("manner", "quiet", "loud"), ("means", "rich", "poor")]
    path.write_text(
        "categories:\n" + "".join(f"- {{name: {n}, first: {a}, second: {b}}}\n" for n, a, b in rows[:number])
    )
    drawing = interactions.figure(measured(context={**FIVE, "categories": str(path)}))
    drawing.draw_without_rendering()
    width, height = drawing.canvas.get_width_height()
    for part in [*drawing.axes, *drawing.texts]:
        box = part.get_tightbbox()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
