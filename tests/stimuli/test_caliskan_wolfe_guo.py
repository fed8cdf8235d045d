"""The stimuli of caliskan2017, wolfe2024 and guo2021 are what the papers print, and differ where they differ."""

from __future__ import annotations

import re
from itertools import combinations, product

import pytest

from harness import stimuli
from harness.stimuli import AssociationTest, DetectionTask, SingleTargetTest, load_concept

PAPERS = ("caliskan2017", "wolfe2024", "guo2021")
CALISKAN = [f"c{i}" for i in range(1, 11)]
WOLFE = [f"w{i}" for i in range(1, 11)]
GROUPS = {
    "AF": "african_american_females",
    "AM": "african_american_males",
    "EF": "european_american_females",
    "EM": "european_american_males",
    "MF": "mexican_american_females",
    "MM": "mexican_american_males",
}
TABLE_1_SIZES = {
    "c1": (25, 25),
    "c2": (25, 25),
    "c3": (32, 25),
    "c4": (16, 25),
    "c5": (16, 8),
    "c6": (8, 8),
    "c7": (8, 8),
    "c8": (8, 8),
    "c9": (6, 7),
    "c10": (8, 8),
}
"""Targets and attributes a set, N_T and N_A of caliskan2017's Table 1."""
RANDOM_CHANCE = {
    "females": 13.3,
    "males": 13.3,
    "african_americans": 12.2,
    "african_american_females_emergent": 9.2,
    "african_american_females_intersectional": 14.3,
    "african_american_males_emergent": 3.1,
    "african_american_males_intersectional": 13.3,
    "european_americans": 15.3,
    "european_american_females_emergent": 1.0,
    "european_american_females_intersectional": 14.3,
    "european_american_males_emergent": 3.1,
    "european_american_males_intersectional": 15.3,
    "mexican_americans": 14.3,
    "mexican_american_females_emergent": 6.1,
    "mexican_american_females_intersectional": 13.3,
    "mexican_american_males_emergent": 4.1,
    "mexican_american_males_intersectional": 15.3,
}
"""Per cent of the 98 words in each list, printed beside the 17 lists in guo2021's appendix."""


def association(name: str, target: str | None = None) -> AssociationTest:
    test = stimuli.load_test(name, target=target)
    assert isinstance(test, AssociationTest)
    return test


def single(name: str) -> SingleTargetTest:
    test = stimuli.load_test(name)
    assert isinstance(test, SingleTargetTest)
    return test


def detection() -> DetectionTask:
    test = stimuli.load_test("ibd")
    assert isinstance(test, DetectionTask)
    return test


def lists(test: AssociationTest) -> tuple[set[str], set[str], set[str], set[str]]:
    return set(test.X.words), set(test.Y.words), set(test.A.words), set(test.B.words)


def words(concept: str) -> set[str]:
    return set(load_concept(concept).words)


def concepts_of_papers() -> list[str]:
    return [name for name in stimuli.concept_names() if name.split("/")[0] in PAPERS]


def variants(name: str) -> set[str]:
    return set(stimuli.read_test(name)[0].get("variants", {}))


@pytest.mark.parametrize("name", CALISKAN)
def test_caliskan_sets_have_the_sizes_of_table_1(name: str) -> None:
    n_targets, n_attributes = TABLE_1_SIZES[name]
    assert [len(s) for s in lists(association(name))] == [n_targets, n_targets, n_attributes, n_attributes]


def test_word2vec_lists_have_18_names_in_c5_alone_and_24_words_in_c2() -> None:
    sizes = {name: len(association(name, "word2vec").X.words) for name in CALISKAN}
    assert sizes == {name: n for name, (n, _) in TABLE_1_SIZES.items()} | {"c2": 24, "c5": 18}


@pytest.mark.parametrize("name", [*CALISKAN, *WOLFE])
def test_every_test_offers_lists_for_its_google_news_table(name: str) -> None:
    assert ("word2vec" if name.startswith("c") else "table4") in variants(name)


