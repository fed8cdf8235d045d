"""Tokenizers of each kind trained on a page of words, and small random transformers that use them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from harness.encoders.torch_setup import import_torch, import_transformers

STIMULI = (
    "rose",
    "José",
    "Jose\N{COMBINING ACUTE ACCENT}",
    "Aisha",
    "naïve",
    "a person who is deaf",
    "fried chicken",
    "short-term",
    "African American",
    "Zoë",
    "he",
    "male",
    "literate",
    "Müller",
    "ice cream",
)
FILLERS = (
    "the female nurse saw her there",
    "they were illiterate then",
    "this is a test of another theatre",
    "rosewood and heather and other people",
    "someone said hello to Michael",
    "señor Über café",
)
MARKS = ("😀", "👩‍⚕️", "“", "”", '"', "'", "(", ")", ",", ".", "!", "?", ";", ":", "-", "—", "…", "'s")


def corpus() -> list[str]:
    """Every word in several places, and every character also inside a word, so that nothing is unknown."""
    words = [*STIMULI, *FILLERS, *MARKS]
    lines = [f"{one} {word} {two}" for word in words for one, two in zip(FILLERS, reversed(FILLERS), strict=True)]
    return [*lines, *(f"x{character}x {character}" for character in sorted(set("".join(words))))]


def wordpiece(*, lowercase: bool) -> Tokenizer:
    """BERT's kind: normalised, split on spaces and punctuation, continued by ##."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=280, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    )
    return tokenizer


def byte_level(*, add_prefix_space: bool = False, special: tuple[str, ...] = ("<|end|>",)) -> Tokenizer:
    """GPT-2's kind: bytes, a space belongs to the word after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    if "<s>" in special:
        ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def unigram(*, single: str, special: tuple[str, ...]) -> Tokenizer:
    """SentencePiece's kind: compatibility forms, ▁ for a space and before the first word, split on punctuation too."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<pad>", "<unk>", *special], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in special]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=ends)
    return tokenizer


def _bert() -> tuple[Tokenizer, dict[str, Any]]:
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    return wordpiece(lowercase=True), names


def _gpt() -> tuple[Tokenizer, dict[str, Any]]:
    return byte_level(), {"bos_token": "<|end|>", "eos_token": "<|end|>"}


def _roberta() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = byte_level(add_prefix_space=True, special=("<s>", "<pad>", "</s>"))
    return tokenizer, {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def _t5() -> tuple[Tokenizer, dict[str, Any]]:
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return unigram(single="$A </s>", special=("</s>",)), names


def _xlnet() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = unigram(single="$A:0 <sep>:0 <cls>:2", special=("<sep>", "<cls>", "<s>"))
    names = {"bos_token": "<s>", "cls_token": "<cls>", "sep_token": "<sep>", "unk_token": "<unk>"}
    return tokenizer, {**names, "pad_token": "<pad>", "padding_side": "left"}


_SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_BERT = {**_SIZES, "intermediate_size": 32, "initializer_range": 0.4, "max_position_embeddings": 64}
_GPT = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "initializer_range": 0.4}

FAMILIES: dict[str, tuple[Callable[[], tuple[Tokenizer, dict[str, Any]]], str, dict[str, Any]]] = {
    "bert": (_bert, "Bert", _BERT),
    "albert": (_bert, "Albert", {**_BERT, "embedding_size": 8}),
    "roberta": (_roberta, "Roberta", {**_BERT, "max_position_embeddings": 66, "type_vocab_size": 1, "pad_token_id": 1}),
    "gpt2": (_gpt, "GPT2", _GPT),
    "gpt": (_gpt, "OpenAIGPT", _GPT),
    "opt": (
        _gpt,
        "OPT",
        {**_SIZES, "ffn_dim": 32, "max_position_embeddings": 64, "word_embed_proj_dim": 16, "init_std": 0.4},
    ),
    "bloom": (_gpt, "Bloom", {"hidden_size": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.4}),
    "gpt_neo": (
        _gpt,
        "GPTNeo",
        {
            "hidden_size": 16,
            "num_layers": 2,
            "num_heads": 2,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 8,
            "max_position_embeddings": 64,
            "initializer_range": 0.4,
        },
    ),
    "llama": (
        _gpt,
        "Llama",
        {
            **_SIZES,
            "num_key_value_heads": 1,
            "intermediate_size": 32,
            "max_position_embeddings": 64,
            "initializer_range": 0.4,
        },
    ),
    "t5": (
        _t5,
        "T5",
        {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "initializer_factor": 1.0},
    ),
    "xlnet": (_xlnet, "XLNet", {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32, "initializer_range": 0.4}),
}
"""A family's tokenizer, the prefix of its classes in transformers, and a small size."""


@cache
def fast_tokenizer(family: str) -> Any:
    tokenizer, names = FAMILIES[family][0]()
    return import_transformers().PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def build(family: str, *, seed: int = 0) -> Any:
    """Return a small random model of a family."""
    torch, transformers = import_torch(), import_transformers()
    _, prefix, sizes = FAMILIES[family]
    torch.manual_seed(seed)
    config = getattr(transformers, f"{prefix}Config")(vocab_size=len(fast_tokenizer(family)), **sizes)
    return getattr(transformers, f"{prefix}Model")(config).eval()


def save(family: str, folder: Path, *, seed: int = 0) -> Path:
    """Write a small random model and its tokenizer as the hub holds them."""
    build(family, seed=seed).save_pretrained(folder)
    fast_tokenizer(family).save_pretrained(folder)
    return folder
