"""Causal models: the shared beginning of sentences is read once, and every sum is that of a plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contexts import PairContext
from harness.encoders.likelihood import network, open_scorer
from harness.encoders.likelihood.causal import causal_request
from harness.encoders.likelihood.sentences import TokenPair
from harness.encoders.torch_setup import import_torch, import_transformers
from harness.errors import HarnessError
from tests.encoders.likelihood_tiny import save_causal

FAMILIES = ("gpt2", "llama", "opt", "bloom", "gpt_neo", "gpt")
TARGETS = ("he", "Michael", "Aisha", "rose")
ATTRIBUTES = ("hello", "another test", "illiterate", "people")


def sentences() -> list[PairContext]:
    found = []
    for target in TARGETS:
        for attribute in ATTRIBUTES:
            text = f"they said {target} saw {attribute} there"
            start = len("they said ")
            second = start + len(target) + len(" saw ")
            found.append(PairContext(text, start, start + len(target), second, second + len(attribute)))
            text = f"the {attribute} then saw {target} there"
            start = len(f"the {attribute} then saw ")
            found.append(PairContext(text, start, start + len(target), 4, 4 + len(attribute)))
    return found


def scorer(folder: Path, **options: Any) -> Any:
    model = {"name": "tiny", "path": str(folder), "bos": options.pop("bos", "auto")}
    return open_scorer(model, cache=folder.parent / "cache", **options)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family: save_causal(family, tmp_path_factory.mktemp(family)) for family in FAMILIES}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("estimator", ["sentence", "left"])
def test_scores_agree_with_a_loop_over_single_sentences(folders: dict[str, Path], family: str, estimator: str) -> None:
    torch = import_torch()
    found = scorer(folders[family], causal=estimator)
    model = import_transformers().AutoModelForCausalLM.from_pretrained(folders[family]).eval()
    expected = []
    for tokens in found.tokens(sentences()):
        ids = torch.tensor([tokens.ids])
        with torch.inference_mode():
            logs = torch.log_softmax(model(input_ids=ids).logits[0].double(), dim=-1)
        places = tokens.target if estimator == "left" else range(1, len(tokens.ids))
        expected.append(float(sum(logs[place - 1, ids[0, place]] for place in places)))
    assert found.score(sentences(), prior=False) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("estimator", ["sentence", "left"])
def test_scores_agree_with_minicons(folders: dict[str, Path], family: str, estimator: str) -> None:
    torch, minicons = import_torch(), pytest.importorskip("minicons.scorer")
    transformers = import_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[family])
    model = transformers.AutoModelForCausalLM.from_pretrained(folders[family]).eval()
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    reference = minicons.IncrementalLMScorer(model, device="cpu", tokenizer=tokenizer)
    expected = []
    for sentence in sentences():
        found = tokenizer(sentence.text, return_offsets_mapping=True, add_special_tokens=False)
        places = [i for i, (a, b) in enumerate(found["offset_mapping"]) if a < sentence.end and b > sentence.start]
        read = torch.tensor([place - 1 for place in places]) if estimator == "left" else slice(None)
        total = reference.sequence_score([sentence.text], reduction=lambda values, read=read: values[read].sum().item())
        expected.append(total[0])
    ours = scorer(folders[family], causal=estimator, bos="none").score(sentences(), prior=False)
    assert ours == pytest.approx(expected, abs=1e-5)


def test_a_beginning_of_many_endings_is_read_once(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found = scorer(folders["gpt2"])
    requests = [causal_request(tokens, estimator="sentence") for tokens in found.tokens(sentences())]
    beginnings = {request.ids[: request.shared] for request in requests}
    endings = {request.ids for request in requests if len(request.ids) > request.shared}
    monkeypatch.setattr(network, "FEWEST_ENDINGS", 1)
    shared = found.score(sentences(), prior=False)
    assert found.passes == len(beginnings) + len(endings)
    monkeypatch.setattr(network, "FEWEST_ENDINGS", len(requests) + 1)
    alone = scorer(folders["gpt2"])
    assert alone.score(sentences(), prior=False) == pytest.approx(shared, abs=1e-5)
    assert alone.passes == len({request.ids for request in requests})


def test_the_left_context_of_whole_words_is_one_pass() -> None:
    one = causal_request(TokenPair((1, 5, 6, 7, 8), (0,) * 5, target=(3,), attribute=(1,)), estimator="left")
    two = causal_request(TokenPair((1, 5, 6, 9, 8), (0,) * 5, target=(3,), attribute=(1,)), estimator="left")
    assert one.ids == two.ids == (1, 5, 6)
    assert one.reads == ((2, 7),) and two.reads == ((2, 9),)


def test_a_target_that_nothing_precedes_has_no_probability() -> None:
    sentence = TokenPair((5, 6, 7), (0,) * 3, target=(0,), attribute=(2,))
    with pytest.raises(HarnessError, match="Nothing stands to the left of the target in 'he likes it'"):
        causal_request(sentence, estimator="left", text="he likes it")


def test_a_model_that_looks_ahead_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="tiny lets a word see what follows it"):
        scorer(save_causal("xlnet", tmp_path / "xlnet")).score(sentences()[:1], prior=False)
