"""The stimuli of husse2022 and omrani2023, and the lists of our own that stand in for what they do not print."""

from __future__ import annotations

import pytest

from harness.errors import HarnessError
from harness.stimuli import concept_names, load_concept, load_test, read_test
from harness.stimuli.adjectives import adjectives_of
from harness.stimuli.categories import CategorySet, load_category_set

SIZES = {  # X, Y, A, B of each variant: Table 1 of husse2022, with C9's eight attributes of appendix B.1
    ("h-c1", "names"): (25, 25, 25, 25),
    ("h-c1", "simplified"): (2, 2, 25, 25),
    ("h-c3", "names"): (32, 32, 25, 25),
    ("h-c3", "terms"): (15, 15, 25, 25),
    ("h-c3", "simplified"): (1, 1, 25, 25),
    ("h-c6", "names"): (8, 8, 8, 8),
    ("h-c6", "terms"): (8, 8, 8, 8),
    ("h-c6", "simplified"): (3, 3, 8, 8),
    ("h-c9", "names"): (14, 14, 8, 8),
    ("h-c9", "terms"): (6, 6, 8, 8),
    ("h-c9", "simplified"): (1, 1, 8, 8),
    ("h-occ", "names"): (26, 26, 20, 20),
    ("h-occ", "terms"): (8, 8, 20, 20),
    ("h-occ", "simplified"): (3, 3, 20, 20),
    ("h-i1", "names"): (12, 12, 13, 13),
    ("h-i1", "terms"): (45, 45, 13, 13),
    ("h-i2", "names"): (12, 12, 8, 8),
    ("h-i2", "terms"): (45, 45, 8, 8),
    ("h-dis", "terms"): (23, 23, 230, 230),
}
TESTS = sorted({name for name, _ in SIZES})
BASE = {"h-c9": "terms", "h-dis": "terms"}  # the variant that the published tables mean; names for the others
OWN_AND_HUSSE = [name for name in concept_names() if name.startswith(("husse2022/", "own/"))]


@pytest.mark.parametrize(("name", "target"), SIZES)
def test_each_variant_has_the_published_sizes(name: str, target: str) -> None:
    test = load_test(name, target=target)
    assert tuple(len(getattr(test, slot).words) for slot in "XYAB") == SIZES[name, target]


@pytest.mark.parametrize("name", TESTS)
def test_only_the_variants_that_the_paper_has_exist(name: str) -> None:
    variants = set(read_test(name)[0]["variants"]) - {"simplified_adjectives"}
    assert variants == {target for test, target in SIZES if test == name}


@pytest.mark.parametrize("name", TESTS)
def test_the_base_is_the_variant_of_the_published_tables(name: str) -> None:
    assert load_test(name) == load_test(name, target=BASE.get(name, "names"))


def test_a_missing_variant_is_one_sentence() -> None:
    with pytest.raises(HarnessError, match="h-c1 has no variant 'terms'"):
        load_test("h-c1", target="terms")


@pytest.mark.parametrize("name", OWN_AND_HUSSE)
def test_each_list_has_provenance_and_no_word_twice(name: str) -> None:
    concept = load_concept(name)
    assert concept.source is not None
    assert concept.source.paper in {"husse2022", "own"}
    assert concept.source.place
    assert concept.licence
    assert len(set(concept.words)) == len(concept.words)


@pytest.mark.parametrize(("name", "target"), SIZES)
def test_no_word_is_on_both_sides(name: str, target: str) -> None:
    test = load_test(name, target=target)
    assert not set(test.X.words) & set(test.Y.words)
    assert not set(test.A.words) & set(test.B.words)


def test_every_husse_concept_is_used_by_a_test() -> None:
    used = set()
    for name in TESTS:
        for target in read_test(name)[0]["variants"]:
            test = load_test(name, target=target)
            used |= {getattr(test, slot).name for slot in "XYAB"}
    assert set(OWN_AND_HUSSE) <= used


def test_misprints_are_corrected_and_kept() -> None:
    printed = {form: word for name in OWN_AND_HUSSE for word, form in load_concept(name).as_printed.items()}
    assert printed == {
        "KAtie": "Katie",
        "highstatus": "high-status",
        "shortterm": "short-term",
        "sucessful": "successful",
    }


def test_european_american_targets_stand_first_in_i1_and_i2() -> None:
    for name in ("h-i1", "h-i2"):
        husse, guo = load_test(name), load_test(name.removeprefix("h-"))
        assert (husse.X, husse.Y, husse.B) == (guo.Y, guo.X, guo.A)
        assert [w.lower() for w in husse.A.words] == [w.lower() for w in guo.B.words]


def test_intersectional_terms_are_the_c3_terms_times_three_nouns() -> None:
    race, both = load_test("h-c3", target="terms"), load_test("h-i1", target="terms")
    for slot, nouns in (("X", ("male", "man", "boy")), ("Y", ("female", "woman", "girl"))):
        expected = {f"{term} {noun}" for term in getattr(race, slot).words for noun in nouns}
        assert set(getattr(both, slot).words) == expected
    printed = ["Polish American male", "Spanish American man", "Bosnian American boy"]
    assert set(printed) <= set(both.X.words)
    assert {"Cape Verdean American woman", "South African American girl"} <= set(both.Y.words)


