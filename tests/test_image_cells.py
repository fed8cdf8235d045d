"""Tests with images, from folders of PNG files to a cell: prompts, the store, and a sentence for each mistake."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cell import Cell, compatible, fingerprint
from harness.encoders.clip import ClipEncoder
from harness.encoders.clip_open import import_open_clip
from harness.methods.mleat import mleat
from harness.options import StatsOptions
from harness.result import ResultStore
from tests.encoders.clip_tiny import shapes, tiny_open_clip

Cli = Callable[..., tuple[int, str, str]]
A = ["red", "crimson", "scarlet", "ruby"]
B = ["blue", "azure", "navy", "cyan"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("images")
    tiny_open_clip(root / "model")
    for colour in ("red", "blue", "green", "yellow"):
        shapes(root / colour, colour, 5)
    texts = {"red_words": A, "blue_words": B}
    tests = {
        "images_texts": {"X": {"folder": "red"}, "Y": {"folder": "blue"}, "A": A, "B": B},
        "texts_images": {"X": A, "Y": B, "A": {"folder": "red"}, "B": {"folder": "blue"}},
        "ieat": {
            slot: {"folder": colour} for slot, colour in zip("XYAB", ("red", "blue", "green", "yellow"), strict=True)
        },
        "texts": {"X": A, "Y": B, "A": texts["blue_words"][::-1], "B": texts["red_words"][::-1]},
    }
    for name, test in tests.items():
        (root / f"{name}.yaml").write_text(json.dumps({"name": name, **test}))
    return root


@pytest.fixture
def own(home: Path, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))

    def overrides(test: str, *more: str) -> list[str]:
        model = ["model=clip", f"model.path={home / 'model'}", "test=file", f"test.path={home / test}.yaml"]
        quiet = [f"paths.runs={runs}", "tracking=none", "figures=never", "stats.ci_resamples=0"]
        return [*model, *quiet, "method=mleat", *more]

    return overrides


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model was given, text by text and image by image."""
    seen: list[str] = []
    original = ClipEncoder.encode

    def counted(self: ClipEncoder, contexts: Any, **keys: Any) -> Any:
        seen.extend(context.key for context in contexts)
        return original(self, contexts, **keys)

    monkeypatch.setattr(ClipEncoder, "encode", counted)
    return seen


def only(runs: Path) -> Any:
    (result,) = ResultStore(runs)
    return result


def results(runs: Path) -> list[Any]:
    return list(ResultStore(runs))


def test_a_cell_is_what_open_clip_and_the_formula_give(home: Path, own: Any, runs: Path, cli: Cli) -> None:
    import torch
    from PIL import Image

    open_clip = import_open_clip()
    assert cli("run", *own("images_texts", "context=brings_to_mind"))[0] == 0
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{home / 'model'}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{home / 'model'}")
    model.eval()
    with torch.no_grad():
        x, y = (
            model.encode_image(torch.stack([transform(Image.open(home / c / f"{i}.png")) for i in range(5)])).numpy()
            for c in ("red", "blue")
        )
        a, b = (
            model.encode_text(tokenizer([f"a picture that brings to mind {word}" for word in words])).numpy()
            for words in (A, B)
        )
    expected = mleat(x, y, a, b, stats=StatsOptions(ci_resamples=0))
    found = only(runs)
    assert found.metrics["d"] == pytest.approx(expected.level1.d, abs=1e-4)
    assert found.metrics["level2_x_d"] == pytest.approx(expected.level2["X"].d, abs=1e-4)
    assert found.metrics["level3_ya_mean"] == pytest.approx(expected.level3["YA"].mean, abs=1e-6)
    assert found.labels["pattern"] == expected.pattern
    assert found.factors["context"] == "prompt/brings_to_mind"
    assert [found.factors[name] for name in ("encoding", "pooling", "layer")] == [None, None, None]


