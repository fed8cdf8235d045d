"""Shards are jobs of a Hydra multirun on any launcher, and together they are the corpus of all files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.corpus_verb import _alone
from harness.corpus import shards
from harness.corpus.manifest import SAMPLE, Manifest
from harness.corpus.shards import dealt
from tests.corpus.test_build import figures, write_ndjson

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Files of different sizes, one of them without any stimulus."""
    folder = tmp_path / "dump"
    folder.mkdir()
    for number, size in enumerate((40, 7, 90, 1, 25)):
        write_ndjson(folder / f"RC_{number}.ndjson", list(range(200 * number, 200 * number + size)))
    (folder / "nothing.txt").write_text("Xyz.", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "launcher", [[], ["--hydra", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]], ids=["basic", "joblib"]
)
def test_shards_on_any_launcher_give_the_bytes_of_the_unsplit_build(
    launcher: list[str], dump: Path, cli: Cli, runs: Path
) -> None:
    chosen = ["--source", dump, "--k", 20, "--window", 2, "--runs", runs]
    assert cli("corpus", "build", "whole", *chosen)[0] == 0
    status, out, _ = cli("corpus", "build", "shared", *chosen, "--shards", 4, *launcher)
    assert status == 0
    assert "context.corpus=shared" in out
    corpora = runs / "corpora"
    assert (corpora / "shared" / SAMPLE).read_bytes() == (corpora / "whole" / SAMPLE).read_bytes()
    shared, whole = (Manifest.load(corpora / name) for name in ("shared", "whole"))
    assert (figures(shared), shared.window, shared.k) == (figures(whole), whole.window, whole.k)
    assert sorted(path.name for path in corpora.iterdir()) == ["shared", "whole"]


def test_a_failed_shard_is_named_and_the_next_time_only_it_is_built(
    dump: Path, cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = dump / "other.csv"
    broken.write_text("speech\nA rose.\n", encoding="utf-8")
    command = ["corpus", "build", "shared", "--source", dump, "--runs", runs, "--shards", 3]
    status, _, err = cli(*command)
    assert status == 2
    assert "not finished" in err
    assert "other.csv: no column" in err
    built = []
    real = shards.build

    def counting(name: str, *arguments: object, **options: object) -> Manifest:
        built.append(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(shards, "build", counting)
    assert cli(*command)[0] == 2
    assert len(built) == 1
    broken.write_text("body\nA rose.\n", encoding="utf-8")
    assert cli(*command)[0] == 0
    assert Manifest.load(runs / "corpora" / "shared").tally.documents == sum((40, 7, 90, 1, 25)) + 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--shards", "7"], "sources hold 6"),
        (["--shards", "0"], "one file or more"),
        (["--hydra", "hydra/launcher=joblib"], "--shards N"),
        (["--shards", "2", "--hydra", "hydra/launcher=jobli"], "Did you mean joblib"),
        (["--shards", "2", "--hydra", "hydra.searchpath=[x]"], "only hydra/launcher"),
    ],
)
def test_mistakes_in_what_shards_are_asked_for(
    arguments: list[str], complaint: str, dump: Path, cli: Cli, runs: Path
) -> None:
    status, _, err = cli("corpus", "build", "shared", "--source", dump, "--runs", runs, *arguments)
    assert status == 2
    assert complaint in err


@given(sizes=st.lists(st.integers(0, 1000), min_size=1, max_size=12), data=st.data())
def test_every_file_is_dealt_once_and_no_shard_goes_without(sizes: list[int], data: st.DataObject) -> None:
    files = [{"path": str(number), "bytes": size} for number, size in enumerate(sizes)]
    hands = dealt(files, data.draw(st.integers(1, len(files))))
    assert sorted(path for hand in hands for path in hand) == sorted(str(number) for number in range(len(files)))
    assert all(hands)
    held = [sum(sizes[int(path)] for path in hand) for hand in hands]
    assert max(held) <= sum(sizes) / len(hands) + max(sizes)


def test_a_corpus_is_made_by_one_process_at_a_time(dump: Path, cli: Cli, runs: Path) -> None:
    command = ["corpus", "build", "own", "--source", dump, "--k", 5, "--runs", runs]
    with _alone("own", runs / "corpora"):
        for also in ([], ["--shards", 2]):
            status, _, err = cli(*command, *also)
            assert (status, err.count("\n")) == (2, 1)
            assert "another process" in err
        assert cli("corpus", "merge", "own", "a", "b", "--runs", runs)[0] == 2
        assert cli("corpus", "build", "other", *command[3:])[0] == 0
    assert cli(*command)[0] == 0


def test_a_folder_that_cannot_be_written_is_one_sentence(dump: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    status, _, err = cli("corpus", "build", "own", "--source", dump, "--runs", tmp_path / "file")
    assert (status, err.count("\n")) == (2, 1)
    assert "nothing can be written there" in err
    status, _, err = cli("corpus", "build", "a" * 300, "--source", dump, "--runs", tmp_path)
    assert (status, err.count("\n")) == (2, 1)
