"""Vectors are computed once, kept whole or not at all, and never believed without a check."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from harness import encoding
from harness.contexts import Context, Contexts
from harness.encoding import ALL_VIEWS_UP_TO, Limits, Need, encode_missing
from harness.errors import HarnessError
from harness.store import ROWS, Block, BlockStore, encoder_id
from tests.fake_encoder import FakeEncoder, fake_vector

Cli = Callable[..., tuple[int, str, str]]
HOME = encoder_id({"kind": "fake", "name": "fake"})


def texts(word: str, count: int = 3) -> Contexts:
    return Contexts(Context(f"{'so ' * i}{word}.", 3 * i, 3 * i + len(word)) for i in range(count))


def block(word: str, count: int = 3, source: str = "templates/seat") -> Block:
    return Block(HOME, source, word, texts(word, count))


def need(of: Block, *views: str, layers: tuple[int, ...] = (3,)) -> Need:
    return Need(of, frozenset(views or ("mean",)), frozenset(layers))  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> BlockStore:
    return BlockStore(tmp_path / "runs" / "store")


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder()


def fill(store: BlockStore, encoder: FakeEncoder, *needs: Need, limits: Limits | None = None) -> int:
    return encode_missing(store, needs, lambda: encoder, limits=limits)


def test_a_block_holds_the_vectors_of_its_texts_in_their_order(store: BlockStore, encoder: FakeEncoder) -> None:
    rose = block("rose", 40)
    fill(store, encoder, need(rose))
    for view in ("mean", "first", "last", "sentence"):
        expected = np.stack([fake_vector(context, view, 3) for context in rose.contexts])
        np.testing.assert_array_equal(store.read(rose, f"{view}@3"), expected)


def test_any_reader_of_safetensors_opens_a_block(store: BlockStore, encoder: FakeEncoder) -> None:
    rose = block("rose")
    fill(store, encoder, need(rose))
    tensors = load_file(store.root / rose.path)
    assert set(tensors) == {"mean@3", "first@3", "last@3", "sentence@3", ROWS}
    assert tensors["mean@3"].shape == (3, encoder.dim)


def test_what_is_stored_is_not_encoded_again(store: BlockStore, encoder: FakeEncoder) -> None:
    needs = [need(block("rose")), need(block("tulip"))]
    assert fill(store, encoder, *needs) == 6
    assert fill(store, encoder, *needs) == 0
    assert fill(store, encoder, *(need(n.block, "sentence", "last") for n in needs)) == 0
    assert max(encoder.read.values()) == 1
    assert store.texts_encoded(HOME) == store.distinct_texts(HOME) == 6


def test_the_model_is_not_opened_when_nothing_is_missing(store: BlockStore, encoder: FakeEncoder) -> None:
    fill(store, encoder, need(block("rose")))

    def refuse() -> FakeEncoder:
        raise AssertionError("opened")

    assert encode_missing(store, [need(block("rose"))], refuse) == 0


@pytest.mark.parametrize("group", [1, 4, 1000])
def test_a_text_of_two_stimuli_and_sources_is_encoded_once(
    store: BlockStore, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    monkeypatch.setattr(encoding, "GROUP_TEXTS", group)
    shared = texts("rose", 3)
    needs = [
        need(block("rose", 5)),
        need(Block(HOME, "prompt/this_is", "rose", shared)),
        need(Block(HOME, "templates/seat", "Rose", Contexts([*reversed(shared), Context("Rose", 0, 4)]))),
    ]
    assert fill(store, encoder, *needs) == 6
    assert set(encoder.read.values()) == {1}
    for one in needs:
        expected = np.stack([fake_vector(context, "mean", 3) for context in one.block.contexts])
        np.testing.assert_array_equal(store.read(one.block, "mean@3"), expected)


def test_a_text_that_another_block_holds_since_long_is_copied(store: BlockStore, encoder: FakeEncoder) -> None:
    fill(store, encoder, need(block("rose", 5)))
    again = Block(HOME, "prompt/this_is", "rose", texts("rose", 3))
    assert fill(store, encoder, need(again)) == 0
    np.testing.assert_array_equal(store.read(again, "mean@3"), store.read(block("rose", 5), "mean@3")[:3])


def test_a_further_layer_joins_the_block(store: BlockStore, encoder: FakeEncoder) -> None:
    rose = block("rose")
    fill(store, encoder, need(rose))
    assert fill(store, encoder, need(rose, layers=(1,))) == 3
    assert store.holds(rose, ["mean@3", "mean@1", "sentence@1"])
    np.testing.assert_array_equal(store.read(rose, "mean@3")[0], fake_vector(rose.contexts[0], "mean", 3))


def test_several_layers_come_from_one_pass(store: BlockStore, encoder: FakeEncoder) -> None:
    rose = block("rose")
    assert fill(store, encoder, need(rose, layers=(0, 1)), need(rose, "sentence", layers=(2,))) == 3
    assert store.holds(rose, [f"{view}@{layer}" for view in ("mean", "sentence") for layer in (0, 1, 2)])


def test_many_texts_are_kept_only_in_the_views_asked_for(store: BlockStore, encoder: FakeEncoder) -> None:
    few, many = block("rose", 2), Block(HOME, "corpus", "rose", texts("tulip", ALL_VIEWS_UP_TO + 1))
    encoder.batch = 500
    fill(store, encoder, need(few), need(many, "last"))
    assert store.holds(few, ["mean@3", "first@3", "last@3", "sentence@3"])
    assert not store.holds(many, ["mean@3"])
    assert isinstance(store.read(many, "last@3"), np.ndarray)


def test_a_large_tensor_is_mapped_and_not_read(store: BlockStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.blockfile.MAPPED_BYTES", 100)
    fill(store, FakeEncoder(), need(block("rose", 20)))
    assert isinstance(store.read(block("rose", 20), "mean@3"), np.memmap)


def test_float16_takes_half_the_room_and_another_folder(store: BlockStore, encoder: FakeEncoder) -> None:
    half = Block(encoder_id(encoder.identity, dtype="float16"), "bare", "rose", texts("rose"))
    fill(store, encoder, need(half), limits=Limits("float16"))
    rows = store.read(half, "mean@3")
    assert rows is not None
    assert rows.dtype == np.float16
    assert half.encoder != HOME
    np.testing.assert_allclose(rows[0], fake_vector(half.contexts[0], "mean", 3), rtol=1e-3)


def test_numbers_that_are_not_finite_are_never_stored(store: BlockStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fake_encoder.fake_vector", lambda *a: np.full(12, 1e6, dtype=np.float32))
    with pytest.raises(HarnessError, match=r"not finite for 'so so rose.'; choose store.dtype=float32"):
        fill(store, FakeEncoder(), need(block("rose")), limits=Limits("float16"))
    assert not list(store.blocks())


@pytest.mark.parametrize("damage", ["cut", "flip", "garbage", "empty", "longer"])
def test_a_damaged_block_is_named_dropped_and_computed_again(tmp_path: Path, damage: str) -> None:
    encoder, rose = FakeEncoder(), block("rose", 30)
    root = tmp_path / "store"
    fill(BlockStore(root), encoder, need(rose))
    path = root / rose.path
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-100] ^= 1
    path.write_bytes(
        {"cut": data[:-1], "flip": data, "garbage": b"\xff" * 50, "empty": b"", "longer": data + b"x"}[damage]
    )
    store = BlockStore(root)
    assert store.read(rose, "mean@3") is None
    assert not path.exists()
    assert "'rose' (templates/seat)" in store.damaged[path]
    assert fill(store, encoder, need(rose)) == 30
    np.testing.assert_array_equal(store.read(rose, "mean@3")[0], fake_vector(rose.contexts[0], "mean", 3))


def test_a_row_is_not_copied_from_a_damaged_block(store: BlockStore, encoder: FakeEncoder) -> None:
    fill(store, encoder, need(block("rose", 5)))
    path = store.root / block("rose", 5).path
    data = bytearray(path.read_bytes())
    data[-200] ^= 1
    path.write_bytes(data)
    assert fill(store, encoder, need(Block(HOME, "prompt", "rose", texts("rose", 3)))) == 3


def test_a_failing_text_keeps_the_groups_before_it(store: BlockStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "GROUP_TEXTS", 1)
    encoder = FakeEncoder(fails_on="chrysanthemum")
    with pytest.raises(ValueError, match="cannot be read"):
        fill(store, encoder, need(block("chrysanthemum")), need(block("ant")))
    assert store.holds(block("ant"), ["mean@3"])
    assert not list((store.root / HOME).rglob(".writing-*"))


def test_a_layer_that_the_model_lacks_is_one_sentence(store: BlockStore, encoder: FakeEncoder) -> None:
    with pytest.raises(HarnessError, match=r"layer=7: fake has the layers 0 \(the embeddings\) to 3"):
        fill(store, encoder, need(block("rose"), layers=(7,)))


def test_a_run_that_would_exceed_the_cap_is_refused_before_it_begins(store: BlockStore, encoder: FakeEncoder) -> None:
    with pytest.raises(HarnessError, match=r"take about 576 bytes, and store.cap_gb allows 500 bytes"):
        fill(store, encoder, need(block("rose")), limits=Limits(cap=500))
    assert not encoder.read


def test_the_cap_removes_what_was_used_longest_ago(store: BlockStore, encoder: FakeEncoder) -> None:
    for age, word in enumerate(("ant", "bee", "fly")):
        fill(store, encoder, need(block(word)))
        os.utime(store.root / block(word).path, (age, age))
    size = (store.root / block("ant").path).stat().st_size
    fill(store, encoder, need(block("rose")), limits=Limits(cap=int(2.5 * size)))
    kept = {path.path for path in store.blocks()}
    assert kept == {store.root / block(word).path for word in ("fly", "rose")}


def test_the_estimate_is_told_before_encoding(store: BlockStore, encoder: FakeEncoder) -> None:
    from contextlib import contextmanager

    told: list[object] = []

    @contextmanager
    def progress(description: str, total: int | None):  # type: ignore[no-untyped-def]
        told.append((description, total, dict(encoder.read)))
        yield told.append

    encode_missing(store, [need(block("rose", 20))], lambda: encoder, progress=progress)
    assert told[0] == ("fake: 20 texts, about 4 kB of vectors", 20, {})
    assert told[1:] == [16, 4]


def test_a_label_that_no_file_system_takes_is_a_folder_of_its_own(store: BlockStore, encoder: FakeEncoder) -> None:
    one, other = (Block(HOME, f"prompt/This is {{word}}{end}", "rose", texts("rose")) for end in "!?")
    fill(store, encoder, need(one), need(other))
    assert one.path.parent != other.path.parent
    assert store.holds(one, ["mean@3"])


SLOW = """
    import sys
    from pathlib import Path
    from harness import encoding
    from harness.encoding import encode_missing
    from harness.store import BlockStore
    from tests.fake_encoder import FakeEncoder
    from tests.test_store import block, need

    encoding.GROUP_TEXTS = 24
    words = [f"word{i}" for i in range(150)]
    store, delay = BlockStore(Path(sys.argv[1])), float(sys.argv[2])
    encoder = FakeEncoder(batch=4, delay=delay)
    encode_missing(store, [need(block(word, 6)) for word in words], lambda: encoder)
