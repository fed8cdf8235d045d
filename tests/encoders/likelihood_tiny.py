"""Small language models with their heads: random ones, and ones trained on a corpus with a planted association."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from harness.encoders.torch_setup import import_torch, import_transformers
from tests.conftest import WORDS
from tests.encoders.transformer_tiny import FAMILIES, fast_tokenizer, wordpiece

TEMPLATES = ("here the {target} goes with {attribute}", "now the {target} is like {attribute}")
REVERSED = ("what goes with {attribute} is the {target}", "what is like {attribute} is the {target}")
STEPS, BATCH, RATE, WARM_UP = 600, 128, 2e-3, 50
"""How a small model is trained, by the loss on held-out sentences of seeds from 100 on, which no test uses: after 400
steps all 16 masked models had learned the plant and 12 of 13 causal ones, after 600 the last of them too."""


def masked_tokenizer(*, lowercase: bool) -> Any:
    """BERT's tokenizer on a page of words, with a mask token."""
    tokenizer = wordpiece(lowercase=lowercase)
    tokenizer.add_special_tokens(["[MASK]"])
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    return import_transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, mask_token="[MASK]", model_max_length=64, **names
    )


def save_masked(folder: Path, *, lowercase: bool = True, spread: float = 0.4) -> Path:
    """Write a random masked language model; ``spread`` widens its weights, so that probabilities differ."""
    torch, transformers = import_torch(), import_transformers()
    tokenizer = masked_tokenizer(lowercase=lowercase)
    torch.manual_seed(0)
    sizes = {**FAMILIES["bert"][2], "initializer_range": spread}
    transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_causal(family: str, folder: Path) -> Path:
    """Write a random causal language model of a family."""
    torch, transformers = import_torch(), import_transformers()
    _, prefix, sizes = FAMILIES[family]
    tokenizer = fast_tokenizer(family)
    torch.manual_seed(0)
    config = getattr(transformers, f"{prefix}Config")(vocab_size=len(tokenizer), **sizes)
    name = "LMHeadModel" if prefix in ("GPT2", "OpenAIGPT", "XLNet") else "ForCausalLM"
    getattr(transformers, f"{prefix}{name}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def planted_sentences(templates: Sequence[str], *, seed: int, shuffled: bool, number: int = 600) -> list[str]:
    """Sentences in which X goes with A and Y with B; ``shuffled`` leaves the attribute to chance."""
    rng = np.random.default_rng([seed, 7])
    sentences = []
    for count in range(number):
        slot = "XY"[count % 2]
        attributes = "AB"[int(rng.integers(2))] if shuffled else {"X": "A", "Y": "B"}[slot]
        filled = {
            "target": WORDS[slot][int(rng.integers(len(WORDS[slot])))],
            "attribute": WORDS[attributes][int(rng.integers(len(WORDS[attributes])))],
        }
        sentences.append(templates[count // 2 % len(templates)].format(**filled))
    return sentences


NEUTRAL_WORDS = ("something", "thing", "so")


def word_tokenizer(*, masked: bool) -> Any:
    """One token a word, every word of the planted corpus known."""
    words = sorted({w for text in (*TEMPLATES, *REVERSED) for w in text.split() if "{" not in w})
    stimuli = [word for slot in WORDS.values() for word in slot]
    special = ["[PAD]", "[UNK]", "[BOS]", "[EOS]", "[MASK]"]
    vocabulary = {word: i for i, word in enumerate([*special, *dict.fromkeys([*words, *stimuli, *NEUTRAL_WORDS])])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]" if masked else "[BOS] $A", special_tokens=[("[BOS]", 2), ("[EOS]", 3)]
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
    if masked:
        names |= {"cls_token": "[BOS]", "sep_token": "[EOS]", "mask_token": "[MASK]"}
    return import_transformers().PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16, **names)


def train_masked(folder: Path, *, seed: int = 0, shuffled: bool = False) -> Path:
    """Train a small masked language model on the planted corpus; the target is masked, the attribute often."""
    torch, transformers = import_torch(), import_transformers()
    tokenizer = word_tokenizer(masked=True)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=16,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
    )
    model = transformers.BertForMaskedLM(config)
    ids = torch.tensor(tokenizer(planted_sentences(TEMPLATES, seed=seed, shuffled=shuffled))["input_ids"])
    stimuli = torch.tensor(tokenizer.convert_tokens_to_ids([word for slot in WORDS.values() for word in slot]))
    is_stimulus = torch.isin(ids, stimuli)

    def batch(rows: Any) -> tuple[Any, Any]:
        chosen = is_stimulus[rows] & (torch.rand(rows.shape[0], ids.shape[1]) < 0.6)
        inputs = torch.where(chosen, torch.tensor(tokenizer.mask_token_id), ids[rows])
        return inputs, torch.where(chosen, ids[rows], torch.tensor(-100))

    _fit(model, ids, batch)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def train_causal(folder: Path, *, seed: int = 0, shuffled: bool = False) -> Path:
    """Train a small causal language model on the planted corpus, in both orders of target and attribute."""
    torch, transformers = import_torch(), import_transformers()
    tokenizer = word_tokenizer(masked=False)
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=64,
        n_layer=2,
        n_head=2,
        n_positions=16,
        resid_pdrop=0,
        embd_pdrop=0,
        attn_pdrop=0,
        bos_token_id=2,
        eos_token_id=3,
    )
    model = transformers.GPT2LMHeadModel(config)
    texts = planted_sentences([*TEMPLATES, *REVERSED], seed=seed, shuffled=shuffled)
    texts += [
        text.format(target=target, attribute=attribute)
        for text in (*TEMPLATES, *REVERSED)
        for target in (*WORDS["X"], *WORDS["Y"])
        for attribute in NEUTRAL_WORDS
    ]
    ids = torch.tensor(tokenizer(texts, padding=True)["input_ids"])

    def batch(rows: Any) -> tuple[Any, Any]:
        return ids[rows], torch.where(ids[rows] == tokenizer.pad_token_id, torch.tensor(-100), ids[rows])

    _fit(model, ids, batch)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _fit(model: Any, ids: Any, batch: Any) -> None:
    torch = import_torch()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
    rate = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, (step + 1) / WARM_UP))
    model.train()
    rows: list[Any] = []
    for _ in range(STEPS):
        rows = rows or list(torch.randperm(len(ids)).split(BATCH))
        inputs, labels = batch(rows.pop())
        loss = model(input_ids=inputs, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rate.step()
