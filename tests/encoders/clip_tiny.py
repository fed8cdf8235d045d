"""A tiny CLIP of open_clip with random weights, and the same weights in the format of transformers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from harness.encoders.torch_setup import import_torch, import_transformers, quiet

MODEL_CFG: dict[str, Any] = {
    "embed_dim": 24,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
MEAN, STD = [0.48, 0.46, 0.41], [0.27, 0.26, 0.28]
PREPROCESS = {"mean": MEAN, "std": STD, "interpolation": "bicubic", "resize_mode": "shortest"}
COLOURS = {"red": (220, 40, 30), "blue": (30, 60, 220), "green": (30, 180, 60), "yellow": (230, 210, 40)}


def tiny_open_clip(folder: Path, *, seed: int = 0, config: dict[str, Any] | None = None) -> Path:
    """Write a model with random weights that its config describes, as open_clip keeps one."""
    import_torch()
    from open_clip import CLIP

    torch = import_torch()
    torch.manual_seed(seed)
    return save_open_clip(CLIP(**(config or MODEL_CFG)), folder, config=config or MODEL_CFG)


def save_open_clip(model: Any, folder: Path, *, config: dict[str, Any]) -> Path:
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, folder / "open_clip_model.safetensors")
    described = {"model_cfg": config, "preprocess_cfg": PREPROCESS}
    (folder / "open_clip_config.json").write_text(json.dumps(described), encoding="utf-8")
    return folder


def as_transformers(source: Path, folder: Path) -> Path:
    """Convert such a folder to transformers: weights renamed, attention cut in three, projections transposed."""
    from safetensors.torch import load_file

    transformers = import_transformers()
    weights = load_file(source / "open_clip_model.safetensors")
    cfg = json.loads((source / "open_clip_config.json").read_text())["model_cfg"]
    text, vision = cfg["text_cfg"], cfg["vision_cfg"]
    act = "quick_gelu" if cfg.get("quick_gelu") else "gelu"
    config = transformers.CLIPConfig(
        projection_dim=cfg["embed_dim"],
        text_config={
            "vocab_size": text["vocab_size"],
            "hidden_size": text["width"],
            "intermediate_size": 4 * text["width"],
            "projection_dim": cfg["embed_dim"],
            "num_hidden_layers": text["layers"],
            "num_attention_heads": text["heads"],
            "max_position_embeddings": text["context_length"],
            "hidden_act": act,
            "bos_token_id": 49406,
            "eos_token_id": 49407,
        },
        vision_config={
            "hidden_size": vision["width"],
            "intermediate_size": 4 * vision["width"],
            "projection_dim": cfg["embed_dim"],
            "num_hidden_layers": vision["layers"],
            "num_attention_heads": vision["width"] // vision["head_width"],
            "image_size": vision["image_size"],
            "patch_size": vision["patch_size"],
            "hidden_act": act,
        },
    )
    model = transformers.CLIPModel(config)
    state = {
        "logit_scale": weights["logit_scale"],
        "text_projection.weight": weights["text_projection"].T,
        "visual_projection.weight": weights["visual.proj"].T,
        "text_model.embeddings.token_embedding.weight": weights["token_embedding.weight"],
        "text_model.embeddings.position_embedding.weight": weights["positional_embedding"],
        "vision_model.embeddings.class_embedding": weights["visual.class_embedding"],
        "vision_model.embeddings.position_embedding.weight": weights["visual.positional_embedding"],
        "vision_model.embeddings.patch_embedding.weight": weights["visual.conv1.weight"],
        **_norm("text_model.final_layer_norm", weights, "ln_final"),
        **_norm("vision_model.pre_layrnorm", weights, "visual.ln_pre"),
        **_norm("vision_model.post_layernorm", weights, "visual.ln_post"),
    }
    for ours, theirs, layers in (
        ("text_model", "transformer", text["layers"]),
        ("vision_model", "visual.transformer", vision["layers"]),
    ):
        for number in range(layers):
            state |= _layer(f"{ours}.encoder.layers.{number}", weights, f"{theirs}.resblocks.{number}")
    missing, unexpected = model.load_state_dict({k: v.contiguous() for k, v in state.items()}, strict=False)
    assert not unexpected and all(key.endswith("position_ids") for key in missing), (missing, unexpected)
    with quiet(transformers):
        model.save_pretrained(folder)
    _save_tokenizer(folder)
    size = vision["image_size"]
    processor = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}, image_mean=MEAN, image_std=STD
    )
    processor.save_pretrained(folder)
    return folder


def _norm(ours: str, weights: dict[str, Any], theirs: str) -> dict[str, Any]:
    return {f"{ours}.{kind}": weights[f"{theirs}.{kind}"] for kind in ("weight", "bias")}


def _layer(ours: str, weights: dict[str, Any], theirs: str) -> dict[str, Any]:
    state: dict[str, Any] = {}
    for kind in ("weight", "bias"):
        parts = weights[f"{theirs}.attn.in_proj_{kind}"].chunk(3)
        for name, part in zip("qkv", parts, strict=True):
            state[f"{ours}.self_attn.{name}_proj.{kind}"] = part
        state[f"{ours}.self_attn.out_proj.{kind}"] = weights[f"{theirs}.attn.out_proj.{kind}"]
        state[f"{ours}.mlp.fc1.{kind}"] = weights[f"{theirs}.mlp.c_fc.{kind}"]
        state[f"{ours}.mlp.fc2.{kind}"] = weights[f"{theirs}.mlp.c_proj.{kind}"]
    state |= _norm(f"{ours}.layer_norm1", weights, f"{theirs}.ln_1")
    state |= _norm(f"{ours}.layer_norm2", weights, f"{theirs}.ln_2")
    return state


def _save_tokenizer(folder: Path) -> None:
    """Write CLIP's own vocabulary, which open_clip ships, as transformers reads it."""
    import open_clip.tokenizer as own

    transformers = import_transformers()
    merges = gzip.decompress(Path(own.default_bpe()).read_bytes()).decode().split("\n")[1 : 49152 - 256 - 2 + 1]
    tokens = list(own.bytes_to_unicode().values())
    vocabulary = [*tokens, *(f"{token}</w>" for token in tokens), *("".join(merge.split()) for merge in merges)]
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    encoder = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = transformers.CLIPTokenizer(vocab=encoder, merges=[tuple(merge.split()) for merge in merges])
    tokenizer.save_pretrained(folder)


def shapes(folder: Path, colour: str, count: int, *, seed: int = 0, size: int = 48) -> Path:
    """Write circles and squares of one colour as PNG files."""
    from PIL import Image, ImageDraw

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([seed, *colour.encode()])
    for number in range(count):
        image = Image.new("RGB", (size, size + 6), tuple(int(v) for v in rng.integers(200, 256, 3)))
        radius, middle = int(rng.integers(8, 16)), rng.integers(17, size - 17, 2)
        box = [int(v) for v in (*(middle - radius), *(middle + radius))]
        draw = ImageDraw.Draw(image)
        shade = tuple(int(np.clip(v + rng.integers(-25, 26), 0, 255)) for v in COLOURS[colour])
        (draw.ellipse if number % 2 else draw.rectangle)(box, fill=shade)
        image.save(folder / f"{number}.png")
    return folder
