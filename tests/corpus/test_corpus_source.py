"""A built corpus as a source of contexts, from the command line to a cell."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.contexts.sources import context_source
from harness.corpus.build import Settings, merge_corpora
from harness.corpus.manifest import SAMPLE, Manifest
from harness.errors import HarnessError
from harness.paths import conf_dir
from harness.stimuli import load_concept
from harness.stimuli.yaml_file import read_yaml
from tests.corpus.conftest import NAMES, WORDS

Cli = Callable[..., tuple[int, str, str]]
TEXT = "One two three four five rose, six seven eight nine ten. Of Will and of the short-term rose."


@pytest.fixture
def folder(made: Callable[..., Manifest], tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    made(tmp_path / "a.txt")
    return tmp_path / "corpora"


def source(folder: Path, **options: object):
    return context_source({"name": "corpus", "corpus": "own", "folder": str(folder), **options})


def test_contexts_have_the_window_that_is_asked_for(folder: Path) -> None:
    texts = {context.text for context in source(folder, window=4).contexts(WORDS, "rose")}
    assert texts == {"two three four five rose, six seven eight nine", "of the short-term rose."} - {
        "of the short-term rose."
    } | {"and of the short-term rose."}
    assert {c.text for c in source(folder, window=0).contexts(WORDS, "rose")} == set(
        TEXT.replace("ten. ", "ten.|").split("|")
    )
    assert all(context.stimulus == "rose" for context in source(folder).contexts(WORDS, "rose"))


def test_the_window_of_the_build_counts_unless_another_is_asked_for(
    made: Callable[..., Manifest], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    made(tmp_path / "a.txt", settings=Settings(window=1))
    shipped = read_yaml(conf_dir() / "context" / "corpus.yaml")
    config = shipped | {"corpus": "own", "folder": str(tmp_path / "corpora")}
    texts = {context.text for context in context_source(config).contexts(WORDS, "rose")}
    assert texts == {"five rose, six", "short-term rose."}
    texts = {context.text for context in context_source(config | {"window": 2}).contexts(WORDS, "rose")}
    assert texts == {"four five rose, six seven", "the short-term rose."}


def test_fewer_contexts_are_the_first_of_more(folder: Path) -> None:
    assert source(folder, contexts=1).contexts(WORDS, "rose") == source(folder).contexts(WORDS, "rose")[:1]


def test_a_name_and_a_word_are_looked_up_by_their_own_rule(folder: Path) -> None:
    own = source(folder)
    assert [context.stimulus for context in own.contexts(NAMES, "Will")] == ["Will"]
    assert [context.stimulus for context in own.contexts(WORDS, "short-term")] == ["short-term"]
    assert own.contexts(WORDS, "NASA") == ()
    assert own.contexts(WORDS, "rose") is own.contexts(WORDS, "rose")


def test_a_word_that_was_not_searched_is_named(folder: Path) -> None:
    with pytest.raises(HarnessError, match="not searched for 'aster'"):
        source(folder).contexts(load_concept("caliskan2017/flowers"), "aster")


def test_a_rebuilt_corpus_is_seen_and_identified_anew(
    folder: Path, made: Callable[..., Manifest], tmp_path: Path
) -> None:
    before = source(folder)
    (tmp_path / "a.txt").write_text("Another rose.", encoding="utf-8")
    manifest = made(tmp_path / "a.txt")
    after = source(folder)
    assert before.identity != after.identity == manifest.digest
    assert [context.text for context in after.contexts(WORDS, "rose")] == ["Another rose."]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"corpus": None}, "has no corpus"),
        ({"corpus": "onw"}, "Did you mean own"),
        ({"window": -1}, "context.window=-1"),
        ({"contexts": 0}, "context.contexts=0"),
    ],
)
def test_mistakes_are_sentences(folder: Path, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(HarnessError, match=complaint):
        source(folder, **options)


def test_the_command_line_builds_merges_lists_and_reports(cli: Cli, tmp_path: Path, runs: Path) -> None:
    for number in (0, 1):
        rows = [{"id": f"{number}-{n}", "body": f"The rose is {number}{n} pleasant gifts."} for n in range(20)]
        dump = tmp_path / f"{number}.ndjson"
        dump.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + "{broken\n", encoding="utf-8")
        status, out, _ = cli("corpus", "build", f"s{number}", "--source", dump, "--runs", runs, "--k", 30)
        assert status == 0
        assert "20 documents" in out
        assert "broken JSON: 1 record skipped" in out
    unread = tmp_path / "dumps" / "RC_2014-01"
    unread.parent.mkdir()
    for name in (unread, unread.with_suffix(".ndjson")):
        name.write_text('{"body": "a rose"}', encoding="utf-8")
    out = cli("corpus", "build", "folder", "--source", unread.parent, "--runs", runs)[1]
    assert f"1 not read, because the ending tells no format ({unread})" in out
    whole = cli("corpus", "build", "whole", "--source", *tmp_path.glob("*.ndjson"), "--runs", runs, "--k", 30)
    assert whole[0] == 0
    assert cli("corpus", "merge", "both", "s0", "s1", "--runs", runs)[0] == 0
    both, unsplit = (Manifest.load(runs / "corpora" / name) for name in ("both", "whole"))
    assert both.digest == unsplit.digest
    assert "both" in cli("corpus", "ls", "--runs", runs)[1]
    status, out, _ = cli("corpus", "report", "both", "--runs", runs, "--test", "c1", "--needed", 10)
    assert status == 0
    assert "none: aster, clover" in out
    table = cli("corpus", "report", "both", "--runs", runs, "--format", "csv")[1]
    assert "rose,False,40,30" in table.splitlines()
    report = json.loads(cli("corpus", "report", "both", "--runs", runs, "--format", "json")[1])
    assert report["documents"] == unsplit.tally.documents > 0
    assert {"stimulus": "rose", "cased": False, "found": 40, "kept": 30} in report["stimuli"]
    assert report["skipped"] == unsplit.tally.skipped.as_json()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["build", "mine"], "--source PATH"),
        (["build", "a/b", "--source", "x"], "cannot be the name"),
        (["build", "mine", "--source", "x", "--encoding", "utf-16"], "UTF-8"),
        (["build", "mine", "--source", "x", "--encoding", "klingon"], "no such encoding"),
        (["build", "mine", "--source", "absent.zst"], "no such file"),
        (["report", "mine"], "There is no corpus 'mine'"),
        (["report", "mine"], "`harness corpus build mine` makes one; any but reddit-wsb and gutenberg needs --source"),
    ],
)
def test_mistakes_at_the_keyboard(arguments: list[str], complaint: str, cli: Cli, runs: Path) -> None:
    status, _, err = cli("corpus", *arguments, "--runs", runs)
    assert status == 2
    assert complaint in err


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from harness.corpus.matcher import Matcher

    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    with pytest.raises(HarnessError, match=r"pip install 'eat-harness\[corpus\]'"):
        Matcher(())


def _cut(sample: Path) -> None:
    sample.write_bytes(sample.read_bytes()[:-100])


def _flip(sample: Path) -> None:
    sample.write_bytes(sample.read_bytes().replace(b"seven", b"eleve"))


@pytest.mark.parametrize("harm", [Path.unlink, _cut, _flip], ids=["gone", "cut", "one word changed"])
@pytest.mark.parametrize("name", ["corpus", "pairs_corpus"])
def test_a_damaged_sample_is_named_and_never_read(harm: Callable[[Path], None], name: str, folder: Path) -> None:
    sample = folder / "own" / SAMPLE
    harm(sample)
    with pytest.raises(HarnessError, match=rf"{sample} .*build the corpus again"):
        context_source({"name": name, "corpus": "own", "folder": str(folder), "gap": 5, "window": 4})
    with pytest.raises(HarnessError, match="build the corpus again"):
        merge_corpora("all", [folder / "own"], folder)


def test_one_damaged_corpus_does_not_hide_the_others(folder: Path, cli: Cli) -> None:
    shutil.copytree(folder / "own", folder / "broken")
    (folder / "broken" / "manifest.json").write_text("{", encoding="utf-8")
    status, out, _ = cli("corpus", "ls", "--runs", folder.parent)
    broken, whole = out.splitlines()
    assert status == 0
    assert "broken" in broken and "is damaged" in broken
    assert whole.startswith("own") and "contexts" in whole