"""


def slow(root: Path, delay: float) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(SLOW), str(root), str(delay)]


def test_kill_9_at_ten_random_moments_loses_no_finished_block_and_changes_no_vector(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    root = tmp_path / "store"
    finished: set[Path] = set()
    for _ in range(10):
        process = subprocess.Popen(slow(root, 0.02), cwd=Path(__file__).parent.parent)
        limit = time.monotonic() + 20
        while len(list(root.rglob("*.safetensors"))) == len(finished) and time.monotonic() < limit:
            if process.poll() is not None:
                break
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = set(root.rglob("*.safetensors"))
        assert finished <= now
        finished = now
    assert 0 < len(finished) < 150
    subprocess.run(slow(root, 0.0), check=True, cwd=Path(__file__).parent.parent)
    clean = tmp_path / "clean"
    subprocess.run(slow(clean, 0.0), check=True, cwd=Path(__file__).parent.parent)
    killed, whole = BlockStore(root), BlockStore(clean)
    for number in range(150):
        one = block(f"word{number}", 6)
        for view in ("mean", "first", "last", "sentence"):
            np.testing.assert_array_equal(killed.read(one, f"{view}@3"), whole.read(one, f"{view}@3"))
    assert not killed.damaged
    assert not list(root.rglob(".writing-*"))


def test_two_workers_encode_each_text_once(tmp_path: Path) -> None:
    root = tmp_path / "store"
    workers = [subprocess.Popen(slow(root, 0.005), cwd=Path(__file__).parent.parent) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    store = BlockStore(root)
    assert store.texts_encoded(HOME) == store.distinct_texts(HOME) == 900


def test_the_verb_lists_measures_verifies_and_prunes(cli: Cli, runs: Path, encoder: FakeEncoder) -> None:
    store = BlockStore(runs / "store")
    fill(store, encoder, need(block("rose")), need(block("tulip")), need(block("ant", source="bare")))
    status, out, _ = cli("store", "ls", "--runs", runs)
    assert status == 0
    assert [line.split()[-4:] for line in out.splitlines() if " all " in line] == [["3", "kB", "9", "9"]]
    assert cli("store", "size", "--runs", runs)[1] == "3 kB\n"
    assert cli("store", "verify", "--runs", runs)[:2] == (0, "3 blocks sound, 0 damaged\n")
    path = store.root / block("rose").path
    path.write_bytes(path.read_bytes()[:-7])
    status, out, _ = cli("store", "verify", "--runs", runs)
    assert status == 1
    assert path.name in out
    assert "2 blocks sound, 1 damaged" in out
    assert "would be removed" in cli("store", "prune", "--runs", runs, "--max-gb", "0", "--dry-run")[1]
    assert "2 blocks" in cli("store", "prune", "--runs", runs, "--encoder", "fake")[1]
    assert not list(store.blocks())


def test_pruning_everything_must_be_said(cli: Cli, runs: Path) -> None:
    for flag, value in (("--older-than", "-5"), ("--max-gb", "-1"), ("--max-gb", "nan")):
        status, _, err = cli("store", "prune", "--runs", runs, flag, value)
        assert status == 2
        assert f"{flag} {value}: is a number from 0 on" in err
    status, _, err = cli("store", "prune", "--runs", runs)
    assert status == 2
    assert "Say what may go" in err
    assert "No encoder in" in cli("store", "ls", "--runs", runs, "--encoder", "bert")[2]