@pytest.mark.parametrize("test", ["images_texts", "texts_images", "ieat"])
def test_images_stand_on_either_side_or_on_all(own: Any, runs: Path, cli: Cli, test: str, read: list[str]) -> None:
    assert cli("run", *own(test))[0] == 0
    assert only(runs).metrics["n_x"] == (4 if test == "texts_images" else 5)
    assert sum(key.startswith("image:") for key in read) == (20 if test == "ieat" else 10)


def test_a_sweep_over_prompts_reads_every_image_and_text_once(own: Any, runs: Path, cli: Cli, read: list[str]) -> None:
    contexts = "context=bare,brings_to_mind"
    assert cli("run", "-m", *own("images_texts", contexts, "method=mleat,weat"))[0] == 0
    assert len(results(runs)) == 4
    assert len(read) == len(set(read)) == 10 + 8 + 8
    assert {result.factors["context"] for result in results(runs)} == {"bare", "prompt/brings_to_mind"}


def test_a_copied_folder_is_not_read_again(home: Path, own: Any, cli: Cli, read: list[str], tmp_path: Path) -> None:
    assert cli("run", *own("images_texts"))[0] == 0
    before = len(read)
    moved = tmp_path / "moved"
    for colour in ("red", "blue"):
        shutil.copytree(home / colour, moved / colour)
        (moved / colour / "0.png").rename(moved / colour / "zero.png")
    assert cli("run", *own("images_texts", f"paths.images={moved}"))[0] == 0
    assert len(read) == before


def test_an_exchanged_image_is_read_and_the_others_are_not(
    home: Path, own: Any, runs: Path, cli: Cli, read: list[str], tmp_path: Path
) -> None:
    for colour in ("red", "blue"):
        shutil.copytree(home / colour, tmp_path / "mine" / colour)
    given = own("images_texts", f"paths.images={tmp_path / 'mine'}")
    assert cli("run", *given)[0] == 0
    before = len(read)
    shutil.copy(home / "green" / "1.png", tmp_path / "mine" / "red" / "1.png")
    assert cli("run", *given)[0] == 0
    assert len(read) == before + 1
    assert len({result.metrics["d"] for result in results(runs)}) == 2


def test_another_transform_reads_every_image_again(
    home: Path, own: Any, runs: Path, cli: Cli, read: list[str], tmp_path: Path
) -> None:
    model = shutil.copytree(home / "model", tmp_path / "model")
    given = own("images_texts", f"model.path={model}")
    assert cli("run", *given)[0] == 0
    before = len(read)
    described = json.loads((model / "open_clip_config.json").read_text())
    described["preprocess_cfg"]["interpolation"] = "bilinear"
    (model / "open_clip_config.json").write_text(json.dumps(described))
    assert cli("run", *given)[0] == 0
    assert sum(key.startswith("image:") for key in read[before:]) == 10
    assert len(results(runs)) == 2


def test_the_prompt_is_put_on_text_attributes_alone(own: Any, cli: Cli, read: list[str]) -> None:
    status, _, err = cli("run", *own("texts_images", "context=brings_to_mind"))
    assert status == 2
    assert "prompt/brings_to_mind is put on text attributes, and texts_images has none" in err
    assert "choose context=bare, or context.slots=all for its text targets" in err
    status, _, err = cli("run", *own("ieat", "context=brings_to_mind"))
    assert status == 2
    assert err.endswith("ieat has none: choose context=bare.\n")
    assert cli("run", *own("texts_images", "context=brings_to_mind", "context.slots=all"))[0] == 0
    texts = [key for key in read if not key.startswith("image:")]
    assert len(texts) == 8
    assert all("a picture that brings to mind" in text for text in texts)


def test_any_template_is_a_prompt(own: Any, cli: Cli, read: list[str]) -> None:
    assert cli("run", *own("images_texts", "context=prompt", "context.template='a photo of the word {word}'"))[0] == 0
    texts = [key for key in read if not key.startswith("image:")]
    assert sorted(text.partition(":a photo of the word ")[2] for text in texts) == sorted(A + B)