def test_simplified_targets_are_those_of_kurita() -> None:
    simplified = {name: load_test(name, target="simplified") for name in ("h-c1", "h-c3", "h-c6", "h-c9", "h-occ")}
    assert {name: (test.X.words, test.Y.words) for name, test in simplified.items()} == {
        "h-c1": (("flower", "flowers"), ("insect", "insects")),
        "h-c3": (("white",), ("black",)),
        "h-c6": (("he", "men", "boys"), ("she", "women", "girls")),
        "h-c9": (("mental",), ("physical",)),
        "h-occ": (("he", "men", "boys"), ("she", "women", "girls")),
    }


def test_our_traits_begin_with_the_printed_ones_and_are_single_words() -> None:
    dis = load_test("h-dis")
    assert dis.A.words[:10] == (
        *("optimistic", "active", "adaptable", "protective", "genuine"),
        *("vivacious", "resourceful", "helpful", "masculine", "youthful"),
    )
    assert dis.B.words[:10] == (
        *("contradictory", "envious", "conformist", "frightening", "experimental"),
        *("gullible", "careless", "impulsive", "maternal", "boyish"),
    )
    assert all(word.isalpha() and word.islower() for word in dis.A.words + dis.B.words)
    assert dis.A.source is not None
    assert dis.A.source.paper == "own"


@pytest.mark.parametrize("name", ["h-c1", "h-c3", "h-c6", "h-c9"])
def test_stored_adjectives_are_what_the_lexicon_makes_of_the_nouns(name: str) -> None:
    nouns, adjectives = load_test(name, target="simplified"), load_test(name, target="simplified_adjectives")
    for slot in "AB":
        assert adjectives_of(getattr(nouns, slot)).words == getattr(adjectives, slot).words
    assert len(adjectives.A.words) == len(adjectives.B.words)


def test_words_without_an_adjective_are_named() -> None:
    made = adjectives_of(load_concept("caliskan2017/pleasant"))
    assert made.dropped == ("diamond", "rainbow", "diploma", "sunrise", "laughter", "vacation")
    assert len(made.words) + len(made.dropped) == 25
    assert "lovable" in made.words  # husse2022's example: The spider is lovable


TWELVE = load_category_set("omrani2023_twelve")
FIVE = load_category_set("omrani2023_five")


def test_the_first_of_the_4096_sentences_is_the_one_of_table_1() -> None:
    sentences = TWELVE.combinations()
    assert len({sentence.context.text for sentence in sentences}) == 4096
    assert sentences[0].context.text == (
        "a young thin tall smart educated literate affluent white heterosexual christian cisgender male person"
    )
    assert {sentence.context.stimulus for sentence in sentences} == {"person"}
    assert all(sentence.context.text.endswith(" person") for sentence in sentences)


@pytest.mark.parametrize("index", range(12))
@pytest.mark.parametrize("article", ["agree", "fixed"])
def test_matched_sentences_differ_in_one_word_and_each_side_has_2048(index: int, article: str) -> None:
    by_choice = {s.second: s.context.text.split() for s in TWELVE.combinations(article=article)}
    firsts = [second for second in by_choice if not second[index]]
    assert len(firsts) == 2048
    place = index + 1  # after the article
    category = TWELVE.categories[index]
    for second in firsts:
        one = by_choice[second]
        other = by_choice[(*second[:index], True, *second[index + 1 :])]
        differing = [i for i in range(14) if one[i] != other[i]]
        assert (one[place], other[place]) == (category.first, category.second)
        assert differing == ([0, 1] if article == "agree" and category.name == "age" else [place])


def test_frequency_ratios_are_those_of_table_1() -> None:
    assert [category.ratio for category in TWELVE.categories] == [
        *(0.59, 1.40, 0.12, 0.98, 1.70, 0.85),
        *(0.55, 1.30, 0.64, 14.36, 0.05, 0.98),
    ]


def test_five_categories_have_3840_sentences_and_each_term_stands_everywhere_equally_often() -> None:
    sentences = FIVE.permutations()
    texts = [sentence.context.text.split() for sentence in sentences]
    assert len({tuple(text) for text in texts}) == 3840
    assert ["a", "white", "female", "cisgender", "heterosexual", "christian", "person"] in texts
    for place in range(1, 6):
        for category in FIVE.categories:
            assert sum(text[place] == category.second for text in texts) == 384
    assert {c.name: (c.first, c.second, c.ratio) for c in FIVE.categories}.items() <= {
        c.name: (c.first, c.second, c.ratio) for c in TWELVE.categories
    }.items()


def test_another_order_of_the_twelve_moves_words_and_keeps_choices() -> None:
    order = list(reversed(range(12)))
    forward, backward = TWELVE.combinations()[5], TWELVE.combinations(order=order)[5]
    assert forward.second == backward.second
    assert forward.context.text.split()[1:13] == backward.context.text.split()[12:0:-1]


@pytest.mark.parametrize(
    ("order", "sentence"), [([0] * 12, "must name each index from 0 to 11 once"), ([0, 1], "must name each index")]
)
def test_an_order_that_is_no_permutation_is_refused(order: list[int], sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        TWELVE.combinations(order=order)


def test_too_many_categories_to_permute_are_refused() -> None:
    with pytest.raises(HarnessError, match="too many orders"):
        TWELVE.permutations()


def test_categories_with_a_term_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="the term young is given twice"):
        CategorySet.model_validate(
            {
                "name": "mine",
                "categories": [
                    {"name": "age", "first": "young", "second": "old"},
                    {"name": "years", "first": "aged", "second": "young"},
                ],
            }
        )


def test_an_unknown_set_of_categories_suggests_a_name() -> None:
    with pytest.raises(HarnessError, match="Did you mean omrani2023_five"):
        load_category_set("omrani2023_fife")