@pytest.mark.parametrize("number", range(1, 11))
def test_both_papers_have_the_same_google_news_lists(number: int) -> None:
    assert lists(association(f"c{number}", "word2vec")) == lists(association(f"w{number}", "table4"))


@pytest.mark.parametrize("number", sorted({*range(1, 11)} - {3}))
def test_wolfe_prints_the_lists_of_caliskan_outside_test_3(number: int) -> None:
    assert lists(association(f"w{number}")) == lists(association(f"c{number}"))


def test_wolfe_prints_marcus_for_marcellus() -> None:
    printed, measured = lists(association("w3")), lists(association("w3", "table4"))
    assert printed[1] - measured[1] == {"Marcus"}
    assert measured[1] - printed[1] == {"Marcellus"}
    assert (printed[0], *printed[2:]) == (measured[0], *measured[2:])


def test_google_news_lists_of_test_2_lack_banjo_and_axe() -> None:
    full, used = lists(association("c2")), lists(association("c2", "word2vec"))
    assert full[0] - used[0] == {"banjo"}
    assert full[1] - used[1] == {"axe"}


def test_google_news_lists_of_test_9_have_short_for_short_term() -> None:
    full, used = lists(association("c9")), lists(association("c9", "word2vec"))
    assert full[2] ^ used[2] == {"short-term", "short"}


def test_test_4_keeps_16_names_and_test_5_takes_18_on_google_news() -> None:
    assert len(association("c4", "word2vec").X.words) == 16
    x, y, _, _ = lists(association("c5", "word2vec"))
    base_x, base_y, _, _ = lists(association("c5"))
    assert (x - base_x, y - base_y) == ({"Jay", "Kristen"}, {"Tremayne", "Latonya"})


@pytest.mark.parametrize(("name", "n"), [("c3", 50), ("c4", 18), ("c5", 18)])
def test_original_restores_the_deleted_names(name: str, n: int) -> None:
    kept, original = lists(association(name)), lists(association(name, "original"))
    assert (len(original[0]), len(original[1])) == (n, n)
    assert kept[0] < original[0]
    assert kept[1] < original[1]


def test_only_the_tests_with_deleted_names_have_an_original() -> None:
    assert {name for name in CALISKAN if "original" in variants(name)} == {"c3", "c4", "c5"}


def test_the_unpleasant_words_of_c3_have_bomb_and_evil_for_agony_and_prison() -> None:
    assert words("caliskan2017/unpleasant_alt") - words("caliskan2017/unpleasant") == {"bomb", "evil"}
    assert words("caliskan2017/unpleasant") - words("caliskan2017/unpleasant_alt") == {"agony", "prison"}


def test_the_arts_of_c8_have_shakespeare_for_sculpture() -> None:
    assert words("caliskan2017/arts_c8") ^ words("caliskan2017/arts") == {"Shakespeare", "sculpture"}


def test_histwords_substitutes_three_words_in_test_7_alone() -> None:
    base, historical = lists(association("w7")), lists(association("w7", "histwords"))
    assert base[0] ^ historical[0] == {"math", "mathematics", "calculus", "calculation"}
    assert base[1] ^ historical[1] == {"symphony", "music"}
    assert base[2:] == historical[2:]
    assert [name for name in WOLFE if "histwords" in variants(name)] == ["w7"]


def test_fifty_occupations_have_per_cent_women() -> None:
    occupations = single("wefat1").W
    assert len(set(occupations.words)) == 50
    assert set(occupations.properties) == set(occupations.words)
    assert (occupations.properties["plumber"], occupations.properties["pathologist"]) == (0.7, 98.6)
    assert all(0 < share < 100 for share in occupations.properties.values())


def test_share_female_is_computed_from_the_census_of_1990() -> None:
    names = single("wefat2").W
    assert len(set(names.words)) == 50
    assert set(names.properties) == set(names.words)
    census = {"Kelly": (0.283, 0.063), "Jesse": (0.008, 0.209), "Kris": (0.011, 0.011), "Shelby": (0.025, 0.011)}
    for name, (female, male) in census.items():
        assert names.properties[name] == pytest.approx(female / (female + male), abs=1e-8)