def test_a_test_of_words_puts_the_context_on_every_word(own: Any, cli: Cli, read: list[str]) -> None:
    assert cli("run", *own("texts", "context=brings_to_mind"))[0] == 0
    assert all("a picture that brings to mind" in key for key in read)


def test_choices_without_effect_make_no_new_cell(own: Any, runs: Path, cli: Cli) -> None:
    assert cli("run", "-m", *own("images_texts", "encoding=word,sentence", "pooling=mean,last", "layer=last,0"))[0] == 0
    assert len(results(runs)) == 1


def test_an_exchanged_image_makes_a_new_cell_and_a_renamed_folder_of_the_same_names_does_not(
    home: Path, tmp_path: Path
) -> None:
    from omegaconf import OmegaConf

    from harness.config import Config

    def identity(root: Path) -> str:
        config: Any = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
        config["model"] |= {"name": "clip", "kind": "clip", "path": str(home / "model")}
        config["test"] = {"path": str(home / "images_texts.yaml")}
        config["paths"] |= {"runs": str(tmp_path / "runs"), "images": str(root)}
        return fingerprint(Cell.from_config(config).identity())

    first, copy = identity(home), tmp_path / "copy"
    for colour in ("red", "blue"):
        shutil.copytree(home / colour, copy / colour)
    assert identity(copy) == first
    shutil.copy(home / "green" / "1.png", copy / "red" / "1.png")
    assert identity(copy) != first


def test_copies_and_odd_images_are_told_and_shared_ones_refused(
    home: Path, own: Any, runs: Path, cli: Cli, tmp_path: Path
) -> None:
    from PIL import Image

    odd = tmp_path / "odd"
    for colour in ("red", "blue"):
        shutil.copytree(home / colour, odd / colour)
    shutil.copy(odd / "red" / "1.png", odd / "red" / "9.png")
    Image.open(odd / "blue" / "2.png").convert("CMYK").save(odd / "blue" / "9.tif")
    status, out, _ = cli("run", *own("images_texts", f"paths.images={odd}"))
    assert status == 0
    assert "The same image under several names (X): red/1.png, red/9.png." in out
    assert "blue/9.tif: CMYK colours" in out
    shutil.copy(odd / "red" / "1.png", odd / "blue" / "9.png")
    (odd / "blue" / "9.tif").unlink()
    status, _, err = cli("run", *own("images_texts", f"paths.images={odd}"))
    assert status == 2
    assert "of X is, by content, in Y too" in err


def test_a_broken_image_fails_in_one_sentence(home: Path, own: Any, cli: Cli, tmp_path: Path) -> None:
    for colour in ("red", "blue"):
        shutil.copytree(home / colour, tmp_path / "torn" / colour)
    path = tmp_path / "torn" / "red" / "3.png"
    path.write_bytes(path.read_bytes()[:60])
    status, _, err = cli("run", *own("images_texts", f"paths.images={tmp_path / 'torn'}"))
    assert status == 2
    assert err.count("\n") == 1
    assert "red/3.png" in err


@pytest.mark.parametrize("model", ["googlenews", "minilm"])
def test_models_of_words_have_no_meaning_for_images(cli: Cli, runs: Path, model: str) -> None:
    status, _, err = cli("run", f"model={model}", "test=w-clip-young-old", f"paths.runs={runs}", "tracking=none")
    assert status == 2
    assert f"w-clip-young-old holds images, and {model} has vectors of words alone" in err


def test_a_subspace_between_images_is_refused(own: Any, cli: Cli) -> None:
    status, _, err = cli("run", *own("texts_images", "association=projection"))
    assert status == 2
    assert "the poles hold images" in err


@pytest.mark.parametrize("more", [[], ["context=bare"], ["context=brings_to_mind"]])
def test_table_2_composes_and_fails_in_one_sentence_without_images(cli: Cli, runs: Path, more: list[str]) -> None:
    status, _, err = cli("run", "experiment=wolfe2024_table2", f"paths.runs={runs}", "tracking=none", *more)
    assert status == 2
    assert err.count("\n") == 1
    assert "the folder insect-flower/flower, the folder insect-flower/insect; `harness fetch ieat-images`" in err


