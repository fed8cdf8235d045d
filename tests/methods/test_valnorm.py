"""ValNorm and its lexica: planted ratings, pole words apart, and what a lexicon file must hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness.models
from harness.cell import Cell, fingerprint
from harness.errors import HarnessError
from harness.lexica import load_lexicon
from harness.methods.valnorm import valnorm
from harness.runner import Encoders, run
from tests.methods.test_valence import POLES, config
from tests.planted_encoder import PlantedEncoder

RATED = {
    "sunny": 2.0,
    "rainy": -1.0,
    "bland": 0.0,
    "great": 3.0,
    "awful": -3.0,
    "fine": 1.0,
    "love": 3.2,
    "death": -2.9,
}


@pytest.fixture
def lexicon(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "norms.csv"
    path.write_text("Word,V.Mean,N\n" + "".join(f"{word},{value},30\n" for word, value in RATED.items()))
    return {"name": "mine", "asset": None, "path": str(path), "word": "Word", "rating": "V.Mean", "limit": None}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> PlantedEncoder:
    encoder = PlantedEncoder(poles=POLES | {word: value for word, value in RATED.items()}, noise=0.2)
    monkeypatch.setitem(harness.models.CONTEXTUAL, "planted", encoder.kind())
    return encoder


def test_ratings_that_are_planted_are_found_at_every_layer(
    planted: PlantedEncoder, lexicon: dict[str, Any], runs: Path
) -> None:
    result = run(Cell.from_config(config(runs, method="valnorm", lexicon=lexicon)), Encoders(runs))
    assert result.status == "finished", result.traceback
    assert result.metrics["r"] == result.metrics["r_projection"] > 0.95
    assert result.metrics["n_words"] == 8
    assert result.metrics["n_pole_words"] == 2
    assert [row["layer"] for row in result.tables["layers"]] == [0, 1, 2, 3]
    assert all("r_cosine" in row and "r_without_poles_projection" in row for row in result.tables["layers"])
    assert result.factors["lexicon"] == "mine"
    assert set(planted.read.values()) == {1}


def test_the_association_of_the_cell_says_which_r_is_the_cells(
    planted: PlantedEncoder, lexicon: dict[str, Any], runs: Path
) -> None:
    cells = [
        Cell.from_config(config(runs, method="valnorm", lexicon=lexicon, association={"name": name}))
        for name in ("cosine", "projection")
    ]
    by_cosine, by_projection = (run(cell, Encoders(runs)) for cell in cells)
    assert by_cosine.metrics["r"] == by_cosine.metrics["r_cosine"] == by_projection.metrics["r_cosine"]
    assert by_projection.metrics["r"] == by_projection.metrics["r_projection"]


def test_contexts_and_the_last_layer_make_no_new_cell(
    planted: PlantedEncoder, lexicon: dict[str, Any], runs: Path
) -> None:
    prints = {
        fingerprint(Cell.from_config(config(runs, method="valnorm", lexicon=lexicon, **changes)).identity())
        for changes in ({}, {"context": {"name": "bare"}}, {"layer": "all"}, {"layer": "last"})
    }
    assert len(prints) == 1


def test_r_without_the_poles_leaves_them_out() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=60)
    scores = rng.normal(size=60)
    is_pole = np.arange(60) < 20
    scores[:20] = ratings[:20]
    found = valnorm(scores, ratings, is_pole)
    assert found.without_poles is not None
    assert found.without_poles.r == pytest.approx(np.corrcoef(scores[20:], ratings[20:])[0, 1])
    assert found.r.r > found.without_poles.r


def test_a_lexicon_without_pole_words_says_so(planted: PlantedEncoder, tmp_path: Path, runs: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("word,rating\nsunny,2\nrainy,-1\nbland,0\ngreat,3\n")
    lexicon = {"name": "few", "asset": None, "path": str(path)}
    result = run(Cell.from_config(config(runs, method="valnorm", lexicon=lexicon)), Encoders(runs))
    assert "None of the pole words is in the lexicon few: r with and without them is the same." in result.notes


def test_a_lexicon_of_pole_words_alone_says_so(planted: PlantedEncoder, tmp_path: Path, runs: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("word,rating\nLove,3\npeace,2\nDEATH,-3\nsunny,2\n")
    lexicon = {"name": "few", "asset": None, "path": str(path)}
    result = run(Cell.from_config(config(runs, method="valnorm", lexicon=lexicon)), Encoders(runs))
    assert result.metrics["n_pole_words"] == 3
    assert "r_without_poles" not in result.metrics
    assert any(note.startswith("Of the 4 words of the lexicon few, 3 are pole words") for note in result.notes)


def test_a_p_value_too_small_to_write_is_not_zero(planted: PlantedEncoder, tmp_path: Path, runs: Path) -> None:
    words = [f"w{number}" for number in range(600)]
    planted.poles |= {word: number / 100 for number, word in enumerate(words)}
    path = tmp_path / "many.csv"
    path.write_text("word,rating\n" + "".join(f"{word},{number}\n" for number, word in enumerate(words)))
    lexicon = {"name": "many", "asset": None, "path": str(path)}
    metrics = run(Cell.from_config(config(runs, method="valnorm", lexicon=lexicon)), Encoders(runs)).metrics
    assert metrics["log10_p"] < -310
    assert metrics["p"] > 0


def test_a_lexicon_that_shares_no_word_with_static_vectors_is_a_sentence(
    vectors: Path, tmp_path: Path, runs: Path
) -> None:
    path = tmp_path / "strange.csv"
    path.write_text("word,rating\nxyzzy,2\nplugh,-1\nfrob,0\n")
    asked = config(runs, method="valnorm", lexicon={"name": "strange", "asset": None, "path": str(path)})
    asked["model"] |= {"name": "own", "kind": "static", "path": str(vectors)}
    result = run(Cell.from_config(asked), Encoders(runs))
    assert result.status == "failed"
    assert "own has 0 of the 3 stimuli of W (lexicon/strange)" in result.reason


@pytest.mark.parametrize(
    ("text", "changes", "sentence"),
    [
        ("word,value\na,1\n", {}, "has no column 'rating' \\(lexicon.rating\\).* It has word, value"),
        ("word,rating\nsun,high\n", {}, "line 2: the rating of 'sun' is 'high', which is no number"),
        ("word,rating\nsun,nan\n", {}, "line 2: the rating of 'sun' is 'nan', which is no number"),
        ("word,rating\nsun\n", {}, "line 2: the rating of 'sun' is None, which is no number"),
        ("word,rating\nsun,1\nmoon,2\nsun,3\n", {}, "line 4: 'sun' is rated twice"),
        ("word,rating\n,1\n", {}, "line 2: a rating of 1 has no word"),
        ("word,rating\nsun,1\n", {}, "holds 1 rated words; at least 3"),
        ("word,rating\na,1\nb,2\nc,3\n", {"limit": 2}, "lexicon.limit=2"),
    ],
)
def test_a_lexicon_file_with_a_mistake_is_a_sentence(
    tmp_path: Path, text: str, changes: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "norms.csv"
    path.write_text(text)
    with pytest.raises(HarnessError, match=sentence):
        load_lexicon({"name": "norms", "path": str(path), **changes})


def test_a_lexicon_file_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(HarnessError, match="there is no file"):
        load_lexicon({"name": "norms", "path": "nowhere.csv"})


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_commas_tabs_and_semicolons_part_columns(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "norms.csv"
    path.write_text("\n".join(separator.join(row) for row in (("w", "v"), ("a", "1"), ("b", "2.5"), ("c", "3"))))
    found = load_lexicon({"name": "norms", "path": str(path), "word": "w", "rating": "v"})
    assert found.properties == {"a": 1.0, "b": 2.5, "c": 3.0}


def test_a_draw_keeps_the_pole_words_and_is_the_same_for_a_seed(tmp_path: Path) -> None:
    path = tmp_path / "norms.csv"
    path.write_text("word,rating\n" + "".join(f"w{i},{i}\n" for i in range(50)))
    asked = {"name": "norms", "path": str(path), "limit": 10}
    one, again, other = (load_lexicon(asked, keep=frozenset({"w3"}), seed=seed).words for seed in (0, 0, 1))
    assert one == again != other
    assert "w3" in one
    assert len(one) == 11


def test_vader_is_read_without_its_emoticons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vader_lexicon.txt"
    path.write_text(
        ":)\t2.0\t1.1\t[2]\nlol\t1.8\t0.9\t[1]\nhate\t-2.7\t1.0\t[-3]\nx\t1.0\t1\t[1]\ngood\t1.9\t0.9\t[2]\n"
    )
    locate: Callable[..., Path] = lambda *_, **__: path  # noqa: E731
    monkeypatch.setattr("harness.lexica.locate", locate)
    found = load_lexicon({"name": "vader", "asset": "vader", "limit": None})
    assert found.properties == {"lol": 1.8, "hate": -2.7, "good": 1.9}


def test_a_mistake_is_named_by_its_line_in_the_file_where_lines_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "norms.csv"
    path.write_text("word,rating\nsun,1\n\n\nmoon,high\n")
    with pytest.raises(HarnessError, match="line 5: the rating of 'moon' is 'high'"):
        load_lexicon({"name": "norms", "path": str(path)})
