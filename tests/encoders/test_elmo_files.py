"""ELMo's two files: what is asked of them, and the sentence for each way in which they fail."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from harness.encoders import elmo, rowcache
from harness.encoders.elmo import elmo_identity, open_elmo
from harness.encoders.elmo_weights import ElmoOptions, layout
from harness.errors import HarnessError
from harness.paths import conf_dir
from tests.encoders.elmo_tiny import CHAR, DIM, OPTIONS, random_weights, save

pytest.importorskip("h5py")
pytest.importorskip("torch")


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    return random_weights()


@pytest.fixture
def model(tmp_path: Path, weights: dict[str, np.ndarray]) -> dict[str, Any]:
    return save(tmp_path / "tiny", OPTIONS, weights)


def test_the_published_options_ask_for_93_6_million_numbers():
    published = ElmoOptions.model_validate(
        {
            "lstm": {
                "use_skip_connections": True,
                "projection_dim": 512,
                "cell_clip": 3,
                "proj_clip": 3,
                "dim": 4096,
                "n_layers": 2,
            },
            "char_cnn": {
                "activation": "relu",
                "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
                "n_highway": 2,
                "embedding": {"dim": 16},
                "n_characters": 262,
                "max_characters_per_token": 50,
            },
        }
    )
    shapes = layout(published)
    assert shapes["CNN/W_cnn_6"] == (1, 7, 16, 1024)
    assert shapes["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_0"] == (1024, 16384)
    assert round(sum(np.prod(shape) for shape in shapes.values()) / 1e6, 1) == 93.6  # guo2021, Approach


def test_the_shipped_config_names_the_fetch_command_where_there_are_no_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    config = yaml.safe_load((conf_dir() / "model" / "elmo.yaml").read_text(encoding="utf-8"))
    assert (config["name"], config["kind"], config["path"]) == ("elmo", "elmo", None)
    for action in (open_elmo, elmo_identity):
        with pytest.raises(HarnessError, match="run `harness fetch elmo-original`") as raised:
            action(config)
        assert "\n" not in str(raised.value)


def test_a_fetched_asset_is_found(tmp_path, monkeypatch, weights):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    save(tmp_path / "elmo-original", OPTIONS, weights)
    (tmp_path / "elmo-original" / "asset.json").write_text("{}", encoding="utf-8")
    assert open_elmo({"name": "elmo", "kind": "elmo", "path": None, "asset": "elmo-original"}).dim == 2 * DIM


@pytest.mark.parametrize("package", ["h5py", "torch"])
def test_a_missing_package_names_the_extra(model, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(HarnessError) as raised:
        open_elmo(model)
    assert str(raised.value) == (
        f"Model tiny needs {package}, which is not installed: run `pip install 'eat-harness[elmo]'`."
    )


def without(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: without(w, "CNN_proj/b_proj"), "the dataset CNN_proj/b_proj is missing"),
        (
            lambda w: {name: array for name, array in w.items() if not name.startswith("RNN_1")},
            "the dataset RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_0 is missing",
        ),
        (lambda w: w | {"CNN/b_cnn_1": np.zeros(5)}, r"CNN/b_cnn_1 has the shape \(5,\), the options ask for \(4,\)"),
        (lambda w: w | {"char_embed": np.zeros((262, CHAR))}, r"char_embed has the shape \(262, 4\)"),
        (lambda w: {name: a for name, a in w.items() if "CNN/" not in name} | {"CNN": np.zeros(1)}, "CNN/W_cnn_0"),
    ],
)
def test_weights_that_do_not_fit_the_options_are_one_sentence(tmp_path, weights, change, message):
    with pytest.raises(HarnessError, match=message) as raised:
        open_elmo(save(tmp_path, OPTIONS, change(weights)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"not hdf5 at all" * 100, "cut"])
def test_a_broken_weights_file_is_one_sentence(model, content):
    path = Path(model["path"]) / "tiny_weights.hdf5"
    path.write_bytes(path.read_bytes()[:6000] if content == "cut" else content)
    with pytest.raises(HarnessError, match=r"tiny_weights.hdf5: cannot be read as HDF5.*harness fetch") as raised:
        open_elmo(model)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{", "not options of an ELMo model: the file: Invalid JSON"),
        (without(OPTIONS, "lstm"), "lstm: Field required"),
        ({**OPTIONS, "lstm": without(OPTIONS["lstm"], "dim")}, r"lstm\.dim: Field required"),
        ({**OPTIONS, "lstm": {**OPTIONS["lstm"], "use_skip_connections": False}}, r"lstm\.use_skip_connections"),
        ({**OPTIONS, "char_cnn": {**OPTIONS["char_cnn"], "n_characters": 300}}, r"char_cnn\.n_characters"),
        ({**OPTIONS, "char_cnn": {**OPTIONS["char_cnn"], "filters": [[51, 2]]}}, "a filter 51 wide does not fit"),
    ],
)
def test_options_that_are_none_are_one_sentence(model, options, message):
    text = options if isinstance(options, str) else json.dumps(options)
    (Path(model["path"]) / "tiny_options.json").write_text(text, encoding="utf-8")
    with pytest.raises(HarnessError, match=message) as raised:
        open_elmo(model)
    assert "\n" not in str(raised.value)


def test_a_path_must_be_a_folder_with_one_model(model, tmp_path):
    folder = Path(model["path"])
    for path, message in [
        (folder / "tiny_weights.hdf5", "is not a folder"),
        (tmp_path / "nowhere", "is not a folder"),
        (tmp_path, "holds no file whose name ends in options.json"),
    ]:
        with pytest.raises(HarnessError, match=message):
            open_elmo({**model, "path": str(path)})
    (folder / "other_options.json").write_text("{}", encoding="utf-8")
    with pytest.raises(HarnessError, match=r"holds 2 files whose name ends in options\.json"):
        open_elmo(model)
    with pytest.raises(HarnessError, match=r"set model\.path"):
        open_elmo({"name": "tiny", "kind": "elmo"})


def test_a_device_that_torch_cannot_use_is_one_sentence(model):
    with pytest.raises(HarnessError, match=r"model\.device=abacus: torch cannot use it"):
        open_elmo({**model, "device": "abacus"})


def test_identity_follows_the_content_of_both_files_and_neither_device_nor_batch(model, tmp_path):
    first = elmo_identity(model)
    assert open_elmo({**model, "batch_tokens": 7}).identity == first
    assert elmo_identity(model, cache=tmp_path / "digests") == first
    folder = Path(model["path"])
    for file in (folder / "tiny_options.json", folder / "tiny_weights.hdf5"):
        kept = file.read_bytes()
        file.write_bytes(kept + b" ")
        assert elmo_identity(model) != first
        assert elmo_identity(model, cache=tmp_path / "digests") != first
        file.write_bytes(kept)
        os.utime(file, ns=(1, 1))
    assert elmo_identity(model) == first


def test_files_are_hashed_once_for_each_state(model, tmp_path, monkeypatch):
    digests = tmp_path / "digests"
    first, kept = elmo_identity(model), elmo_identity(model, cache=digests)

    def never(*_: Any) -> str:
        raise AssertionError("the file was read again")

    monkeypatch.setattr(rowcache, "file_sha256", never)
    monkeypatch.setattr(elmo, "file_sha256", never)
    assert elmo_identity(model) == elmo_identity(model, cache=digests) == first == kept
