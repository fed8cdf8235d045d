"""Random words are matched by frequency, and CEAT's p is measured where nothing is planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.audit.calibration import calibration
from harness.audit.calibration_section import calibration_section, texts_in_words
from harness.audit.frequency import Bands, Frequencies, load_frequencies, widened
from harness.audit.redraw import Pool, matched_in_words
from harness.audit.stored_pools import StoredPool, pools_in_words
from harness.audit.text_calibration import (
    EFFECT,
    LPBS_ITEM,
    LPBS_STIMULUS,
    PUBLISHED,
    SEAT_ITEM,
    SEAT_STIMULUS,
    STIMULUS,
    TextCalibration,
    calibrated,
    ceat_log10_p,
    seat_log10_p,
)
from harness.errors import HarnessError
from harness.result import Result
from tests.audit.multiverse import BASE, fingerprint

WORDS = [f"w{i}" for i in range(60)]
RANKED = Frequencies("a list", {word: float(i + 1) for i, word in enumerate(WORDS)})


def test_the_bundled_list_is_in_the_order_of_glove(runs: Path) -> None:
    found = load_frequencies("glove-6b", runs=runs)
    assert found is not None
    assert [found.rank(word) for word in ("the", "love", "Orchid", "no such word")] == [1.0, 781.0, 17293.0, None]


@pytest.mark.parametrize(
    "text", ["the\nrose\norchid\n", "orchid,3\nthe,900\nrose,20\n", "rose\t20\nthe\t900\norchid\t3\n"]
)
def test_a_list_of_ones_own_is_in_order_or_has_counts(tmp_path: Path, text: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(text)
    found = load_frequencies(str(path), runs=tmp_path)
    assert found is not None
    assert [found.rank(word) for word in ("the", "rose", "orchid")] == [1.0, 2.0, 3.0]


def test_a_list_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="neither glove-6b, corpus:NAME, none, nor a file"):
        load_frequencies(str(tmp_path / "absent"), runs=tmp_path)
    (tmp_path / "bad").write_text("a,b\nc,d\n")
    with pytest.raises(HarnessError, match="a word and its count"):
        load_frequencies(str(tmp_path / "bad"), runs=tmp_path)


def test_bands_hold_equally_many_words_and_one_is_for_words_without_a_rank() -> None:
    bands = Bands.of(WORDS, RANKED, 5)
    assert bands.counts([*WORDS, "unheard of"]) == (12, 12, 12, 12, 12, 1)


def test_every_set_keeps_its_bands_or_the_pair_does() -> None:
    """X of the most frequent words and Y of the rarest: by set it stays so, by pair they are dealt out."""
    pool = Pool(WORDS, frequencies=RANKED, bands=5)
    used = {"X": WORDS[:8], "Y": WORDS[-8:], "A": WORDS[20:24], "B": WORDS[24:28]}
    design = pool.design("m", used)
    assert design is not None
    rng, bands = np.random.default_rng(0), Bands.of(WORDS, RANKED, 5)
    mixed = False
    for _ in range(20):
        by_set = pool.draw(design, rng, matching="set")
        for slot, at in zip("XYAB", by_set, strict=True):
            assert bands.counts([WORDS[i] for i in at]) == bands.counts(used[slot])
        by_pair = pool.draw(design, rng, matching="pair")
        assert len(set(np.concatenate(by_pair).tolist())) == 24
        both = [WORDS[i] for i in np.concatenate(by_pair[:2])]
        assert bands.counts(both) == bands.counts([*used["X"], *used["Y"]])
        mixed |= bool((by_pair[0] > 30).any())
    assert mixed


def test_a_band_with_too_few_words_joins_its_neighbour() -> None:
    members = [np.arange(4), np.arange(4, 8), np.arange(8, 12)]
    assert widened([2, 2, 2], members) == [[0], [1], [2]]
    assert widened([6, 1, 2], members) == [[0, 1], [2]]
    assert widened([6, 6, 6], members) is None


def test_the_report_names_words_that_could_not_be_matched() -> None:
    pool = Pool([*WORDS, "rare one", "rare two"], frequencies=RANKED, bands=3)
    used = {"X": ["w0", "rare one"], "Y": ["w1", "w2"], "A": ["w3", "w4"], "B": ["w5", "w6"]}
    assert pool.design("m", used) is not None
    assert any("rare one" in line for line in matched_in_words([pool], RANKED, 3, 1))
    assert "not by frequency" in matched_in_words([pool], None, 3, 1)[0]


def test_pools_of_one_size_are_one_line_whatever_their_pooling() -> None:
    pool = Pool(WORDS, frequencies=None, bands=1)
    keys = [(model, "bare", "word", how, "last", "None") for model in ("b", "a") for how in ("mean", "first")]
    few = Pool(WORDS[:9], frequencies=None, bands=1)
    small = StoredPool(("a", "templates/seat", "word", "mean", "last", "None"), few, ())
    assert pools_in_words([*(StoredPool(key, pool, ()) for key in keys), small]) == [
        "0 names and 60 words that the sweep has encoded in their texts: bare (a and b)",
        "0 names and 9 words that the sweep has encoded in their texts: templates/seat (a)",
    ]


def null_sets(rng: np.random.Generator, *, words: int = 8, texts: int = 30, dim: int = 40) -> list[list[np.ndarray]]:
    """Blocks of words that have a direction of their own and noise in every text, and no association."""
    return [
        [rng.normal(size=dim) + rng.normal(size=(texts, dim)).astype(np.float64) for _ in range(words)]
        for _ in range(4)
    ]


@pytest.fixture(scope="module")
def on_nothing() -> TextCalibration:
    rng = np.random.default_rng(4)
    found: dict[str, list[float]] = {}
    for _ in range(120):
        sets = null_sets(rng)
        for name, value in {**ceat_log10_p(sets, samples=500, rng=rng), **seat_log10_p(sets, rng=rng)}.items():
            found.setdefault(name, []).append(value)
    return TextCalibration([calibrated(name, 1, values) for name, values in found.items()])


def test_ceat_finds_something_in_nearly_every_test_of_nothing_by_any_variance(on_nothing: TextCalibration) -> None:
    for name in (PUBLISHED, EFFECT):
        row = on_nothing.row(name)
        assert row is not None
        assert row.rates[0].low > 0.6
        assert row.rates[1].verdict == "too often"


def test_exchanging_whole_words_keeps_the_level(on_nothing: TextCalibration) -> None:
    for name in (STIMULUS, SEAT_STIMULUS):
        row = on_nothing.row(name)
        assert row is not None
        assert [one.verdict for one in row.rates] == ["nominal", "nominal"]


def test_exchanging_sentences_does_not(on_nothing: TextCalibration) -> None:
    row = on_nothing.row(SEAT_ITEM)
    assert row is not None
    assert row.rates[0].low > 0.3
    ceat_line, seat_line = texts_in_words(on_nothing)
    assert "with the published variance p is at most .05 in" in ceat_line
    assert "exchanging sentences finds something" in seat_line


def lpbs_cell(seed: int, *, by_word: float, words: int = 8, sentences: int = 12) -> Result:
    """A cell of LPBS whose attributes have scores of their own, and noise in every sentence."""
    rng = np.random.default_rng(seed)
    own = by_word * rng.normal(size=(2 * words, 1))
    items = own + rng.normal(size=(2 * words, sentences))
    rows = [
        {"set": "AB"[i >= words], "word": f"w{i}", "bs": float(row.mean()), "items": row.tolist()}
        for i, row in enumerate(items)
    ]
    factors = {**BASE, "method": "lpbs", "association": "probability", "seed": seed}
    return Result(fingerprint(factors), "finished", {}, factors, {"d": 0.0}, tables={"attribute_scores": rows})


@pytest.mark.parametrize("vectors", [True, False])
def test_lpbs_by_sentence_finds_what_words_have_of_their_own(runs: Path, vectors: bool) -> None:
    apart = calibration([lpbs_cell(i, by_word=1.0) for i in range(4)], runs=runs, draws=400, vectors=vectors)
    alike = calibration([lpbs_cell(i, by_word=0.0) for i in range(4)], runs=runs, draws=400, vectors=vectors)
    items, words = (apart.texts.row(name) for name in (LPBS_ITEM, LPBS_STIMULUS))
    assert items is not None and words is not None
    assert items.draws == words.draws == 400
    assert items.rates[0].low > 0.3
    assert [one.verdict for one in words.rates] == ["nominal", "nominal"]
    assert alike.texts.row(LPBS_ITEM).rates[0].verdict == "nominal"  # type: ignore[union-attr]
    assert apart.left_out == []
    assert "LPBS, sentences exchanged, as published" in calibration_section(apart, {})
