"""Sentences with slots: agreement, spans, sizes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contexts import Context, PairContext
from harness.errors import HarnessError
from harness.paths import stimuli_dir
from harness.stimuli import concept_names, load_concept, load_test, read_test
from harness.stimuli import test_names as names_of_tests
from harness.stimuli.grammar import article, load_grammar, part_of, plural
from harness.stimuli.render import render
from harness.stimuli.schema import Concept
from harness.stimuli.templates import (
    PairTemplateSet,
    TemplateSet,
    load_pair_templates,
    load_template_set,
)

SEAT = load_template_set("seat")
LPBS = load_pair_templates("lpbs")
CONCEPTS = [c for c in map(load_concept, concept_names()) if c.kind != "images"]
SHIPPED = sorted(path.stem for path in (stimuli_dir() / "templates").glob("*.yaml"))
ASSOCIATIONS = [name for name in names_of_tests() if "X" in read_test(name)[0]]


def filled(templates: TemplateSet, concept: Concept) -> dict[str, tuple[Context, ...]]:
    """Return the sentences of each word of a concept."""
    return {word: templates.fill(word, part=part_of(word, concept), concept=concept.name) for word in concept.words}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[
            (word, "an")
            for word in ("ant", "hour", "honest", "honor", "heir", "heiress", "unintelligent", "unimportant")
        ],
        *[(word, "an") for word in ("ugly", "uncle", "umbrella", "old", "onerous", "MRI", "X-ray", "Irish American")],
        *[(word, "a") for word in ("unicorn", "university", "uniform", "ukulele", "usual", "one-armed", "once", "ewe")],
        *[(word, "a") for word in ("European American", "Ukrainian American", "home", "hornet", "NASA", "ceo", "CEO")],
        *[(word, "a") for word in ("unanimous", "useful", "young", "eulogy", "yellow", "United", "h")],
    ],
)
def test_the_article_follows_the_sound(word: str, expected: str) -> None:
    assert article(word) == expected


# Every noun of the stimuli that takes *an*; the others take *a*.
TAKES_AN = {
    "accident", "accountant", "administrator", "advisor", "allergy", "analyst", "ant", "appraiser", "architect",
    "arrow", "assault", "assistant", "aster", "attendant", "auditor", "aunt", "axe", "azalea", "editor", "educator",
    "electrician", "engineer", "examiner", "executive", "experiment", "honor", "illegal-immigrant", "illness",
    "infection", "insect", "inspector", "instructor", "investigator", "iris", "oboe", "office", "officer", "orchid",
    "uncle",
}  # fmt: skip
AN_NATIONS = ("African", "Albanian", "Egyptian", "Eritrean", "Ethiopian", "Irish", "Italian")


def _count_nouns() -> set[str]:
    return {w for c in CONCEPTS for w in c.words if part_of(w, c) in {"thing", "person"}}


def test_the_article_is_right_for_every_count_noun_of_the_stimuli() -> None:
    nouns = _count_nouns()
    wrong = {noun for noun in nouns if (article(noun) == "an") != (noun in TAKES_AN or noun.split()[0] in AN_NATIONS)}
    assert not wrong
    assert nouns >= TAKES_AN


# Every plural of the stimuli's nouns that is not the noun and an s.
PLURALS = {
    "allergy": "allergies", "blackfly": "blackflies", "business": "businesses", "caress": "caresses",
    "child": "children", "cockroach": "cockroaches", "crash": "crashes", "crocus": "crocuses", "daisy": "daisies",
    "dragonfly": "dragonflies", "family": "families", "fly": "flies", "horsefly": "horseflies",
    "illness": "illnesses", "iris": "irises", "knife": "knives", "lily": "lilies", "man": "men",
    "mosquito": "mosquitoes", "pansy": "pansies", "peony": "peonies", "poppy": "poppies", "roach": "roaches",
    "salary": "salaries", "salesperson": "salespeople", "secretary": "secretaries", "symphony": "symphonies",
    "tragedy": "tragedies", "virus": "viruses", "woman": "women",
}  # fmt: skip


def test_the_plural_is_right_for_every_count_noun_of_the_stimuli() -> None:
    for noun in _count_nouns():
        head, _, last = noun.rpartition(" ")
        assert plural(noun) == f"{head} {PLURALS.get(last, last + 's')}".strip()


@pytest.mark.parametrize(
    ("noun", "expected"),
    [("box", "boxes"), ("toy", "toys"), ("banjo", "banjos"), ("fixer-upper", "fixer-uppers"), ("odd-", "odd-s")],
)
def test_plurals_of_other_nouns(noun: str, expected: str) -> None:
    assert plural(noun) == expected


def test_a_concept_overrules_the_lexicon() -> None:
    plain = Concept(name="mine", words=("love", "tulip"))
    stated = Concept(name="mine", words=("love", "tulip"), part="verb", parts={"tulip": "mass"})
    assert [part_of(word, plain) for word in plain.words] == ["mass", "thing"]
    assert [part_of(word, stated) for word in stated.words] == ["verb", "mass"]
    assert part_of("Adam", load_concept("caliskan2017/european_american_names_32")) == "name"


def test_every_part_that_a_concept_states_is_known() -> None:
    known = set(load_grammar().parts)
    assert {part for c in CONCEPTS for part in (c.part, *c.parts.values()) if part} <= known
    assert set(SEAT.parts) == known
    assert set(LPBS.subjects) == known - {"time", "verb"}


def test_seat_sentences_agree() -> None:
    def texts(word: str, part: str) -> list[str]:
        return [context.text for context in SEAT.fill(word, part=part)]

    assert texts("ant", "thing")[:5] == [
        *("This is an ant.", "That is an ant.", "Here is an ant.", "The ant is here."),
        "These are ants.",
    ]
    assert texts("Yvette", "name")[:3] == ["This is Yvette.", "That is Yvette.", "Here is Yvette."]
    assert texts("honest", "adjective")[0] == "This is honest."
    assert texts("woman", "person")[5:7] == ["Those are women.", "The people are women."]
    assert texts("forever", "time")[0] == "This is forever here."


@pytest.mark.parametrize("concept", CONCEPTS, ids=lambda concept: concept.name)
def test_every_stimulus_fills_eight_different_sentences_with_its_span(concept: Concept) -> None:
    for word, contexts in filled(SEAT, concept).items():
        assert len({context.text for context in contexts}) == 8
        for context in contexts:
            assert context.stimulus in {word, plural(word)}
            assert (context.text[: context.start] or " ")[-1] == " "
            assert context.text[context.end] in " ."


def test_only_names_begin_a_sentence() -> None:
    for concept in CONCEPTS:
        for word, contexts in filled(SEAT, concept).items():
            if part_of(word, concept) != "name":
                assert all(context.start > 0 for context in contexts)


@pytest.mark.parametrize(
    ("number", "expected"), [("singular", {"ant"}), ("plural", {"ants"}), ("both", {"ant", "ants"})]
)
def test_number_chooses_sentences_of_a_count_noun(number: str, expected: set[str]) -> None:
    assert {context.stimulus for context in SEAT.fill("ant", number=number)} == expected


def test_a_word_given_in_the_plural_keeps_it() -> None:
    contexts = SEAT.fill("parents", part="things", number="singular")
    assert {context.stimulus for context in contexts} == {"parents"}
    assert len(contexts) == 8


@pytest.mark.parametrize("name", ASSOCIATIONS)
def test_lpbs_has_four_sentences_for_every_target_and_attribute(name: str) -> None:
    for target in (None, *(read_test(name)[0].get("variants") or {})):
        test = load_test(name, target=target)
        if "images" in {getattr(test, slot).kind for slot in "XYAB"}:
            continue
        targets = {part_of(w, c): w for c in (test.X, test.Y) for w in c.words}
        attributes = {part_of(w, c): w for c in (test.A, test.B) for w in c.words}
        for (target_part, x), (attribute_part, a) in product(targets.items(), attributes.items()):
            contexts = LPBS.fill(x, a, target_part=target_part, attribute_part=attribute_part)
            assert len(contexts) == 4
            assert {context.target.stimulus for context in contexts} == {x}
            assert {context.attribute.stimulus for context in contexts} <= {a, plural(a)}
            assert all(context.start > 0 for context in contexts)


@pytest.mark.parametrize(
    ("target", "target_part", "attribute", "attribute_part", "sentence"),
    [
        ("spider", "thing", "lovable", "adjective", "Here the spider is lovable."),
        ("insects", "things", "diploma", "thing", "Here the insects go with diplomas."),
        ("Amy", "name", "analyst", "person", "Here Amy is an analyst."),
        ("boys", "persons", "salesperson", "person", "Here the boys are salespeople."),
        ("white", "person_adjective", "kill", "verb", "Here the white person can kill."),
        ("cancer", "mass", "always", "time", "Here cancer is always with us."),
        ("the deaf", "phrase_plural", "gullible", "adjective", "Here the deaf are gullible."),
        ("poetry", "mass", "hers", "possessive", "Here poetry is hers."),
    ],
)
def test_lpbs_sentences_agree(
    target: str, target_part: str, attribute: str, attribute_part: str, sentence: str
) -> None:
    contexts = LPBS.fill(target, attribute, target_part=target_part, attribute_part=attribute_part)
    assert contexts[0].text == sentence


def test_what_surrounds_a_target_is_the_same_for_all_targets_of_a_kind() -> None:
    def around(word: str) -> list[str]:
        contexts = LPBS.fill(word, "lovable", target_part="thing", attribute_part="adjective")
        return [c.text[: c.start] + "…" + c.text[c.end :] for c in contexts]

    assert around("ant") == around("tulip") == around("honor")


def test_wolfe_prompt_puts_an_article_before_the_targets_of_tests_1_and_2_only() -> None:
    prompt = load_template_set("this_is")
    for name in ("w1", "w2", "w3", "w6", "w7"):
        test = load_test(name)
        for slot in "XYAB":
            concept = getattr(test, slot)
            for word, (context,) in filled(prompt, concept).items():
                takes_article = name in {"w1", "w2"} and slot in "XY"
                assert context.text == f"This is {article(word) + ' ' if takes_article else ''}{word}"
                assert context.stimulus == word


def test_concepts_that_a_template_set_names_exist() -> None:
    assert set(load_template_set("this_is").concepts) <= set(concept_names())


def test_clip_prompts() -> None:
    assert load_template_set("brings_to_mind").fill("love", part="mass")[0].text == "a picture that brings to mind love"
    assert load_template_set("photo").fill("ant")[0].text == "a photo of an ant"
    assert load_template_set("photo").fill("love", part="mass")[0].text == "a photo of love"
    assert load_template_set("bare").fill("love", part="mass") == (Context("love", 0, 4),)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_set_loads_and_states_source_and_licence(name: str) -> None:
    kind = load_pair_templates if name.startswith("lpbs") else load_template_set
    templates = kind(name)
    assert templates.source is not None
    assert templates.licence
    assert templates.name == name


@given(st.text(min_size=1), st.sampled_from(["I saw {a word}.", "{word}", "é {plural word}"]))
def test_spans_hold_for_any_text(word: str, template: str) -> None:
    if not word.strip():
        return
    text, spans = render(template, {"word": word})
    start, end = spans["word"]
    assert text[start:end] == (plural(word) if "plural" in template else word)


def test_a_filler_with_braces_is_only_text() -> None:
    assert render("{word}!", {"word": "{a word}"}).text == "{a word}!"


def test_a_users_plain_list_serves_every_word(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("templates: ['I saw {a word}.', 'We like {plural word}.']\n", encoding="utf-8")
    contexts = load_template_set(path).fill("axe", part="whatever")
    assert [context.text for context in contexts] == ["I saw an axe.", "We like axes."]
    assert [context.stimulus for context in contexts] == ["axe", "axes"]


def test_a_users_plain_pair_list_serves_every_pair(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("kind: pair\ntemplates: ['{target} likes {attribute}.']\n", encoding="utf-8")
    assert load_pair_templates(path).fill("he", "the arts") == (PairContext("he likes the arts.", 0, 2, 9, 17),)


BAD_FILES = {
    "templates: ['no slot']": r"line 1: forms.any: 'no slot' must hold \{word\} exactly once",
    "templates: ['{word} {word}']": r"must hold \{word\} exactly once",
    "templates: ['{word} and {wrod}']": r"must hold \{word\} exactly once",
    "templates: ['{word']": "has a brace that is no slot",
    "templates: ['{word}', '{word}']": "a sentence is given twice",
    "templates: []": "forms.any",
    "templates: 7": "forms.any",
    "forms: {x: {size: 2, templates: ['{word}']}}\nparts: {any: [x]}": "size says 2, but there are 1 sentences",
    "forms: {x: {size: 1, templates: ['{word}']}}\nparts: {any: [y]}": "any names the form 'y'",
    "kind: pair\ntemplates: ['{target} {attribute}']": r"templates with \{word\} are needed",
}


@pytest.mark.parametrize("content", BAD_FILES)
def test_a_bad_template_file_is_one_sentence(content: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content + "\n", encoding="utf-8")
    with pytest.raises(HarnessError, match=BAD_FILES[content]) as caught:
        load_template_set(path)
    assert "mine.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_PAIRS = {
    "{target} only": "must hold {target} and {attribute} exactly once",
    "{a target} likes {attribute}": "must have {target} without a, an or plural",
}


@pytest.mark.parametrize("template", BAD_PAIRS)
def test_a_bad_pair_template_is_refused(template: str) -> None:
    with pytest.raises(ValueError) as caught:
        PairTemplateSet.model_validate({"name": "mine", "kind": "pair", "templates": [template]})
    assert BAD_PAIRS[template] in str(caught.value)


def test_a_part_without_sentences_is_one_sentence() -> None:
    with pytest.raises(HarnessError, match="seat have no sentences for 'swiftly' as 'adverb'"):
        SEAT.fill("swiftly", part="adverb")
    with pytest.raises(HarnessError, match="no subject for targets that are 'verb'"):
        LPBS.fill("kill", "love", target_part="verb")
    with pytest.raises(HarnessError, match="no predicate for attributes that are 'adverb'"):
        LPBS.fill("ant", "swiftly", attribute_part="adverb")


def test_an_unknown_set_suggests_a_name() -> None:
    with pytest.raises(HarnessError, match="Did you mean seat"):
        load_template_set("saet")


def test_a_users_folder_goes_before_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "bare.yaml").write_text("templates: ['<{word}>']\n", encoding="utf-8")
    assert load_template_set("bare", stimuli=tmp_path).fill("x")[0] == Context("<x>", 1, 2)


@pytest.mark.parametrize("span", [(0, 0), (2, 1), (-1, 2), (0, 4)])
def test_a_span_outside_the_text_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not lie in"):
        Context("ant", *span)


def test_overlapping_spans_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        PairContext("the ant", 0, 5, 4, 7)


def test_a_set_needs_forms_or_templates() -> None:
    with pytest.raises(ValueError, match="forms"):
        TemplateSet.model_validate({"name": "mine"})
