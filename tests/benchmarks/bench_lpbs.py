"""LPBS: how many forward passes sharing saves, and how often a planted association is found in ten trained models.

Run with ``python -m tests.benchmarks.bench_lpbs``. The tokenizer is that of the package asset minilm-l6 (BERT's).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.assets import fetch
from harness.cell import slots
from harness.contexts import PairContext
from harness.contexts.pairs import every_pair
from harness.contexts.sources import context_source
from harness.encoders.likelihood import open_scorer
from harness.encoders.torch_setup import import_torch, import_transformers
from harness.methods.lpbs import Lpbs, lpbs, scores
from harness.options import LPBS_MULTI_TOKEN, StatsOptions
from harness.stimuli import Concept, load_test
from harness.stimuli.templates import PairTemplateSet
from tests.conftest import WORDS
from tests.encoders.likelihood_tiny import REVERSED, TEMPLATES, train_causal, train_masked

STATS = StatsOptions(ci_resamples=0)


@dataclass(frozen=True)
class Passes:
    """Scores of one kind that a test needs, the rows that went through the model for them, and in how many calls."""

    asked: int
    passes: int
    calls: int
    finite: bool
    seconds: float


def random_bert(folder: Path, *, layers: int, hidden: int) -> None:
    """Write a random masked model with the vocabulary of bert-base-uncased."""
    torch, transformers = import_torch(), import_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(fetch("minilm-l6"))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        intermediate_size=4 * hidden,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextmanager
def watched() -> Iterator[list[int]]:
    """Give the rows of every call of a masked model, as the model itself receives them."""
    module, network = import_torch().nn.modules.module, import_transformers().BertForMaskedLM
    rows: list[int] = []

    def seen(called: Any, _: Any, inputs: Mapping[str, Any], __: Any) -> None:
        if isinstance(called, network):
            rows.append(len(inputs["input_ids"]))

    handle = module.register_module_forward_hook(seen, with_kwargs=True)
    try:
        yield rows
    finally:
        handle.remove()


def count_passes(test: str, folder: Path, *, multi_token: str) -> dict[str, Passes]:
    """Score every sentence of a test, with the attribute in sight (``given``) and masked (``prior``)."""
    source = context_source({"name": "pairs", "templates": "lpbs"})
    pairs = [text for pair in every_pair(dict(slots(load_test(test)))) for text in source.pairs(*pair)]
    scorer = open_scorer({"name": "random", "path": str(folder)}, multi_token=multi_token, cache=folder / "cache")
    found: dict[str, Passes] = {}
    for kind in ("given", "prior"):
        start = time.perf_counter()
        with watched() as rows:
            finite = bool(np.isfinite(scorer.score(pairs, prior=kind == "prior")).all())
        found[kind] = Passes(len(pairs), sum(rows), len(rows), finite, time.perf_counter() - start)
    return found


def report_passes(test: str, *, multi_token: str, found: Mapping[str, Passes]) -> str:
    """Say how many passes sharing saves: a loop makes one a score, two for each target, attribute and template."""
    asked, passes, calls = (sum(getattr(one, key) for one in found.values()) for key in ("asked", "passes", "calls"))
    seconds, finite = sum(one.seconds for one in found.values()), all(one.finite for one in found.values())
    parts = ", ".join(f"{kind} {one.passes:,} ({one.asked / one.passes:.1f} times)" for kind, one in found.items())
    return (
        f"{test}, {multi_token:<8} {asked:,} scores of {asked // 2:,} sentences, {passes:,} forward passes in {calls} "
        f"calls and {seconds:.0f} s: {asked / passes:.1f} times fewer than one a score (20 asked), "
        f"{asked / 2 / passes:.1f} times fewer than one a sentence; {parts}; all finite: {finite}"
    )


def measure(folder: Path, templates: Sequence[str], *, causal: str = "sentence") -> Lpbs:
    """Measure the planted test on a trained model, by stimulus."""
    scorer = open_scorer({"name": "trained", "path": str(folder)}, causal=causal, cache=folder / "cache")
    concepts = {slot: Concept(name=slot.lower(), words=tuple(words)) for slot, words in WORDS.items()}
    written = PairTemplateSet.model_validate({"name": "planted", "kind": "pair", "templates": list(templates)})
    attributes = (*concepts["A"].words, *concepts["B"].words)

    def table(slot: str, *, prior: bool) -> np.ndarray:
        neutral = prior and scorer.head == "causal"
        texts: list[PairContext] = [
            written.fill(target, "something" if neutral else attribute)[number]
            for number in range(len(templates))
            for attribute in attributes
            for target in concepts[slot].words
        ]
        return scorer.score(texts, prior=prior).reshape(len(templates), len(attributes), -1)

    given, prior = ({slot: table(slot, prior=which) for slot in "XY"} for which in (False, True))
    bs = scores(given, prior, aggregate="ratio_of_sums")
    border = len(concepts["A"].words)
    return lpbs(bs[:, :border], bs[:, border:], by="stimulus", stats=STATS)


def seeds(train: Callable[..., Path], templates: Sequence[str], *, number: int, causal: str = "sentence") -> str:
    """Train models on planted and on shuffled corpora; say how often the association is found in each."""
    found: dict[bool, list[Lpbs]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(number):
            for shuffled in found:
                path = train(Path(folder) / f"{seed}-{shuffled}", seed=seed, shuffled=shuffled)
                found[shuffled].append(measure(path, templates, causal=causal))
    planted = sum(one.d > 0 and one.p.p < 0.01 for one in found[False])
    shuffled = sum(one.p.p < 0.05 for one in found[True])
    rates = f"p < .01 with the planted sign in {planted} of {number} (9 of 10 asked)"
    return f"{rates}, p < .05 when shuffled in {shuffled} (2 of 10 at most)"


def main(argv: Sequence[str] = ()) -> None:
    """Print passes and how often the plant is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", default="c1")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        random_bert(Path(folder), layers=options.layers, hidden=options.hidden)
        for how in LPBS_MULTI_TOKEN:
            found = count_passes(options.test, Path(folder), multi_token=how)
            print(report_passes(options.test, multi_token=how, found=found), flush=True)
    print(f"masked            {seeds(train_masked, TEMPLATES, number=options.seeds)}", flush=True)
    for causal, templates in (("sentence", TEMPLATES), ("left", REVERSED)):
        print(f"causal, {causal:<9} {seeds(train_causal, templates, number=options.seeds, causal=causal)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
