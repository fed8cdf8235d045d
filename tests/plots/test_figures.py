from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.cell import slots
from harness.errors import HarnessError
from harness.methods.base import Inputs, VectorSet
from harness.methods.detection import measure_ibd
from harness.methods.mleat import measure as measure_mleat
from harness.methods.wefat import measure as measure_wefat
from harness.options import StatsOptions
from harness.plots import FIGURES, cosines, decades, draw, eatmap, roc, wefat
from harness.plots.labels import Box, label_points
from harness.plots.names import cell_label
from harness.plots.style import INK, new_figure, save
from harness.result import Result
from harness.stimuli import load_test

MEASURES = {"mleat": measure_mleat, "wefat": measure_wefat, "ibd": measure_ibd}


def generated(method: str, test: str, model: str = "generated", *, seed: int = 0, target: str | None = None) -> Result:
    """Return a cell on generated vectors: X leans to A, Y to B."""
    rng = np.random.default_rng(seed)
    lean = {"X": 2.5, "Y": -2.5, "A": 2.5, "B": -2.5}
    loaded = load_test(test, target=target)
    sets = {
        slot: VectorSet(
            concept.name,
            concept.words,
            rng.normal(size=(len(concept.words), 20)) + lean.get(slot, 0.0) * np.eye(20)[0],
        )
        for slot, concept in slots(loaded)
    }
    found = MEASURES[method](Inputs(loaded, sets, StatsOptions(ci_resamples=0), seed))
    factors = {"model": model, "test": test, "method": method}
    return Result(f"{seed:064d}", "finished", {}, factors, found.metrics, found.labels, tables=found.tables)


def texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def label_boxes(figure: Figure, dpi: int) -> list[Box]:
    figure.set_dpi(dpi)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    notes = [text for axes in figure.axes for text in axes.texts if text.get_text()]
    # The words' own boxes; get_window_extent of an annotation would include its leader line.
    return [Box(*text.get_bbox_patch().get_window_extent(renderer).extents) for text in notes]  # type: ignore[union-attr]


@pytest.mark.parametrize("test", ["wefat1", "wefat2"])
def test_label_boxes_do_not_overlap_at_any_resolution(test: str) -> None:
    figure = wefat.figure(generated("wefat", test))
    for dpi in (72, 100, 150, 300):
        boxes = label_boxes(figure, dpi)
        assert len(boxes) == 50
        assert [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])] == []


def test_labels_of_points_that_coincide_are_moved_apart_and_tied_to_their_point() -> None:
    figure = new_figure(5, 4)
    axes = figure.subplots()
    x = [0.0] * 12 + [1.0]
    axes.plot(x, x, "o")
    labels = label_points(axes, x, x, [f"word{i}" for i in range(13)], fontsize=7, colour=INK)
    boxes = label_boxes(figure, 100)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert any(label.arrow_patch is not None for label in labels)
    assert labels[-1].arrow_patch is None


def test_a_figure_without_room_for_its_labels_says_so() -> None:
    figure = new_figure(1, 1)
    axes = figure.subplots()
    axes.plot([0.0] * 60, [0.0] * 60, "o")
    with pytest.raises(ValueError, match="too small for its labels"):
        label_points(axes, [0.0] * 60, [0.0] * 60, ["a long label"] * 60, fontsize=9, colour=INK)


@pytest.mark.parametrize(("method", "test"), [("mleat", "w6"), ("wefat", "wefat2"), ("ibd", "ibd")])
def test_every_figure_of_a_cell_is_written_as_png_and_svg_with_the_same_bytes_each_time(
    method: str, test: str, tmp_path: Path
) -> None:
    result = generated(method, test)
    wanted = {name for name, table in FIGURES.items() if table in result.tables}
    assert wanted
    runs = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        paths = draw(result, folder)
        assert {path.name for path in paths} == {f"{name}.{kind}" for name in wanted for kind in ("png", "svg")}
        runs.append([path.read_bytes() for path in paths])
        for path in paths:
            if path.suffix == ".svg":
                ElementTree.parse(path)
    assert runs[0] == runs[1]


def test_an_eat_map_shades_the_quadrants_of_its_pattern() -> None:
    result = generated("mleat", "w6")
    assert result.labels["pattern"] == "AB-Divergent"
    shaded = {cell.target + cell.attribute for cell in eatmap.quadrants(result) if cell.shaded}
    assert shaded == {"XA", "YB"}
    figure = eatmap.figure(result)
    patches = [
        patch
        for patch in figure.axes[0].patches
        if patch.get_facecolor()[:3] == pytest.approx((213 / 255, 94 / 255, 0))
    ]
    assert [(patch.get_x(), patch.get_y()) for patch in patches] == [(0, 1), (1, 0)]  # type: ignore[attr-defined]
    assert "male names (X)" in texts(figure)
    assert "AB-Divergent" in texts(figure)


