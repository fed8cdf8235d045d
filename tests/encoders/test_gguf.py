"""GGUF files: the same vectors as the weights they were made of, converted once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gguf")

import gguf as gguf_format

from harness.contexts import Context
from harness.encoders import gguf
from harness.encoders.transformer import TransformerEncoder, open_transformer, transformer_identity
from harness.errors import HarnessError
from tests.encoders.transformer_tiny import build, fast_tokenizer, save

CONTEXTS = [Context("This is a rose.", 10, 14), Context("José said hello", 0, 4)]


def write_gguf(path: Path) -> Path:
    """Write the small Llama as llama.cpp's converter does: its names, and queries and keys in its order of rows."""
    model, tokenizer = build("llama"), fast_tokenizer("llama")
    config = model.config
    writer = gguf_format.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    backend = tokenizer.backend_tokenizer
    pieces = [backend.id_to_token(number) for number in range(len(tokenizer))]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(pieces)
    writer.add_token_types([3 if number == tokenizer.bos_token_id else 1 for number in range(len(pieces))])
    writer.add_token_merges(_merges(backend))
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    names = gguf_format.get_tensor_name_map(gguf_format.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        values = tensor.numpy()
        for part, heads in (("q_proj", config.num_attention_heads), ("k_proj", config.num_key_value_heads)):
            if part in name:
                values = (
                    values.reshape(heads, 2, values.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(values.shape)
                )
        writer.add_tensor(names.get_name(f"model.{name}", (".weight",)), np.ascontiguousarray(values))
    writer.add_tensor("output.weight", model.embed_tokens.weight.numpy(force=True))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _merges(backend: Any) -> list[str]:
    return [" ".join(pair) for pair in json.loads(backend.to_str())["model"]["merges"]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def vectors(encoder: TransformerEncoder) -> np.ndarray:
    found = np.empty((len(CONTEXTS), encoder.dim), dtype=np.float32)
    for batch in encoder.encode(CONTEXTS, views=["mean"], layers=[encoder.layers]):
        found[batch.indices] = batch.vectors["mean", encoder.layers]
    return found


def test_gguf_file_gives_the_vectors_of_its_weights(file: Path, tmp_path: Path) -> None:
    plain = open_transformer({"name": "plain", "path": str(save("llama", tmp_path / "plain"))}, cache=tmp_path)
    packed = open_transformer({"name": "packed", "path": str(file)}, cache=tmp_path)
    np.testing.assert_allclose(vectors(packed), vectors(plain), atol=1e-5)


def test_gguf_file_is_converted_once(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"name": "packed", "path": str(file)}
    first = vectors(open_transformer(model, cache=tmp_path))
    monkeypatch.setattr(gguf, "_convert", lambda *_: pytest.fail("it was converted again"))
    np.testing.assert_array_equal(vectors(open_transformer(model, cache=tmp_path)), first)


def test_identity_of_a_gguf_file_is_its_digest_and_needs_no_conversion(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf, "_convert", lambda *_: pytest.fail("it was converted"))
    identity = transformer_identity({"name": "packed", "path": str(file)}, cache=tmp_path)
    assert len(identity["sha256"]) == 64


def test_conversion_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(HarnessError, match=r"broken.gguf: transformers cannot read this GGUF file"):
        open_transformer({"name": "broken", "path": str(broken)}, cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache" / "gguf").iterdir() if path.is_dir()]


def test_missing_package_is_a_sentence_with_the_command(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(HarnessError, match=r"needs the package gguf.*pip install 'eat-harness\[transformers\]'"):
        open_transformer({"name": "packed", "path": str(file)}, cache=tmp_path)
