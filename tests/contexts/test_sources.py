"""Every source gives texts with the span of the stimulus, and its identity is what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.contexts import Context, Contexts
from harness.contexts.sources import IntersectionalSource, context_source
from harness.contexts.texts import most_contexts, stimulus_contexts, texts_digest
from harness.errors import HarnessError
from harness.stimuli import Concept, load_concept, load_test

FLOWERS = load_concept("caliskan2017/flowers")
PLEASANT = load_concept("caliskan2017/pleasant")


def source(name: str, **options: Any) -> Any:
    return context_source({"name": name, **options})


def test_bare_is_the_stimulus_alone() -> None:
    assert source("bare").contexts(FLOWERS, "aster") == (Context("aster", 0, 5),)


def test_templates_agree_with_the_part_of_speech() -> None:
    texts = [context.text for context in source("templates", templates="seat").contexts(FLOWERS, "iris")]
    assert texts[:2] == ["This is an iris.", "That is an iris."]
    assert "These are irises." in texts
    assert source("templates", templates="seat").contexts(PLEASANT, "honest")[0].text == "This is honest."


def test_every_span_covers_the_stimulus_as_inflected() -> None:
    given = source("templates", templates="seat")
    test = load_test("h-dis")
    for concept in (test.X, test.A, FLOWERS):
        for word in concept.words:
            for context in given.contexts(concept, word):
                assert context.stimulus[:2].lower() == word[:2].lower()


def test_the_prompt_of_wolfe2024_has_its_article_rule_and_no_full_stop() -> None:
    prompt = source("prompt", templates="this_is")
    assert prompt.contexts(FLOWERS, "iris") == (Context("This is an iris", 11, 15),)
    assert prompt.contexts(PLEASANT, "love") == (Context("This is love", 8, 12),)


def test_a_sentence_of_ones_own() -> None:
    own = source("prompt", template="I saw {a word}!")
    assert own.contexts(FLOWERS, "iris") == (Context("I saw an iris!", 9, 13),)
    assert own.label == "prompt/I saw {a word}!"


def test_a_template_file_of_ones_own_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text('templates: ["Look, {a word}!", "No {word} here."]')
    before = source("templates", templates=str(path))
    assert [c.text for c in before.contexts(FLOWERS, "iris")] == ["Look, an iris!", "No iris here."]
    assert before.label == "templates/mine"
    path.write_text('templates: ["See, {a word}!"]')
    assert [c.text for c in source("templates", templates=str(path)).contexts(FLOWERS, "iris")] == ["See, an iris!"]


def test_number_and_article_are_options() -> None:
    plural = source("templates", templates="seat", number="plural").contexts(FLOWERS, "iris")
    assert len(plural) == 4
    assert all("irises" in context.text for context in plural)
    assert source("prompt", templates="this_is", article="fixed").contexts(FLOWERS, "iris")[0].text == "This is a iris"


def test_intersectional_sentences_are_those_of_omrani2023() -> None:
    twelve = source("intersectional", categories="omrani2023_twelve")
    assert isinstance(twelve, IntersectionalSource)
    person = Concept(name="person", words=("person",), part="person")
    texts = twelve.contexts(person, "person")
    assert len(texts) == len({context.text for context in texts}) == 4096
    assert texts[0].text == (
        "a young thin tall smart educated literate affluent white heterosexual christian cisgender male person"
    )
    assert {context.stimulus for context in texts} == {"person"}
    assert twelve.sentences("person")[0].context == texts[0]
    assert len(source("intersectional", categories="omrani2023_five", orders="all").contexts(person, "person")) == 3840


def test_the_same_object_is_given_each_time_so_that_its_digest_is_computed_once() -> None:
    given = source("templates", templates="seat")
    assert given.contexts(FLOWERS, "iris") is given.contexts(FLOWERS, "iris")
    assert source("templates", templates="seat") is given


def test_the_digest_follows_text_span_and_order() -> None:
    base = Contexts([Context("a rose", 2, 6), Context("roses", 0, 5)])
    assert Contexts(list(base)).digest == base.digest
    assert Contexts([Context("a rose", 2, 5), Context("roses", 0, 5)]).digest != base.digest
    assert Contexts(reversed(base)).digest != base.digest


def test_the_identity_follows_the_templates_and_the_part_of_speech_and_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text('templates: ["{word}"]')
    concepts = [FLOWERS, PLEASANT]
    bare = texts_digest(source("bare"), concepts)
    assert texts_digest(source("templates", templates=str(path)), concepts) == bare
    assert texts_digest(source("templates", templates="seat"), concepts) != bare
    seat = source("templates", templates="seat")
    as_mass = FLOWERS.model_copy(update={"part": "mass"})
    assert texts_digest(seat, [as_mass]) != texts_digest(seat, [FLOWERS])


def test_most_contexts_tells_whether_items_are_stimuli() -> None:
    assert most_contexts(source("bare"), [FLOWERS]) == 1
    assert most_contexts(source("templates", templates="seat"), [FLOWERS]) == 8


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"name": "templtes"}, "context=templtes: is one of .* Did you mean templates"),
        ({"name": "templates"}, "context=templates has no sentences: set context.templates"),
        ({"name": "templates", "templates": "saet"}, "no templates named 'saet'. Did you mean seat"),
        (
            {"name": "templates", "templates": "lpbs"},
            r"kind: 'pair' does not serve; templates with \{word\} are needed",
        ),
        ({"name": "prompt", "template": "no slot"}, r"context.template: 'no slot' must hold \{word\}"),
        ({"name": "templates", "templates": "seat", "number": "dual"}, "context.number=dual: is one of both"),
        ({"name": "intersectional"}, "has no categories"),
        ({"name": "intersectional", "categories": "omrani"}, "no categories named 'omrani'"),
    ],
)
def test_a_mistake_is_one_sentence(config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        context_source(config)


def test_images_have_no_texts() -> None:
    pictures = Concept(name="pictures", kind="images", words=("a.jpg", "b.jpg"), folder="pictures")
    with pytest.raises(HarnessError, match="pictures holds images"):
        stimulus_contexts(source("bare"), pictures, "a.jpg")
