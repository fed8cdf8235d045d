"""Where a transformer's weights come from, what identifies them, and the sentence for each way in which they lack."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import huggingface_hub
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from harness.cli.catalogue import config_files
from harness.config_store import register
from harness.encoders import torch_setup, weights
from harness.encoders.torch_setup import import_transformers
from harness.encoders.transformer import encoder_identity, open_transformer, transformer_identity
from harness.errors import HarnessError
from harness.paths import conf_dir
from harness.stimuli.yaml_file import read_yaml
from tests.encoders.transformer_tiny import build, save

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TRANSFORMERS = [name for name, path in config_files("model").items() if read_yaml(path).get("kind") == "transformer"]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save("bert", tmp_path / "tiny")


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without network and with empty caches; return the hub's cache."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "assets"))
    hub = tmp_path / "hub"
    for name, value in (("HF_HUB_CACHE", str(hub)), ("HF_HUB_OFFLINE", True)):
        monkeypatch.setattr(huggingface_hub.constants, name, value)
    monkeypatch.setattr(weights, "_hub_cached", lambda client, *rest: _hub_cached(_With(client, cache_dir=hub), *rest))
    return hub


_hub_cached = weights._hub_cached


class _With:
    """The hub's client with its cache elsewhere: the default is read when the client is imported."""

    def __init__(self, client: Any, **options: Any) -> None:
        self.snapshot_download = lambda *given, **more: client.snapshot_download(*given, **{**more, **options})


def composed(name: str, *overrides: str) -> dict[str, Any]:
    register()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("config", [f"model={name}", *overrides])
    return dict(OmegaConf.to_container(config.model, resolve=True))


def test_configs_are_those_that_the_sources_and_the_package_index_offer() -> None:
    published = {"bert-base-cased", "gpt", "gpt2", "opt-125m", "bloom-560m", "gpt-neo-1.3b", "xlnet-base-cased"}
    assert published | {"roberta-base", "albert-base-v2", "t5-base", "minilm", "smollm2", "hf"} <= set(TRANSFORMERS)


@pytest.mark.parametrize("name", [name for name in TRANSFORMERS if name not in {"hf", "transformer"}])
def test_config_composes_and_without_weights_fails_with_one_sentence_that_names_the_command(
    name: str, nothing_here: Path
) -> None:
    model = composed(name)
    assert model["name"] == name
    with pytest.raises(
        HarnessError, match=r"run `(harness fetch [\w.-]+|hf download [\w./-]+( --revision \w{40})?)`"
    ) as error:
        open_transformer(model)
    assert "\n" not in str(error.value)


def test_any_model_of_the_hub_is_named_by_its_id(nothing_here: Path) -> None:
    model = composed("hf", "model.id=someone/some-model", f"model.revision={COMMIT}")
    assert model["name"] == "someone/some-model"
    with pytest.raises(HarnessError, match=rf"run `hf download someone/some-model --revision {COMMIT}`"):
        open_transformer(model)


def test_config_without_weights_chosen_is_a_sentence(nothing_here: Path) -> None:
    for name in ("hf", "transformer"):
        with pytest.raises(HarnessError, match=r"set model.id to a model of the hub, or model.path"):
            open_transformer(composed(name))


def test_a_folder_in_place_of_an_id_needs_a_name(tiny: Path) -> None:
    path = f"model.path={tiny}"
    with pytest.raises(HarnessError, match=r"set model.name too"):
        open_transformer(composed("hf", path))
    assert open_transformer(composed("hf", path, "model.name=mine")).name == "mine"


def test_pinned_commit_is_an_identity_without_any_file(nothing_here: Path) -> None:
    identity = transformer_identity(composed("hf", "model.id=someone/some-model", f"model.revision={COMMIT}"))
    assert (identity["id"], identity["revision"]) == ("someone/some-model", COMMIT)


def in_hub_cache(hub: Path, tiny: Path, identifier: str) -> None:
    """Lay a model out as the hub's client does."""
    repository = hub / f"models--{identifier.replace('/', '--')}"
    shutil.copytree(tiny, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)


