"""Masked models: probabilities at masks that the span places, each masked text read once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.contexts import PairContext
from harness.encoders.likelihood import open_scorer
from harness.encoders.likelihood.masked import masked_request
from harness.encoders.likelihood.sentences import TokenPair
from harness.encoders.torch_setup import import_torch, import_transformers
from harness.errors import HarnessError
from harness.stimuli import AssociationTest, load_test
from tests.benchmarks.bench_lpbs import count_passes, random_bert, watched
from tests.encoders.likelihood_tiny import save_masked

TARGETS = ("he", "rose", "Michael", "José", "theatrerose", "otherheather")
ATTRIBUTES = ("male", "illiteratenurse", "hello")


def pair(target: str, attribute: str, template: str = "they said {} saw the {} there.") -> PairContext:
    before, between, after = template.split("{}")
    start = len(before)
    second = start + len(target) + len(between)
    return PairContext(
        f"{before}{target}{between}{attribute}{after}", start, start + len(target), second, second + len(attribute)
    )


PAIRS = [pair(target, attribute) for attribute in ATTRIBUTES for target in TARGETS]


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_masked(tmp_path_factory.mktemp("masked"), lowercase=request.param)


def scorer(folder: Path, **options: Any) -> Any:
    return open_scorer({"name": "tiny", "path": str(folder)}, cache=folder.parent / "cache", **options)


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    transformers = import_transformers()
    return (
        transformers.AutoTokenizer.from_pretrained(folder),
        transformers.AutoModelForMaskedLM.from_pretrained(folder).eval(),
    )


def masked_text(tokenizer: Any, sentence: PairContext, *, prior: bool, how: str = "masks") -> tuple[Any, Any, Any]:
    """The published procedure: write masks into the text; its tokens, the places to read, the pieces to read there."""
    pieces = tokenizer(sentence.target.stimulus, add_special_tokens=False)["input_ids"]
    read = pieces[:1] if how == "first" else pieces
    hidden = " ".join([tokenizer.mask_token] * (len(pieces) if how == "masks" else 1))
    beside = sentence.attribute.stimulus
    if prior:
        beside = " ".join([tokenizer.mask_token] * len(tokenizer(beside, add_special_tokens=False)["input_ids"]))
    text = sentence.text
    between, after = text[sentence.end : sentence.attribute_start], text[sentence.attribute_end :]
    ids = import_torch().tensor(tokenizer(f"{text[: sentence.start]}{hidden}{between}{beside}{after}")["input_ids"])
    masks = (ids == tokenizer.mask_token_id).nonzero().ravel()
    return ids[None], masks[: len(pieces)] if how == "masks" else masks[:1].repeat(len(read)), ids.new_tensor(read)


def at_masks(folder: Path, sentence: PairContext, *, prior: bool, how: str = "masks") -> tuple[Any, Any]:
    """The target's pieces, and what the model says at each one's mask, a sentence at a time."""
    tokenizer, model = loaded(folder)
    ids, places, pieces = masked_text(tokenizer, sentence, prior=prior, how=how)
    with import_torch().inference_mode():
        return pieces[:, None], model(input_ids=ids).logits[0, places]


def one_by_one(folder: Path, sentence: PairContext, *, prior: bool, how: str = "masks") -> float:
    pieces, logits = at_masks(folder, sentence, prior=prior, how=how)
    return float(logits.double().log_softmax(dim=-1).gather(1, pieces).sum())


@pytest.mark.parametrize("how", ["masks", "first", "product"])
@pytest.mark.parametrize("prior", [False, True])
def test_scores_agree_with_a_loop_over_single_sentences(folder: Path, prior: bool, how: str) -> None:
    found = scorer(folder, multi_token=how)
    tokens = found.tokens(PAIRS)
    for lengths in ({len(one.target) for one in tokens}, {len(one.attribute) for one in tokens}):
        assert len(lengths) > 1 and 1 in lengths
    expected = [one_by_one(folder, sentence, prior=prior, how=how) for sentence in PAIRS]
    assert found.score(PAIRS, prior=prior) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("prior", [False, True])
def test_scores_agree_with_minicons(folder: Path, prior: bool) -> None:
    torch, minicons = import_torch(), pytest.importorskip("minicons.scorer")
    tokenizer, model = loaded(folder)
    reference = minicons.MaskedLMScorer(model, device="cpu", tokenizer=tokenizer)
    expected = []
    for sentence in PAIRS:
        masked, places, pieces = masked_text(tokenizer, sentence, prior=prior)
        rows = masked.repeat(len(places), 1)
        one = (rows, torch.ones_like(rows), pieces, places)
        expected.append(float(sum(np.sum(values) for values in reference.compute_stats([one]))))
    assert scorer(folder).score(PAIRS, prior=prior) == pytest.approx(expected, abs=1e-5)


def test_a_whole_word_scored_by_minicons_alone_is_ours(folder: Path) -> None:
    minicons = pytest.importorskip("minicons.scorer")
    tokenizer, model = loaded(folder)
    # minicons calls it by a name that transformers 5 has given up.
    tokenizer.batch_encode_plus = tokenizer.__call__
    found = scorer(folder)
    single = [s for s, tokens in zip(PAIRS, found.tokens(PAIRS), strict=True) if len(tokens.target) == 1]
    places = [tokens.target[0] - 1 for tokens in found.tokens(single)]
    reference = minicons.MaskedLMScorer(model, device="cpu", tokenizer=tokenizer)
    scores = reference.token_score([sentence.text for sentence in single])
    expected = [float(one[place][1]) for one, place in zip(scores, places, strict=True)]
    assert found.score(single, prior=False) == pytest.approx(expected, abs=1e-5)


def test_the_span_decides_what_is_masked() -> None:
    sentence = TokenPair((9, 5, 6, 5, 7), (0,) * 5, target=(3,), attribute=(4,))
    assert masked_request(sentence, mask=1, prior=False).ids == (9, 5, 6, 1, 7)
    assert masked_request(sentence, mask=1, prior=True).ids == (9, 5, 6, 1, 1)


def test_he_is_masked_and_the_is_not(folder: Path) -> None:
    found = scorer(folder)
    tokenizer, _ = loaded(folder)
    sentence = pair("he", "theatre", "the other {} in the {} then.")
    request = masked_request(found.tokens([sentence])[0], mask=tokenizer.mask_token_id, prior=False)
    assert request.ids.count(tokenizer.mask_token_id) == len(found.tokens([sentence])[0].target)
    assert found.tokens([sentence])[0].target_ids == tuple(tokenizer("he", add_special_tokens=False)["input_ids"])


def test_options_for_a_word_of_several_pieces() -> None:
    sentence = TokenPair((2, 10, 11, 12, 20, 21, 3), (0,) * 7, target=(1, 2, 3), attribute=(4, 5))
    masks, first, product = (
        masked_request(sentence, mask=1, prior=True, multi_token=how) for how in ("masks", "first", "product")
    )
    assert masks.ids == (2, 1, 1, 1, 1, 1, 3) and masks.reads == ((1, 10), (2, 11), (3, 12))
    assert first.ids == product.ids == (2, 1, 1, 1, 3)
    assert first.reads == ((1, 10),) and product.reads == ((1, 10), (1, 11), (1, 12))


def test_targets_share_the_pass_of_a_masked_sentence(folder: Path) -> None:
    found = scorer(folder)
    tokens = found.tokens(PAIRS)
    tokenizer, _ = loaded(folder)
    distinct = {masked_request(one, mask=tokenizer.mask_token_id, prior=False).ids for one in tokens}
    with watched() as rows:
        found.score(PAIRS, prior=False)
    assert sum(rows) == found.passes == len(distinct) < len(PAIRS)


@pytest.fixture
def large_vocabulary(package: Callable[[str], str], tmp_path: Path) -> Path:
    """A small random model with the vocabulary of bert-base-uncased."""
    package("minilm-l6")
    random_bert(tmp_path, layers=1, hidden=64)
    return tmp_path


@pytest.mark.parametrize(("how", "passes_of_a_loop"), [("masks", 2), ("first", 1), ("product", 1)])
def test_full_c1_takes_at_most_a_twentieth_of_the_passes_of_a_loop(
    large_vocabulary: Path, how: str, passes_of_a_loop: int
) -> None:
    """A loop makes two for each target, attribute and sentence; one, if it shares every prior."""
    found = count_passes("c1", large_vocabulary, multi_token=how)
    sentences = (25 + 25) * (25 + 25) * 4
    assert all(one.asked == sentences and one.finite for one in found.values())
    assert 20 * sum(one.passes for one in found.values()) <= passes_of_a_loop * sentences


def test_a_product_that_underflows_has_a_finite_score(tmp_path: Path) -> None:
    folder = save_masked(tmp_path / "wide", spread=4.0)
    sentence = pair("Michaelheatherrosewoodilliteratesomeone", "male")
    found = scorer(folder)
    published, ours = [], []
    for prior in (False, True):
        pieces, logits = at_masks(folder, sentence, prior=prior)
        probabilities = logits.float().softmax(dim=-1).gather(1, pieces)
        published.append(probabilities.prod())
        ours.append(found.score([sentence], prior=prior)[0])
        assert ours[-1] == pytest.approx(one_by_one(folder, sentence, prior=prior), rel=1e-6)
    assert published == [0, 0] and (published[0] / published[1]).log().isnan()
    assert np.isfinite(ours).all() and np.isfinite(ours[0] - ours[1])


def test_a_model_without_a_head_is_named(tmp_path: Path) -> None:
    from tests.encoders.transformer_tiny import save

    with pytest.raises(HarnessError, match=r"tiny \(BertModel\) has no head that gives probabilities"):
        scorer(save("bert", tmp_path / "bare"))


def test_weights_without_the_head_that_the_config_names_are_refused(tmp_path: Path) -> None:
    folder = save_masked(tmp_path / "headless")
    import_transformers().AutoModel.from_pretrained(folder).save_pretrained(folder)
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**about, "architectures": ["BertForMaskedLM"]}))
    with pytest.raises(HarnessError, match=r"lack .* parameters of its masked language-model head"):
        scorer(folder).score(PAIRS[:1], prior=False)


def test_a_tokenizer_without_a_mask_token_is_refused(tmp_path: Path) -> None:
    folder = save_masked(tmp_path / "maskless")
    path = folder / "tokenizer_config.json"
    about = json.loads(path.read_text())
    about.pop("mask_token")
    path.write_text(json.dumps(about))
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    with pytest.raises(HarnessError, match="tokenizer of tiny has no mask token"):
        scorer(folder)


def test_a_word_without_any_known_piece_is_unknown(folder: Path) -> None:
    found = scorer(folder)
    strange, known = found.tokens([pair("雪雪", "male"), pair("rosewood", "male")])
    assert found.unknown(strange.target_ids)
    assert not found.unknown(known.target_ids)


def every_word() -> list[PairContext]:
    """Every target and every attribute of the word tests, each in a sentence."""
    names = ["h-dis", *(f"c{n}" for n in range(1, 11)), *(f"i{n}" for n in range(1, 5))]
    names += [f"h-{name}" for name in ("c1", "c3", "c6", "c9", "occ", "i1", "i2")]
    tests = [test for test in map(load_test, names) if isinstance(test, AssociationTest)]
    assert len(tests) == len(names)
    targets = sorted({word for test in tests for word in (*test.X.words, *test.Y.words)})
    attributes = sorted({word for test in tests for word in (*test.A.words, *test.B.words)})
    assert {"Shereen", "Latisha", "Yesenia"} <= set(targets)
    sentences = [pair(target, attributes[i % len(attributes)]) for i, target in enumerate(targets)]
    return sentences + [pair(targets[i % len(targets)], attribute) for i, attribute in enumerate(attributes)]


def assert_finite(folder: Path) -> None:
    for how in ("masks", "first", "product"):
        found = scorer(folder, multi_token=how)
        for prior in (False, True):
            scores = found.score(every_word(), prior=prior)
            assert np.isfinite(scores).all() and (scores < 0).all()


def test_every_word_of_every_test_has_a_finite_score(folder: Path) -> None:
    assert_finite(folder)


def test_every_word_of_every_test_has_a_finite_score_in_a_large_vocabulary(large_vocabulary: Path) -> None:
    assert_finite(large_vocabulary)