@pytest.mark.parametrize("name", ["wefat1", "wefat2"])
def test_wefat_takes_female_as_the_first_attribute(name: str) -> None:
    test = single(name)
    assert (test.A.name, test.B.name) == ("caliskan2017/female_terms", "caliskan2017/male_terms")


def test_eleven_image_tests_of_clip_share_the_text_attributes() -> None:
    names = [name for name in stimuli.test_names() if name.startswith("w-clip-")]
    tests = {name: association(name) for name in names}
    assert len(tests) == 11
    assert {concept.kind for test in tests.values() for concept in (test.X, test.Y)} == {"images"}
    attributes = {name: (test.A.name.split("/")[1], test.B.name.split("/")[1]) for name, test in tests.items()}
    assert attributes.pop("w-clip-white-black") == ("pleasant", "unpleasant_alt")
    assert attributes.pop("w-clip-male-female") == ("career", "family")
    assert attributes.pop("w-clip-science-arts") == ("male_terms_c8", "female_terms_c8")
    assert set(attributes.values()) == {("pleasant", "unpleasant")}


def test_six_groups_have_twelve_names_and_share_none() -> None:
    groups = {key: set(concept.words) for key, concept in detection().groups.items()}
    assert set(groups) == set(GROUPS)
    assert all(len(names) == 12 for names in groups.values())
    assert len(set.union(*groups.values())) == 72


def test_african_and_european_american_names_of_guo_are_names_of_caliskan() -> None:
    for race in ("african_american", "european_american"):
        known = words(f"caliskan2017/{race}_names_50") | words(f"caliskan2017/{race}_names_18")
        assert words(f"guo2021/{race}_females") | words(f"guo2021/{race}_males") < known


def test_rigoberto_is_corrected_and_the_printed_form_kept() -> None:
    males = load_concept("guo2021/mexican_american_males")
    assert males.as_printed == {"Rigoberto": "Rogoberto"}
    assert males.fallbacks["José"] == ("Jose",)


def test_guo_has_17_attribute_lists_of_the_printed_sizes() -> None:
    prefix = "guo2021/attributes_"
    sizes = {
        name.removeprefix(prefix): round(100 * len(words(name)) / 98, 1)
        for name in stimuli.concept_names()
        if name.startswith(prefix)
    }
    assert len(sizes) == 17
    assert sizes == RANDOM_CHANCE


def test_the_universe_is_98_words_25_of_them_insects() -> None:
    universe = words("guo2021/universe")
    attributes = set.union(*(words(f"guo2021/attributes_{name}") for name in RANDOM_CHANCE))
    insects = words("caliskan2017/insects")
    assert len(universe) == 98
    assert universe == attributes | insects
    assert not attributes & insects


def test_detection_covers_both_tasks_for_all_groups() -> None:
    task = detection()
    universe = set(task.universe.words)
    assert set(task.positives) == {"intersectional", "emergent"}
    for key in GROUPS:
        intersectional = set(task.positives["intersectional"][key].words)
        emergent = set(task.positives["emergent"][key].words)
        assert emergent < intersectional < universe


@pytest.mark.parametrize(
    ("task", "group", "baseline"),
    [
        ("intersectional", "AF", 85.7),
        ("intersectional", "MF", 86.7),
        ("emergent", "AF", 90.8),
        ("emergent", "MF", 93.9),
    ],
)
def test_saying_never_is_right_as_often_as_the_lists_imply(task: str, group: str, baseline: float) -> None:
    positives = detection().positives[task][group].words
    assert round(100 * (98 - len(positives)) / 98, 1) == baseline


def test_constituents_divide_the_six_groups_by_race_and_by_gender() -> None:
    constituents = detection().constituents
    assert set(constituents) == set(GROUPS)
    for category, n_parts in (("race", 3), ("gender", 2)):
        parts = {parts[category] for parts in constituents.values()}
        assert len(parts) == n_parts
        assert sorted(group for part in parts for group in part) == sorted(GROUPS)
        assert all(group in constituents[group][category] for group in GROUPS)