def test_model_in_the_hubs_cache_opens_offline_and_is_identified_by_its_commit(nothing_here: Path, tiny: Path) -> None:
    in_hub_cache(nothing_here, tiny, "someone/tiny")
    encoder = open_transformer({"name": "tiny", "id": "someone/tiny"})
    assert encoder.identity["revision"] == COMMIT
    assert encoder.identity == encoder_identity({"name": "tiny", "id": "someone/tiny"})


def test_fetched_asset_of_the_hub_opens_and_is_identified_by_its_commit(
    nothing_here: Path, tiny: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "assets" / "bert-base-cased"
    shutil.copytree(tiny, folder)
    (folder / "asset.json").write_text(json.dumps({"pin": COMMIT}))
    model = {"name": "bert", "id": "google-bert/bert-base-cased"}
    assert open_transformer(model).identity["revision"] == COMMIT
    other = "f" * 40
    with pytest.raises(HarnessError, match=rf"model.revision={other}, but the asset bert-base-cased .* is {COMMIT}"):
        open_transformer({**model, "revision": other})


def test_identity_tells_weights_apart_and_nothing_else(tiny: Path, tmp_path: Path) -> None:
    def identity(folder: Path, **options: Any) -> dict[str, Any]:
        return transformer_identity({"name": "tiny", "path": str(folder), **options}, cache=tmp_path / "cache")

    base = identity(tiny)
    moved = Path(shutil.copytree(tiny, tmp_path / "moved"))
    assert identity(moved) == base
    assert identity(tiny, device="cuda:7", token_budget=7) == base
    assert identity(save("bert", tmp_path / "other", seed=1)) != base
    for option in ({"dtype": "float16"}, {"sentence": "mean"}, {"bos": "none"}, {"max_length": 9}):
        assert identity(tiny, **option) != base
    assert identity(tiny, postprocess="none", components=3) == base
    assert identity(tiny, postprocess="zscore", components=3) == identity(tiny, postprocess="zscore", components=1)
    assert identity(tiny, postprocess="all_but_the_top", components=3)["components"] == 3


def test_vectors_are_kept_under_one_key_whatever_is_done_to_them_later(tiny: Path, tmp_path: Path) -> None:
    plain, scaled = (
        encoder_identity({"name": name, "path": str(tiny), "postprocess": how}, cache=tmp_path / "cache")
        for name, how in (("one", "none"), ("two", "zscore"))
    )
    assert plain == scaled
    assert open_transformer({"name": "one", "path": str(tiny)}, cache=tmp_path / "cache").identity == plain


def test_files_are_hashed_once_until_they_change(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, hashed = {"name": "tiny", "path": str(tiny)}, []
    whole = weights.sha256_of
    monkeypatch.setattr(weights, "sha256_of", lambda path: hashed.append(path) or whole(path))
    first = transformer_identity(model, cache=tmp_path / "cache")
    count = len(hashed)
    assert count > 1
    assert transformer_identity(model, cache=tmp_path / "cache") == first
    assert len(hashed) == count
    with (tiny / "tokenizer.json").open("a") as file:
        file.write("\n")
    assert transformer_identity(model, cache=tmp_path / "cache") != first


def test_path_that_is_no_model_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.bin").touch()
    for place, sentence in (
        ("nowhere", "does not exist; give a folder with config.json, or a GGUF file"),
        ("empty", "holds no config.json with weights"),
        ("file.bin", "is a file, but not a GGUF file"),
    ):
        with pytest.raises(HarnessError, match=sentence):
            open_transformer({"name": "x", "path": str(tmp_path / place)}, cache=tmp_path)


def test_safetensors_are_read_before_a_pickle(tiny: Path, tmp_path: Path) -> None:
    (tiny / "pytorch_model.bin").write_bytes(b"not a pickle")
    assert open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache").dim == 16


def test_weights_in_a_pickle_are_read_without_running_code(tiny: Path, tmp_path: Path) -> None:
    (tiny / "model.safetensors").unlink()
    torch.save(build("bert").state_dict(), tiny / "pytorch_model.bin")
    assert open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache").dim == 16

    class Touch:
        def __reduce__(self) -> tuple[Any, tuple[Path]]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"x": Touch()}, tiny / "pytorch_model.bin")
    with pytest.raises(HarnessError, match="holds more than weights, and code from a file is not run"):
        open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_damaged_file_is_a_sentence(name: str, tiny: Path, tmp_path: Path) -> None:
    whole = (tiny / name).read_bytes()
    (tiny / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HarnessError, match="Model tiny cannot be opened"):
        open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache")


