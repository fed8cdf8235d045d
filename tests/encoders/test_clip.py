"""CLIP: two backends on the same weights agree, and neither changes what its model does to a text or an image."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.assets import find_asset
from harness.assets.registry import HubSource
from harness.contexts import Context, ImageContext
from harness.encoders import weights
from harness.encoders.clip import ClipEncoder, clip_identity, open_clip_model, vectors_identity
from harness.encoders.clip_open import find_open_clip
from harness.encoders.torch_setup import import_torch
from harness.errors import HarnessError
from harness.paths import conf_dir
from harness.stimuli.yaml_file import read_yaml
from tests.encoders.clip_tiny import MEAN, MODEL_CFG, as_transformers, save_open_clip, shapes, tiny_open_clip

TEXTS = ("a red circle", "love", "a picture that brings to mind peace, ugly", "Sunshine", "it's 12 o'clock")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    root = tmp_path_factory.mktemp("clip")
    own = tiny_open_clip(root / "open_clip")
    return SimpleNamespace(own=own, hf=as_transformers(own, root / "hf"), images=shapes(root / "red", "red", 7))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


def own_model(folders: SimpleNamespace, **keys: Any) -> dict[str, Any]:
    return {"name": "tiny", "kind": "clip", "path": str(folders.own), **keys}


def contexts(folders: SimpleNamespace) -> list[Context]:
    texts = [Context(text, 0, len(text)) for text in TEXTS]
    paths = sorted(folders.images.glob("*.png"))
    return texts + [ImageContext(path.name, 0, 1, str(path), path.name) for path in paths]


def encoded(encoder: ClipEncoder, items: list[Context]) -> np.ndarray:
    rows = np.full((len(items), encoder.dim), np.nan)
    for batch in encoder.encode(items, views=["sentence"], layers=[0]):
        assert np.isnan(rows[batch.indices]).all()
        rows[batch.indices] = batch.vectors["sentence", 0]
    return rows


def test_both_backends_agree_on_the_same_weights(folders: SimpleNamespace) -> None:
    items = contexts(folders)
    own = encoded(open_clip_model(own_model(folders)), items)
    hf = encoded(open_clip_model({"name": "hf", "backend": "transformers", "path": str(folders.hf)}), items)
    assert own.shape == (len(TEXTS) + 7, MODEL_CFG["embed_dim"])
    assert np.abs(own[: len(TEXTS)] - hf[: len(TEXTS)]).max() < 1e-5
    assert np.abs(own[len(TEXTS) :] - hf[len(TEXTS) :]).max() < 1e-5
    assert np.abs(own[0] - own[-1]).max() > 0.01


def test_vectors_are_those_of_a_bare_loop_over_open_clip(folders: SimpleNamespace) -> None:
    torch = import_torch()
    import open_clip
    from PIL import Image

    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folders.own}")
    model.eval()
    paths = sorted(folders.images.glob("*.png"))
    with torch.no_grad():
        images = model.encode_image(torch.stack([transform(Image.open(path)) for path in paths]), normalize=True)
        texts = model.encode_text(open_clip.get_tokenizer(f"local-dir:{folders.own}")(list(TEXTS)), normalize=True)
    expected = np.concatenate([texts.numpy(), images.numpy()])
    ours = encoded(open_clip_model(own_model(folders)), contexts(folders))
    np.testing.assert_allclose(ours, expected, atol=1e-6)


@pytest.mark.parametrize("size", [1, 3, 64])
def test_the_size_of_a_batch_changes_no_vector(folders: SimpleNamespace, size: int) -> None:
    items = contexts(folders)
    one = encoded(open_clip_model(own_model(folders, batch_size=size)), items)
    np.testing.assert_allclose(one, encoded(open_clip_model(own_model(folders)), items), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1, atol=1e-6)


def test_the_identity_follows_weights_and_transform_and_not_place_or_batch(
    folders: SimpleNamespace, tmp_path: Path
) -> None:
    first = vectors_identity(own_model(folders))
    assert first["transform"]["mean"] == MEAN
    assert first["transform"]["size"] == 32
    assert vectors_identity(own_model(folders, batch_size=1, device="cpu", name="other")) == first
    other = tiny_open_clip(tmp_path / "copy")
    assert vectors_identity({"name": "tiny", "path": str(other)}) == first
    described = json.loads((other / "open_clip_config.json").read_text())
    described["preprocess_cfg"]["interpolation"] = "bilinear"
    (other / "open_clip_config.json").write_text(json.dumps(described))
    assert vectors_identity({"name": "tiny", "path": str(other)}) != first
    reseeded = tiny_open_clip(tmp_path / "reseeded", seed=1)
    assert vectors_identity({"name": "tiny", "path": str(reseeded)})["sha256"] != first["sha256"]
    assert clip_identity(own_model(folders, postprocess="zscore")) != clip_identity(own_model(folders))


def test_a_tag_by_openai_brings_its_activation_and_its_transform(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"x")
    model = {"name": "own", "path": str(path), "architecture": "ViT-B-32"}
    assert not find_open_clip(model).config.get("quick_gelu")
    tagged = find_open_clip({**model, "pretrained": "openai"})
    assert tagged.config["quick_gelu"]
    assert tagged.transform["size"] == 224
    assert tagged.transform["mean"][0] == 0.48145466
    other = find_open_clip({**model, "architecture": "ViT-L-14-336", "pretrained": "openai"})
    assert other.transform["size"] == 336


def test_a_checkpoint_file_of_a_named_architecture_is_opened(tmp_path: Path) -> None:
    import_torch()
    import open_clip
    from open_clip.factory import _MODEL_CONFIGS

    config = json.loads(json.dumps(MODEL_CFG))
    _MODEL_CONFIGS["tiny-test"] = config
    try:
        model = open_clip.create_model("tiny-test")
        path = save_open_clip(model, tmp_path / "saved", config=config) / "open_clip_model.safetensors"
        moved = path.rename(tmp_path / "epoch_3.safetensors")
        given = {"name": "own", "path": str(moved), "architecture": "tiny-test"}
        encoder = open_clip_model(given)
        assert encoder.dim == MODEL_CFG["embed_dim"]
        assert encoded(encoder, [Context("love", 0, 4)]).shape == (1, 24)
    finally:
        del _MODEL_CONFIGS["tiny-test"]


def test_a_text_that_does_not_fit_is_refused_and_not_cut(folders: SimpleNamespace) -> None:
    text = "a picture that brings to mind " + "very " * 20 + "peace"
    for model in (own_model(folders), {"name": "hf", "backend": "transformers", "path": str(folders.hf)}):
        with pytest.raises(HarnessError, match=r"takes \d+ tokens, and \w+ reads 16: choose a shorter prompt"):
            encoded(open_clip_model(model), [Context(text, 0, 1)])


def test_every_unreadable_image_is_named_in_one_sentence(folders: SimpleNamespace, tmp_path: Path) -> None:
    bad = [tmp_path / "torn.png", tmp_path / "text.png"]
    whole = (folders.images / "0.png").read_bytes()
    bad[0].write_bytes(whole[: len(whole) // 2])
    bad[1].write_text("no image")
    items = [*contexts(folders), *(ImageContext(path.name, 0, 1, str(path), path.name) for path in bad)]
    with pytest.raises(HarnessError, match=r"2 images cannot be used: .*torn\.png .*damaged.*, .*text\.png is not an"):
        encoded(open_clip_model(own_model(folders, batch_size=2)), items)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({}, "The model has no weights: set model.architecture and model.pretrained"),
        ({"path": "nowhere"}, "does not exist; give a folder with open_clip_config.json"),
        ({"architecture": "ViT-B-23", "pretrained": "openai"}, r"no such model\. Did you mean ViT-B-32"),
        ({"architecture": "ViT-B-32", "pretrained": "opanai"}, r"no such weights of ViT-B-32; it has openai, "),
        ({"backend": "jax"}, "model.backend=jax: is one of open_clip, transformers"),
        ({"batch_size": -1}, "model.batch_size=-1: must be 1 or more"),
    ],
)
def test_a_mistake_in_the_config_gets_one_sentence(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        clip_identity({"name": "own", **keys})


def test_a_file_alone_does_not_say_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "epoch_3.pt"
    path.write_bytes(b"x")
    with pytest.raises(HarnessError, match=r"does not say what it is: set model\.architecture, such as ViT-B-32"):
        clip_identity({"name": "own", "path": str(path)})
    with pytest.raises(HarnessError, match=r"cannot be opened from \S+epoch_3\.pt as ViT-B-32: "):
        open_clip_model({"name": "own", "path": str(path), "architecture": "ViT-B-32"})


def test_a_folder_of_the_other_backend_is_recognised(folders: SimpleNamespace) -> None:
    with pytest.raises(HarnessError, match=r"add model\.backend=transformers"):
        clip_identity({"name": "own", "path": str(folders.hf)})
    with pytest.raises(HarnessError, match=r"holds no config\.json"):
        clip_identity({"name": "own", "path": str(folders.own), "backend": "transformers"})


@pytest.mark.parametrize("name", ["clip-vit-b-32", "clip-vit-b-16", "clip-vit-l-14", "clip-vit-l-14-336"])
def test_both_backends_of_the_papers_models_are_assets_pinned_to_a_commit(name: str) -> None:
    import_torch()
    import open_clip

    model = read_yaml(conf_dir() / "model" / f"{name}.yaml")
    tag = open_clip.get_pretrained_cfg(model["architecture"], model["pretrained"])
    sources = {f"open-{name}": tag["hf_hub"].rstrip("/"), name: model["id"]}
    for asset, identifier in sources.items():
        source = find_asset(asset).source
        assert isinstance(source, HubSource)
        assert source.id == identifier
        assert re.fullmatch("[0-9a-f]{40}", str(source.revision))


def test_missing_weights_of_the_paper_name_the_command_that_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object, **__: object) -> str:
        raise OSError("not in the cache")

    monkeypatch.setattr(weights, "_hub_client", lambda: SimpleNamespace(snapshot_download=absent))
    model = {"name": "clip-vit-l-14-336", "architecture": "ViT-L-14-336", "pretrained": "openai"}
    hub = {**model, "id": "openai/clip-vit-large-patch14-336"}
    with pytest.raises(HarnessError, match="run `harness fetch open-clip-vit-l-14-336`"):
        clip_identity(hub)
    with pytest.raises(HarnessError, match="run `harness fetch clip-vit-l-14-336`"):
        clip_identity({**hub, "backend": "transformers"})
    with pytest.raises(HarnessError, match=r"own \(someone/own-clip\) is not on this machine, and the hub does not"):
        clip_identity({"name": "own", "id": "someone/own-clip"})
