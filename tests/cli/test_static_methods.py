"""ML-EAT, WEFAT, IBD and EIBD from the command line."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.result import ResultStore
from harness.stimuli import load_test
from tests.conftest import write_vectors

Cli = Callable[..., tuple[int, str, str]]


def quick(runs: Path) -> list[str]:
    return [f"paths.runs={runs}", "tracking=none", "figures=never", "stats.ci_resamples=0"]


def sweep_of(runs: Path) -> str:
    (folder,) = (runs / "sweeps").iterdir()
    return folder.name


@pytest.fixture
def decades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated HistWords of all decades in the cache, where a fetch would have put them."""
    test = load_test("w7", target="histwords")
    words = [word for slot in "XYAB" for word in getattr(test, slot).words]
    folder = tmp_path / "cache" / "histwords-eng-all"
    folder.mkdir(parents=True)
    (folder / "asset.json").write_text("{}")
    for year in range(1810, 2000, 10):
        np.save(folder / f"{year}-w.npy", np.random.default_rng(year).normal(size=(len(words), 16)))
        (folder / f"{year}-vocab.pkl").write_bytes(pickle.dumps(words))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("decades")
def test_figure_3_of_wolfe2024_is_a_sweep_and_a_figure(cli: Cli, runs: Path, tmp_path: Path) -> None:
    status, out, _ = cli("run", "experiment=wolfe2024_figure3", *quick(runs))
    assert status == 0
    assert "of 19 published patterns agree" in out
    status, out, _ = cli("plot", "--decades", sweep_of(runs), "--runs", runs, "--out", tmp_path / "figures")
    assert status == 0
    assert [Path(line).name for line in out.split()] == ["decades.png", "decades.svg"]


def test_table_1_of_wolfe2024_runs_on_ones_own_file(cli: Cli, runs: Path, tmp_path: Path) -> None:
    tests = [load_test(f"w{i}") for i in range(1, 11)]
    words = {word for test in tests for slot in "XYAB" for word in getattr(test, slot).words}
    rng = np.random.default_rng(0)
    path = write_vectors(tmp_path / "glove.txt", {word: rng.normal(size=8) for word in sorted(words)})
    status, out, _ = cli("run", "experiment=wolfe2024_table1", f"model.path={path}", *quick(runs))
    assert status == 0
    assert "mleat beside wolfe2024.table1 (glove-840b-300d)" in out
    assert "of 110 published numbers agree" in out
    assert "of 10 published patterns agree" in out


def test_eat_maps_of_a_sweep_are_drawn_on_one_page_and_printed(cli: Cli, own: list[str], runs: Path) -> None:
    assert cli("run", "-m", "method=mleat", "stats.ddof=0,1", *own)[0] == 0
    status, out, _ = cli("plot", "--grid", sweep_of(runs), "--runs", runs)
    assert status == 0
    assert all(Path(line).is_file() for line in out.split())
    status, out, _ = cli("plot", "--grid", sweep_of(runs), "--text", "--runs", runs)
    assert out.count("AB-Divergent") == 2


def test_the_figures_of_an_mleat_cell(cli: Cli, own: list[str], runs: Path) -> None:
    assert cli("run", "method=mleat", *own)[0] == 0
    (result,) = ResultStore(runs)
    status, out, _ = cli("plot", result.fingerprint[:8], "--runs", runs)
    assert status == 0
    assert {Path(line).stem for line in out.split()} == {"associations", "eatmap", "cosines"}
    assert "█" in cli("plot", result.fingerprint[:8], "--text", "--runs", runs)[1]


def test_a_sweep_without_mleat_has_no_eat_map(cli: Cli, own: list[str], runs: Path) -> None:
    assert cli("run", "-m", "stats.ddof=0,1", *own)[0] == 0
    status, _, err = cli("plot", "--grid", sweep_of(runs), "--runs", runs)
    assert status == 2
    assert "has no finished cell measured by mleat" in err


def test_wefat_sweeps_end_with_the_agreement_of_models(cli: Cli, runs: Path) -> None:
    status, out, _ = cli("run", "experiment=wefat", "test=wefat1", *quick(runs))
    assert status == 0
    assert "wefat1: word scores of googlenews and glove-6b-100d: r = 0.78, Spearman 0.76, 49 words" in out
    assert "left out hygienist" in out


def test_detection_shows_accuracy_beside_the_baseline_and_the_published_accuracy(cli: Cli, runs: Path) -> None:
    status, out, _ = cli("run", "experiment=ibd", *quick(runs))
    assert status == 0
    assert "baseline accuracy" in out
    assert "eibd beside guo2021.text (glove-840b-300d)" in out
    results = {str(result.factors["method"]): result for result in ResultStore(runs)}
    assert results["ibd"].metrics["AF.intersectional.baseline_accuracy"] == pytest.approx(84 / 98)
    assert len(results["eibd"].tables["groups"]) == 6
    assert results["ibd"].forms["fried-chicken"] == "mean of fried, chicken"


def test_a_test_of_another_kind_is_refused_in_one_sentence(cli: Cli, runs: Path) -> None:
    status, _, err = cli("run", "method=wefat", "test=c1", *quick(runs))
    assert status == 2
    assert "wefat measures tests of kind single; c1 is of kind association" in err


def test_rank_goes_through_a_whole_vocabulary(cli: Cli, runs: Path) -> None:
    status, out, _ = cli("rank", "--model", "glove-6b-100d", "--group", "AF", "--top", 3, "--json", "--runs", runs)
    assert status == 0
    found = json.loads(out)
    assert [row["rank"] for row in found["words"]] == [1, 2, 3]
    scores = [row["score"] for row in found["words"]]
    assert scores == sorted(scores, reverse=True)
    names = {name.lower() for concept in load_test("ibd").groups.values() for name in concept.words}  # type: ignore[union-attr]
    assert not names & {row["word"] for row in found["words"]}


def test_rank_takes_a_file_of_words_and_names_those_without_a_vector(cli: Cli, runs: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("loud\nathletic\n\nzzqx\nloud\n")
    status, out, _ = cli("rank", "--model", "glove-6b-100d", "--group", "MF", "--words", words, "--runs", runs)
    assert status == 0
    assert {line.split()[2] for line in out.splitlines()[:2]} == {"loud", "athletic"}
    assert "glove-6b-100d lacks zzqx." in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--group", "AF"], "give --model NAME"),
        (["--group", "AX", "--model", "googlenews"], "has no group 'AX'. Did you mean"),
        (["--group", "AF", "--model", "googlenews", "--test", "c1"], "needs one of kind detection"),
        (["--group", "AF", "--model", "googlenews", "--words", "nowhere.txt"], "nowhere.txt: cannot be read"),
        (["--group", "AF", "--model", "googlenews"], "has 1 of the names of MF; two are needed"),
    ],
)
def test_a_mistake_in_what_is_ranked_is_one_sentence(cli: Cli, runs: Path, arguments: list[str], sentence: str) -> None:
    status, _, err = cli("rank", *arguments, "--runs", runs)
    assert status == 2
    assert sentence in err