@pytest.mark.parametrize(("name", "group", "n"), [("i1", "AF", 13), ("i2", "AF", 8), ("i3", "MF", 12), ("i4", "MF", 6)])
def test_intersectional_tests_have_equal_and_separate_attribute_sets(name: str, group: str, n: int) -> None:
    test = association(name)
    task = "intersectional" if name in {"i1", "i3"} else "emergent"
    assert (test.X.name, test.Y.name) == (f"guo2021/{GROUPS[group]}", "guo2021/european_american_males")
    assert (len(test.A.words), len(test.B.words)) == (n, n)
    assert not set(test.A.words) & set(test.B.words)
    assert set(test.A.words) <= words(f"guo2021/attributes_{GROUPS[group]}_{task}")
    assert set(test.B.words) < words("guo2021/attributes_european_american_males_intersectional")


def test_the_attribute_that_two_groups_share_is_left_out() -> None:
    assert "assertive" not in association("i1").A.words + association("i2").A.words
    assert "attractive" not in association("i3").A.words


def test_hyphenated_attributes_fall_back_to_the_words_of_the_published_code() -> None:
    fallbacks = load_concept("guo2021/universe").fallbacks
    last = {word: forms[-1] for word, forms in fallbacks.items()}
    assert (last["fried-chicken"], last["high-status"], last["all-American"]) == ("chicken", "status", "American")


def test_a_word_has_the_same_other_spellings_in_every_list() -> None:
    spellings: dict[str, set[tuple[str, ...]]] = {}
    for name in concepts_of_papers():
        concept = load_concept(name)
        for word in concept.words:
            if name.startswith("guo2021/"):
                spellings.setdefault(word, set()).add(concept.fallbacks.get(word, ()))
    assert {word: forms for word, forms in spellings.items() if len(forms) > 1} == {}


def test_the_grid_crosses_15_pairs_of_groups_with_4_pairs_of_attributes() -> None:
    grid = [name for name in stimuli.test_names() if name.startswith("g-")]
    cells = [re.fullmatch(r"g-(..)-(..)-(\w+)", name) for name in grid]
    crossed = {(frozenset((m[1].upper(), m[2].upper())), m[3]) for m in cells if m}
    pairs = [frozenset(pair) for pair in combinations(GROUPS, 2)]
    assert len(grid) == 60
    assert crossed == set(product(pairs, ("pleasant", "career", "math", "science")))


def test_the_grid_borrows_its_attributes_from_c1_c6_c7_and_c8() -> None:
    attitude, career = association("g-em-ef-pleasant"), association("g-em-ef-career")
    assert (attitude.A, attitude.B) == (association("c1").A, association("c1").B)
    assert (career.A, career.B) == (association("c6").A, association("c6").B)
    math, science = association("g-af-mf-math"), association("g-af-mf-science")
    assert (math.A, math.B) == (association("c7").X, association("c7").Y)
    assert (science.A, science.B) == (association("c8").X, association("c8").Y)
    assert (science.X.name, science.Y.name) == (f"guo2021/{GROUPS['AF']}", f"guo2021/{GROUPS['MF']}")


def test_the_glob_c_star_means_the_ten_tests_of_caliskan() -> None:
    assert [name for name in stimuli.test_names() if name.startswith("c")] == CALISKAN


@pytest.mark.parametrize("name", concepts_of_papers())
def test_every_list_is_free_of_duplicates_and_says_where_it_comes_from(name: str) -> None:
    concept = load_concept(name)
    assert len(set(concept.words)) == len(concept.words)
    assert concept.source is not None
    assert concept.source.paper == name.split("/")[0]
    assert concept.source.place
    assert concept.licence


def test_targets_and_attributes_never_overlap() -> None:
    for name in (*CALISKAN, *WOLFE, *(n for n in stimuli.test_names() if re.fullmatch(r"i\d|g-.*|w-clip-.*", n))):
        for target in (None, *sorted(variants(name))):
            x, y, a, b = lists(association(name, target))
            assert not x & y, (name, target)
            assert not a & b, (name, target)
            assert (len(x), len(a)) == (len(y), len(b)), (name, target)
