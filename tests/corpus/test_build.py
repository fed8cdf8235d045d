"""One sample, however a corpus is cut, ordered, shared among workers or interrupted."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.corpus import scan
from harness.corpus.build import Settings, build, merge_corpora
from harness.corpus.manifest import SAMPLE, Manifest
from harness.corpus.patterns import Pattern
from harness.corpus.readers import Reading
from harness.corpus.sampler import mixed
from harness.corpus.streams import Limits
from harness.errors import HarnessError

SENTENCES = [
    "The rose is {n} days old.",
    "She said she will love Will {n} times!",
    "A male, a short-term male, and {n} more.",
    "Is José number {n}?",
    "Nothing here but {n}.",
    "The same sentence of a rose.",
]


def document(number: int) -> str:
    return " ".join(SENTENCES[(number + step) % len(SENTENCES)].format(n=number // 3) for step in range(3))


def write_ndjson(path: Path, numbers: list[int]) -> Path:
    rows = [json.dumps({"id": f"t{number}", "body": document(number)}, ensure_ascii=False) for number in numbers]
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def write_text(path: Path, numbers: list[int]) -> Path:
    path.write_text("\n\n".join(map(document, numbers)), encoding="utf-8")
    return path


def sample_bytes(folder: Path, name: str) -> bytes:
    return (folder / name / SAMPLE).read_bytes()


def figures(manifest: Manifest) -> tuple[int, int, list[int], list[int]]:
    return manifest.tally.documents, manifest.tally.sentences, manifest.tally.hits, manifest.kept


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_merging_any_split_gives_the_bytes_of_the_unsplit_pass(data: st.DataObject, patterns) -> None:
    write = data.draw(st.sampled_from([write_ndjson, write_text]))
    numbers = data.draw(st.permutations(range(40)))
    cuts = sorted({0, 40, *data.draw(st.lists(st.integers(1, 39), max_size=4))})
    block = data.draw(st.sampled_from([50, 300, 1 << 20]))
    chosen = Settings(k=data.draw(st.sampled_from([1, 3, 50])), reading=Reading(limits=Limits(block=block)))
    with TemporaryDirectory() as name:
        folder = Path(name)
        suffix = "ndjson" if write is write_ndjson else "txt"
        whole = build("whole", [write(folder / f"whole.{suffix}", list(range(40)))], patterns, folder, settings=chosen)
        shards = []
        for number, (first, last) in enumerate(pairwise(cuts)):
            file = write(folder / f"part{number}.{suffix}", list(numbers[first:last]))
            build(f"part{number}", [file], patterns, folder, settings=chosen)
            shards.append(folder / f"part{number}")
        merged = merge_corpora("merged", data.draw(st.permutations(shards)), folder)
        assert sample_bytes(folder, "merged") == sample_bytes(folder, "whole")
        assert figures(merged) == figures(whole)


@pytest.mark.parametrize("suffix", ["ndjson", "ndjson.gz"])
def test_any_number_of_workers_gives_the_same_bytes(suffix: str, tmp_path: Path, patterns: tuple[Pattern, ...]) -> None:
    file = write_ndjson(tmp_path / "all.ndjson", list(range(300)))
    if suffix.endswith("gz"):
        file = tmp_path / f"all.{suffix}"
        file.write_bytes(gzip.compress((tmp_path / "all.ndjson").read_bytes()))
    chosen = Settings(k=20, reading=Reading(limits=Limits(block=4000)))
    one, two = (
        build(f"w{workers}", [file], patterns, tmp_path / "c", settings=chosen, workers=workers) for workers in (1, 2)
    )
    assert one.digest == two.digest
    assert figures(one) == figures(two)


def test_the_sample_is_the_k_distinct_contexts_with_the_smallest_keys(made, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "all.ndjson", list(range(90)))
    everything, few = made(file, name="all"), made(file, name="few", settings=Settings(k=5))
    rows = pq.read_table(tmp_path / "corpora" / "all" / SAMPLE).to_pandas()
    kept = pq.read_table(tmp_path / "corpora" / "few" / SAMPLE).to_pandas()
    for (stimulus, cased), group in rows.groupby(["stimulus", "cased"]):
        expected = group.nsmallest(5, "key")[["text", "start", "source", "copies"]]
        found = kept[(kept.stimulus == stimulus) & (kept.cased == cased)][["text", "start", "source", "copies"]]
        assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert rows.groupby("stimulus").copies.sum()["rose"] == everything.tally.hits[_number(everything, "rose")]
    pasted = rows[rows.text == "The same sentence of a rose."]
    assert pasted.copies.tolist() == [45]
    assert few.kept[_number(few, "rose")] == 5


def _number(manifest: Manifest, key: str) -> int:
    return next(n for n, pattern in enumerate(manifest.patterns) if pattern.key == key)


def test_every_stored_span_covers_its_stimulus(made, tmp_path: Path) -> None:
    made(write_ndjson(tmp_path / "all.ndjson", list(range(60))))
    rows = pq.read_table(tmp_path / "corpora" / "own" / SAMPLE).to_pylist()
    assert rows
    for row in rows:
        written = row["text"][row["start"] : row["end"]].replace("-", " ")
        assert (written if row["cased"] else written.lower()) == row["stimulus"]


def test_another_seed_keeps_other_contexts(made, tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "all.ndjson", list(range(90)))
    zero, one = (made(file, name=f"s{seed}", settings=Settings(k=5, seed=seed)) for seed in (0, 1))
    assert zero.digest != one.digest


def test_keys_are_uniform() -> None:
    keys = mixed(np.arange(100_000, dtype=np.uint64))
    counts = np.bincount((keys >> np.uint64(60)).astype(int), minlength=16)
    assert abs(counts / 6250 - 1).max() < 0.05
    assert len(np.unique(keys)) == len(keys)


def test_an_interrupted_build_goes_on_and_reads_no_finished_block_again(
    monkeypatch: pytest.MonkeyPatch, made: Callable[..., Manifest], tmp_path: Path
) -> None:
    files = [write_ndjson(tmp_path / f"{n}.ndjson", list(range(100 * n, 100 * n + 100))) for n in range(3)]
    chosen = Settings(k=7, reading=Reading(limits=Limits(block=2000)))
    whole = made(*files, name="whole", settings=chosen)
    monkeypatch.setattr(scan, "_CHECKPOINT_SECONDS", 0.0)
    scanned = []
    real = scan.Scanner.scan

    def counting(self, batch, tally):
        scanned.append(len(batch.texts))
        if len(scanned) == 6:
            raise KeyboardInterrupt
        real(self, batch, tally)

    monkeypatch.setattr(scan.Scanner, "scan", counting)
    with pytest.raises(KeyboardInterrupt):
        made(*files, name="cut", settings=chosen)
    resumed = made(*files, name="cut", settings=chosen)
    assert resumed.digest == whole.digest
    assert figures(resumed) == figures(whole)
    assert sum(scanned) - scanned[5] == 300


def test_a_changed_plan_begins_anew(made: Callable[..., Manifest], tmp_path: Path, monkeypatch) -> None:
    file = write_ndjson(tmp_path / "a.ndjson", list(range(30)))
    with monkeypatch.context() as patch:
        patch.setattr("harness.corpus.build._store", lambda *_: pytest.fail("stopped"))
        with pytest.raises(pytest.fail.Exception):
            made(file)
    write_ndjson(file, list(range(40)))
    assert made(file).tally.documents == 40


def test_the_same_file_is_not_counted_twice(made: Callable[..., Manifest], tmp_path: Path) -> None:
    file = write_ndjson(tmp_path / "a.ndjson", list(range(30)))
    copy = tmp_path / "b.ndjson"
    copy.write_bytes(file.read_bytes())
    with pytest.raises(HarnessError, match="count twice"):
        made(file, copy)


@pytest.mark.parametrize(
    ("choice", "complaint"), [("seed", "another seed"), ("k", "one --k"), ("window", "one --window")]
)
def test_corpora_that_differ_in_a_choice_do_not_merge(
    choice: str, complaint: str, made: Callable[..., Manifest], tmp_path: Path
) -> None:
    for value in (1, 2):
        file = write_ndjson(tmp_path / f"{value}.ndjson", list(range(value, 30)))
        made(file, name=f"own{value}", settings=Settings(**{choice: value}))
    folder = tmp_path / "corpora"
    with pytest.raises(HarnessError, match=complaint):
        merge_corpora("both", [folder / "own1", folder / "own2"], folder)


def test_many_runs_are_united_in_groups(made: Callable[..., Manifest], tmp_path: Path, monkeypatch) -> None:
    files = [write_ndjson(tmp_path / f"{n}.ndjson", list(range(9 * n, 9 * n + 9))) for n in range(7)]
    plain = made(*files, name="plain", settings=Settings(k=9))
    monkeypatch.setattr("harness.corpus.build._OPEN_AT_ONCE", 3)
    assert made(*files, name="grouped", settings=Settings(k=9)).digest == plain.digest


def test_a_killed_replacement_leaves_a_whole_corpus(
    made: Callable[..., Manifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_ndjson(tmp_path / "a.ndjson", list(range(30)))
    old = made(file, settings=Settings(k=2))
    corpora = tmp_path / "corpora"

    def removing(folder: Path, **_: object) -> None:
        """Stop as a kill in the midst of removing a corpus would: half of it is gone."""
        for name in ("own", ".own.old"):
            if folder == corpora / name and folder.exists():
                (folder / "sample.parquet").unlink()
                raise KeyboardInterrupt

    monkeypatch.setattr("harness.corpus.build.shutil.rmtree", removing)
    with pytest.raises(KeyboardInterrupt):
        made(file, settings=Settings(k=3))
    left = Manifest.load(corpora / "own")
    assert hashlib.sha256((corpora / "own" / "sample.parquet").read_bytes()).hexdigest() == left.digest != old.digest