def test_table_2_fails_in_one_sentence_without_weights(
    cli: Cli, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.encoders import weights

    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "_hub_cached", lambda *_: None)
    for place in ("insect-flower/flower", "insect-flower/insect"):
        shapes(tmp_path / "ieat" / place, "red" if "flower/f" in place else "blue", 3)
    given = ["test=w-clip-flower-insect", f"paths.images={tmp_path / 'ieat'}", "model.backend=transformers"]
    status, _, err = cli("run", "experiment=wolfe2024_table2", f"paths.runs={runs}", "tracking=none", *given)
    assert status == 2
    assert err.count("\n") == 1
    assert "run `harness fetch clip-vit-l-14-336`" in err


def test_a_published_table_is_set_beside_weights_and_images_that_lie_elsewhere(
    home: Path, cli: Cli, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    for kind, colour in (("flower", "red"), ("insect", "blue")):
        shapes(tmp_path / "ieat" / "insect-flower" / kind, colour, 3)
    given = ["--set", f"model.path={home / 'model'}", "--set", f"paths.images={tmp_path / 'ieat'}"]
    status, out, _ = cli("replicate", "wolfe2024.table9", "--runs", runs, *given, "--set", "stats.ci_resamples=0")
    assert status == 0
    assert only(runs).factors["test"] == "w-clip-flower-insect"
    assert "Test w-clip-young-old needs images that are not here: the folder age/young, the folder age/old" in out


def test_the_published_numbers_of_each_prompt_stand_beside_its_own_cells() -> None:
    from harness.beside import printed_beside
    from harness.published import load_published
    from harness.result import Result

    table = load_published("wolfe2024.table2")
    shown = {}
    for context in ("bare", "prompt/brings_to_mind"):
        factors = {"model": "clip-vit-l-14-336", "test": "w-clip-flower-insect", "method": "mleat", "context": context}
        result = Result("f", "finished", {}, dict(factors), metrics={"d": 1.0})
        shown[context] = printed_beside(result, table)["d"].value
    assert shown == {"bare": 1.88, "prompt/brings_to_mind": 1.84}


def test_the_shift_between_prompts_is_drawn(own: Any, runs: Path, cli: Cli) -> None:
    assert cli("run", "-m", *own("images_texts", "context=bare,brings_to_mind"))[0] == 0
    (sweep,) = (path.name for path in (runs / "sweeps").iterdir() if path.is_dir())
    status, out, _ = cli("plot", "--prompts", sweep, "--runs", runs)
    assert status == 0
    drawing = next(Path(line) for line in out.splitlines() if line.endswith(".svg")).read_text()
    means = {result.factors["context"]: result.metrics["level3_xa_mean"] for result in results(runs)}
    assert f"{means['prompt/brings_to_mind'] - means['bare']:+.3f}" in drawing
    assert "images_texts on clip" in drawing


def test_one_prompt_has_no_shift(own: Any, runs: Path, cli: Cli) -> None:
    assert cli("run", "-m", *own("images_texts", "seed=0,1"))[0] == 0
    (sweep,) = (path.name for path in (runs / "sweeps").iterdir() if path.is_dir())
    status, _, err = cli("plot", "--prompts", sweep, "--runs", runs)
    assert status == 2
    assert "sweep over them, as in context=bare,brings_to_mind" in err


def test_compatible_is_silent_about_what_can_be_measured(home: Path, runs: Path) -> None:
    from omegaconf import OmegaConf

    from harness.config import Config

    config: Any = OmegaConf.to_container(OmegaConf.structured(Config), resolve=True)
    config["model"] |= {"name": "clip", "kind": "clip", "path": str(home / "model")}
    config["test"] = {"path": str(home / "ieat.yaml")}
    config["paths"]["runs"] = str(runs)
    assert compatible(Cell.from_config(config)) is None
    assert (
        np.unique([word for concept in Cell.from_config(config).concepts.values() for word in concept.words]).size == 20
    )