def test_code_beside_the_weights_is_not_run(tiny: Path, tmp_path: Path) -> None:
    config = json.loads((tiny / "config.json").read_text())
    config |= {"model_type": "strange", "auto_map": {"AutoConfig": "strange.Config", "AutoModel": "strange.Model"}}
    (tiny / "config.json").write_text(json.dumps(config))
    (tiny / "strange.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(HarnessError, match="Model tiny cannot be opened"):
        open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def test_weights_that_lack_a_layer_are_refused_instead_of_made_up(tiny: Path, tmp_path: Path) -> None:
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(HarnessError, match=r"lack 16 parameters \(encoder.layer.2.*config.json describes"):
        open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache")


def test_a_folder_without_a_tokenizer_is_a_sentence(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((tiny / name).read_bytes())
    with pytest.raises(HarnessError, match=r"tokenizer without a vocabulary: put tokenizer\.json"):
        open_transformer({"name": "m", "kind": "transformer", "path": str(folder)})


def test_slow_tokenizer_is_a_sentence(tiny: Path, tmp_path: Path) -> None:
    for file in tiny.glob("*token*"):
        file.unlink()
    import_transformers().CanineTokenizer().save_pretrained(tiny)
    with pytest.raises(HarnessError, match=r"has only a slow tokenizer \(CanineTokenizer\).*with a fast tokenizer"):
        open_transformer({"name": "tiny", "path": str(tiny)}, cache=tmp_path / "cache")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_missing_package_is_a_sentence_with_the_command(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(torch_setup.importlib, "import_module", missing)
    sentence = rf"needs {package}, which is not installed: pip install 'eat-harness\[transformers\]'\."
    with pytest.raises(HarnessError, match=sentence):
        torch_setup._import(package, "transformers")


def mismatched_torchvision(folder: Path, *operators: str) -> Path:
    """Write a torchvision whose Python parts name operators that no compiled part defines, as at its import."""
    package = folder / "torchvision"
    package.mkdir()
    for operator in operators:
        (package / f"{operator}.py").write_text(
            f"import torch\n\n@torch.library.register_fake('torchvision::{operator}')\ndef _(*given):\n    pass\n"
        )
    (package / "__init__.py").write_text("".join(f"from torchvision import {name}\n" for name in operators))
    return folder


def imported_beside(folder: Path) -> subprocess.CompletedProcess[str]:
    """Import torch as the harness does, in a process that finds this torchvision first."""
    code = (
        "import sys; from harness.encoders.torch_setup import import_torch; import_torch()\n"
        "print(sys.modules['torchvision'].__file__)\n"
    )
    paths = os.pathsep.join([str(folder), str(Path(weights.__file__).parents[2])])
    given = {"capture_output": True, "text": True, "check": False, "env": {**os.environ, "PYTHONPATH": paths}}
    return subprocess.run([sys.executable, "-c", code], **given)


def test_torchvision_built_for_another_torch_is_imported_all_the_same(tmp_path: Path) -> None:
    folder = mismatched_torchvision(tmp_path, "nms", "qnms")
    plain = {"capture_output": True, "text": True, "check": False, "env": {**os.environ, "PYTHONPATH": str(folder)}}
    done = subprocess.run([sys.executable, "-c", "import torch, torchvision"], **plain)
    assert "operator torchvision::nms does not exist" in done.stderr
    done = imported_beside(folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(folder / "torchvision" / "__init__.py")


def test_a_torchvision_that_lacks_more_is_not_hidden(tmp_path: Path) -> None:
    done = imported_beside(mismatched_torchvision(tmp_path, "nms", "roi_align"))
    assert done.returncode == 1
    assert "operator torchvision::roi_align does not exist" in done.stderr


def test_transformers_uses_the_torchvision_of_this_environment() -> None:
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed: it comes with the extra clip")
    import_transformers()
    from torchvision.transforms import InterpolationMode

    assert InterpolationMode.BILINEAR.value == "bilinear"
