from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harness
from harness.errors import HarnessError
from harness.methods.base import Inputs, VectorSet
from harness.methods.wefat import compare_scores, measure, most_alike, wefat
from harness.options import StatsOptions
from harness.result import Result
from harness.stats.effect import sc_weat_d
from harness.stimuli import load_test

Vectors = NDArray[np.float64]
STATS = StatsOptions()
SIZE = 40


def attributes(rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """Eight words a side that lean to either end of the first axis."""
    A, B = rng.normal(size=(2, 8, 30))
    A[:, 0] += 6
    B[:, 0] -= 6
    return A, B


def words_with(r: float, rng: np.random.Generator) -> tuple[Vectors, Vectors, Vectors, Vectors]:
    """Words whose scores have exactly the correlation r with their property."""
    A, B = attributes(rng)
    W = rng.normal(size=(SIZE, 30))
    W[:, 0] += np.linspace(-3, 3, SIZE)
    scores = sc_weat_d(W, A, B)
    scores = (scores - scores.mean()) / np.linalg.norm(scores - scores.mean())
    noise = rng.normal(size=SIZE)
    noise -= noise.mean() + scores * (scores @ noise)
    properties = 50 + 20 * (r * scores + np.sqrt(1 - r**2) * noise / np.linalg.norm(noise))
    return W, A, B, properties


@pytest.mark.parametrize("r", [0.9, 0.3, -0.6])
def test_a_planted_correlation_is_recovered(r: float) -> None:
    found = wefat(*words_with(r, np.random.default_rng(7)), stats=STATS)
    assert found.r.r == pytest.approx(r, abs=1e-9)
    assert found.line.r2 == pytest.approx(r**2)


def test_words_near_a_score_high() -> None:
    rng = np.random.default_rng(1)
    A, B = attributes(rng)
    found = wefat(np.vstack([A, B]), A, B, np.r_[np.ones(8), np.zeros(8)], stats=STATS)
    assert found.scores[:8].min() > 0 > found.scores[8:].max()
    assert found.r.r > 0.9


def test_r_without_a_word_is_r_of_the_others() -> None:
    W, A, B, properties = words_with(0.5, np.random.default_rng(3))
    found = wefat(W, A, B, properties, stats=STATS)
    others = np.arange(SIZE) != 4
    assert found.without.r[4] == pytest.approx(np.corrcoef(found.scores[others], properties[others])[0, 1])


def test_the_least_name_like_fifth_is_dropped() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(10, 20)) + 5 * np.eye(20)[0]
    vectors[[2, 7]] = rng.normal(size=(2, 20)) - 5 * np.eye(20)[0]
    assert np.flatnonzero(~most_alike(vectors, keep=0.8)).tolist() == [2, 7]
    assert most_alike(vectors, keep=1.0).all()
    lengths = rng.uniform(0.1, 9, size=(10, 1))
    assert (most_alike(vectors * lengths, keep=0.8) == most_alike(vectors, keep=0.8)).all()


def cell(rng: np.random.Generator, *, without: tuple[str, ...] = (), **options: Any) -> Inputs:
    W, A, B, properties = words_with(0.8, rng)
    words = tuple(f"w{i}" for i in range(SIZE))
    given = {word: float(value) for word, value in zip(words, properties, strict=True) if word not in without}
    test = load_test(
        {
            "name": "own",
            "W": {"words": words, "properties": given},
            "A": [f"a{i}" for i in range(8)],
            "B": [f"b{i}" for i in range(8)],
            "property_name": "share",
        }
    )
    sets = {"W": VectorSet("own/w", words, W)}
    sets |= {slot: VectorSet(f"own/{slot}", getattr(test, slot).words, rows) for slot, rows in (("A", A), ("B", B))}
    return Inputs(test, sets, StatsOptions(**options), 0)


def as_result(inputs: Inputs, name: str) -> Result:
    found = measure(inputs)
    factors = {"model": name, "test": "own", "method": "wefat"}
    return Result(name, "finished", {}, factors, found.metrics, found.labels, tables=found.tables, notes=found.notes)


def test_a_cell_tells_every_word_its_influence_and_names_the_words_dropped() -> None:
    result = as_result(cell(np.random.default_rng(2), wefat_keep=0.8), "one")
    assert result.metrics["n_kept"] == 32 == len(result.tables["scores"])
    assert len(result.notes[0].partition(": ")[2].split(",")) == 8
    assert result.metrics["r_without_lowest"] <= result.metrics["r"] <= result.metrics["r_without_highest"]
    result.to_json()


def test_a_word_without_a_property_is_named() -> None:
    with pytest.raises(HarnessError, match="w3, w9 of own/w has no number"):
        measure(cell(np.random.default_rng(2), without=("w3", "w9")))


def test_two_models_agree_on_the_words_that_both_know() -> None:
    one, other = (as_result(cell(np.random.default_rng(2)), name) for name in ("one", "other"))
    other.tables["scores"] = [{**row, "s": row["s"] ** 3} for row in other.tables["scores"][5:]][::-1]
    found = compare_scores(one, other)
    assert len(found.words) == SIZE - 5
    assert found.spearman.r == pytest.approx(1.0)
    assert 0.8 < found.pearson.r < 1.0


def test_cells_of_other_methods_have_no_scores_to_compare() -> None:
    one = as_result(cell(np.random.default_rng(2)), "one")
    with pytest.raises(HarnessError, match="not measured by wefat"):
        compare_scores(one, Result("f" * 64, "finished", {}, {}))


def test_the_function_for_notebooks_takes_a_concept_with_its_properties() -> None:
    inputs = cell(np.random.default_rng(2))
    vectors = {word: row for item in inputs.sets.values() for word, row in zip(item.words, item.vectors, strict=True)}
    test: Any = inputs.test
    assert harness.wefat(test.W, test.A, test.B, vectors=vectors).r.r == pytest.approx(0.8)
    with pytest.raises(HarnessError, match="there is none for w1"):
        harness.wefat(["w0", "w1"], test.A, test.B, {"w0": 1.0}, vectors)
    with pytest.raises(HarnessError, match="pass properties"):
        harness.wefat(test.W.words, test.A, test.B, vectors=vectors)


def test_occupations_on_google_news_follow_the_share_of_women() -> None:
    """caliskan2017 reports .90 on GloVe 840B; these are the vectors of its supplement."""
    from harness.encoders.static import open_static

    test: Any = load_test("wefat1")
    model = {"name": "googlenews", "kind": "static", "format": "embedded", "case": "auto", "phrase": ["underscore"]}
    encoder = open_static(model, cache=None)  # type: ignore[arg-type]
    found = {slot: encoder.lookup(getattr(test, slot).words) for slot in "WAB"}
    properties = [test.W.properties[word] for word in found["W"].words]
    result = wefat(*(found[slot].matrix for slot in "WAB"), properties, stats=STATS)
    assert found["W"].missing == ("hygienist",)
    assert result.r.r == pytest.approx(0.848, abs=0.001)
