"""The figures of CEAT: drawn from a result's tables alone, with what a reader must see in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from harness.methods.ceat import measure
from harness.methods.mlceat import measure as measure_levels
from harness.plots import ceat_distribution, convergence, draw, eatmap
from harness.plots.style import save
from harness.result import Result
from tests.methods.ceat_blocks import block_sets, inputs_of


def result_of(*, levels: bool = False, lean: float = 0.3, samples: int = 800) -> Result:
    found = (measure_levels if levels else measure)(inputs_of(block_sets(lean=lean), ceat_samples=samples))
    return Result(
        fingerprint="0" * 64,
        status="finished",
        identity={},
        factors={"test": "generated", "model": "blocks"},
        metrics=found.metrics,
        labels=found.labels,
        tables=found.tables,
    )


def texts(figure: Figure) -> str:
    """Return everything that is written inside the axes and above them."""
    return " | ".join(
        text for axes in figure.axes for text in (axes.get_title(loc="left"), *(t.get_text() for t in axes.texts))
    )


def test_figure_1_has_a_bar_for_every_bin_with_samples_and_marks_the_ces_and_zero() -> None:
    result = result_of()
    figure = ceat_distribution.figure(result)
    axes = figure.axes[0]
    heights = [int(bar.get_height()) for bar in axes.patches]
    assert sum(heights) == 800
    assert heights == [row["count"] for row in result.tables["histogram"] if row["count"]]
    assert [line.get_xdata()[0] for line in axes.lines] == [0, result.metrics["ces"]]
    assert f"CES {result.metrics['ces']:.2f}" in texts(figure)


def test_the_colour_of_a_bin_is_its_mean_p() -> None:
    result = result_of()
    bars = ceat_distribution.figure(result).axes[0].patches
    means = [row["mean_p"] for row in result.tables["histogram"] if row["count"]]
    lightness = [sum(bar.get_facecolor()[:3]) for bar in bars]
    darkest, lightest = min(range(len(bars)), key=means.__getitem__), max(range(len(bars)), key=means.__getitem__)
    assert means[lightest] - means[darkest] > 0.5
    assert lightness[lightest] > lightness[darkest]


def test_multilevel_ceat_shows_the_share_of_every_pattern() -> None:
    result = result_of(levels=True)
    figure = ceat_distribution.figure(result)
    side = next(axes for axes in figure.axes if len(axes.get_yticklabels()) == 9)
    shares = [bar.get_width() for bar in side.patches]
    assert sum(shares) == pytest.approx(1)
    assert f"{result.metrics['pattern_share']:.0%}" in texts(figure)


def test_the_convergence_figure_marks_where_samples_were_enough() -> None:
    result = result_of(lean=1.0, samples=4_000)
    assert result.labels["samples_enough"] == "yes"
    figure = convergence.figure(result)
    assert f"{int(result.metrics['n_enough']):,} were enough" in texts(figure)
    line = next(line for line in figure.axes[0].lines if line.get_label() == "CES of the first n samples")
    assert list(line.get_xdata()) == [50, 100, 200, 500, 1000, 2000, 4000]


def test_the_convergence_figure_says_when_more_samples_are_needed() -> None:
    assert "samples are needed" in texts(convergence.figure(result_of(samples=60)))


def test_a_result_read_back_draws_all_figures(tmp_path: Path) -> None:
    result = Result(**json.loads(result_of(levels=True).to_json()))
    names = {path.name for path in draw(result, tmp_path)}
    assert {"ceat_distribution.png", "convergence.svg", "eatmap.png", "associations.png"} <= names


def test_the_eat_map_of_many_samples_tells_how_many_show_its_pattern() -> None:
    result = result_of(levels=True)
    title = f"{result.labels['pattern']} in {result.metrics['pattern_share']:.0%} of samples"
    assert title in texts(eatmap.figure(result))
    assert title in eatmap.eatmap_text(result)


def test_long_names_break_a_title_in_place_of_being_cut_off(tmp_path: Path) -> None:
    result = result_of(levels=True, samples=100)
    result.factors.update(
        {"model": "an-encoder-of-mine-with-a-long-name", "context": "corpus/comments-of-2024/window4"}
    )
    for module in (ceat_distribution, convergence, eatmap):
        figure = module.figure(result)
        said = texts(figure)
        save(figure, tmp_path / "figure")
        assert all(axes._left_title.get_window_extent().x1 <= figure.bbox.x1 for axes in figure.axes)
        assert texts(figure).replace("\n", " ") == said.replace("\n", " ")