def test_an_effect_stands_in_the_row_of_the_attribute_that_it_points_at() -> None:
    result = generated("mleat", "w6")
    effects = {cell.target + cell.attribute: cell.effect for cell in eatmap.quadrants(result)}
    assert effects["XA"].startswith(f"d = {result.metrics['level2_x_d']:.2f}, p = ")
    assert effects["XB"] == effects["YA"] == ""
    assert effects["YB"].startswith("d = -")


def test_an_eat_map_as_text_has_the_same_shading() -> None:
    lines = eatmap.eatmap_text(generated("mleat", "w6")).splitlines()
    assert lines[0].startswith("w6 on generated: AB-Divergent, level 1: d = ")
    upper, lower = lines[3], lines[6]
    assert "█" in upper and "░" in upper
    assert upper.index("█") < upper.index("░")
    assert lower.index("░") < lower.index("█")
    assert len({len(line) for line in lines[2:8]}) == 1


def test_a_page_of_eat_maps_has_one_for_each_test(tmp_path: Path) -> None:
    results = [generated("mleat", f"w{i}", seed=i) for i in range(1, 11)]
    figure = eatmap.eatmap_grid(results)
    drawn = [axes for axes in figure.axes if axes.patches]
    assert len(drawn) == 10
    assert all(f"w{i} on generated" in texts(figure) for i in range(1, 11))
    assert all(path.stat().st_size > 0 for path in save(figure, tmp_path / "page"))
    with pytest.raises(HarnessError, match="no EAT-Map to draw"):
        eatmap.eatmap_grid([])


def test_a_cell_of_another_method_has_no_eat_map() -> None:
    with pytest.raises(HarnessError, match="not measured by mleat"):
        list(eatmap.quadrants(Result("f" * 64, "finished", {}, {})))


def test_bunched_cosines_are_called_so_in_the_figure() -> None:
    result = generated("mleat", "w6")
    assert "cosines spread as they do in static word vectors" in texts(cosines.figure(result)).replace("\n", " ")
    result.labels |= {"anisotropy": "uniform", "anisotropy_in_words": "All vectors point the same way."}
    title = cosines.figure(result).axes[0].get_title(loc="left")
    assert "point the same way" in title


def histories() -> list[Result]:
    return [
        generated("mleat", "w7", f"histwords-eng-{year}", seed=year, target="histwords") for year in (1990, 1810, 1900)
    ]


def test_decades_are_in_order_with_pattern_and_significance() -> None:
    results = histories()
    figure = decades.decades(results)
    axes, strip = figure.axes
    ordered = sorted(results, key=decades.decade)
    assert [label.get_text() for label in strip.get_xticklabels()] == [
        f"{year}  {result.labels['pattern']}" for year, result in zip((1810, 1900, 1990), ordered, strict=True)
    ]
    line = next(line for line in axes.lines if str(line.get_label()).startswith("level 1"))
    assert list(line.get_ydata()) == [result.metrics["d"] for result in ordered]
    hollow = [line for line in axes.lines if line.get_color() == "white"]
    names = ("p", "level2_x_p", "level2_y_p")
    assert len(hollow) == sum(result.metrics[name] >= 0.05 for result in results for name in names)


def test_decades_need_one_test_and_different_decades() -> None:
    results = histories()
    with pytest.raises(HarnessError, match="same decade"):
        decades.decades([*results, results[0]])
    with pytest.raises(HarnessError, match="does not end with a decade"):
        decades.decades([generated("mleat", "w7", "googlenews")])
    with pytest.raises(HarnessError, match="one test"):
        decades.decades([*results, generated("mleat", "w8", "histwords-eng-1850")])


def test_the_published_roc_points_stand_beside_ours() -> None:
    result = generated("ibd", "ibd")
    points = roc.published_points(result)
    assert points == {"AF": pytest.approx((9 / 84, 5 / 14)), "MF": pytest.approx((9 / 85, 5 / 13))}
    figure = roc.figure(result)
    drawn = [
        tuple(line.get_xydata()[0]) for axes in figure.axes for line in axes.lines if line.get_label() == "published"
    ]
    assert sorted(drawn) == sorted(points.values())
    assert len([axes for axes in figure.axes if axes.lines]) == 6


def test_a_test_of_ones_own_has_no_published_point() -> None:
    result = generated("ibd", "ibd")
    result.factors["test"] = "own"
    assert roc.published_points(result) == {}


def test_a_figure_names_the_corpus_that_its_contexts_come_from() -> None:
    def label(context: str | None) -> str:
        factors = {"test": "c8", "model": "minilm", "context": context}
        return cell_label(Result("f" * 64, "finished", {}, factors))

    assert label("corpus/gutenberg/window4/n40") == "c8 on minilm in gutenberg"
    assert label("templates/may2019") == label(None) == "c8 on minilm"
