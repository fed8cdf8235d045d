"""What husse2022 draws from its scores: Tables 5, 7 and 8, and Figures 1 to 5, from cells of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.audit.meeting import Met
from harness.audit.needs import Need, needs_of, own_numbers
from harness.audit.paper_grid import OURS, PUBLISHED, Entry
from harness.audit.replicate import LEVELS
from harness.audit.runtimes import REPEATS, runtime
from harness.audit.vocabulary import retained
from harness.config import ModelConfig
from harness.errors import HarnessError
from harness.paths import config_files
from harness.published import load_published
from harness.stimuli.yaml_file import read_yaml

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PAPER = "husse2022"
LEVEL = LEVELS[PAPER]
METHODS = ("s-seat", "w-seat", "ceat", "lpbs")
FEWEST = 3
"""Scores that a correlation needs: of two it is ±1 whatever they are. Where the paper prints n/a is not said."""

ONE_MODEL = {"bert-base-uncased": "bert-base-cased"}
"""LPBS was measured on the uncased BERT, everything else on the cased one; the paper calls both BERT."""


@dataclass(frozen=True)
class Score:
    """The effect size of a cell with the method as the paper calls it."""

    model: str
    test: str
    method: str
    targets: str
    context: str
    d: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether the paper would print it bold."""
        return self.p < LEVEL


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of the scores of two methods over tests; ``r`` is None where too few remain."""

    model: str
    first: str
    second: str
    scores: str
    r: float | None
    n: int


@dataclass
class Output:
    """A table or a figure of the paper from our own cells."""

    labels: tuple[str, ...]
    entries: list[Entry]
    notes: list[str] = field(default_factory=list)
    figure: Figure | None = None


@dataclass(frozen=True)
class Study:
    """What is measured for an output, and how it is made of it."""

    title: str
    needs: Callable[[], list[Need]]
    make: Callable[[Sequence[Met], Settings], Output]


@dataclass(frozen=True)
class Settings:
    """What the outputs need beside the cells."""

    runs: Path
    models: tuple[str, ...] = ()
    repeats: int = REPEATS


def method_name(method: str, choices: Mapping[str, str]) -> str:
    """Return the paper's name of a method: SEAT is two, by the encoding."""
    if method != "seat":
        return method
    return "s-seat" if choices.get("encoding") == "sentence" else "w-seat"


def scores_of(met: Sequence[Met]) -> list[Score]:
    """Return the scores that were measured, each once."""
    found: dict[Score, None] = {}
    for one in met:
        if one.result is not None:
            choices = dict(one.need.choices)
            score = Score(
                model=ONE_MODEL.get(one.model, one.model),
                test=one.need.test,
                method=method_name(one.need.method, choices),
                targets=one.need.variant,
                context="corpus" if choices.get("context") == "reddit" else "templates",
                d=one.result.metrics["d"],
                p=one.result.metrics["p"],
            )
            found[score] = None
    return list(found)


def published_scores() -> list[Score]:
    """Return the scores of Tables 3 and 4 that the paper correlates; p is not printed, and stands as 1."""
    rows = _main_rows().to_dict("records")
    return [
        Score(
            model=ONE_MODEL.get(str(row["model"]), str(row["model"])),
            test=str(row["test"]),
            method=method_name(str(row["method"]), dict(part.split("=", 1) for part in str(row["choice"]).split(";"))),
            targets=str(row["variant"]),
            context="",
            d=float(row["value"]),
            p=1.0,
        )
        for row in rows
    ]


def correlations(scores: Sequence[Score]) -> list[Correlation]:
    """Correlate each two methods over the tests that both have, with all scores and with significant ones only."""
    found = []
    for model in dict.fromkeys(score.model for score in scores):
        for first, second in combinations(METHODS, 2):
            for which in ("all", "significant"):
                kept = [s for s in scores if s.model == model and (which == "all" or s.significant)]
                one, other = ({s.test: s.d for s in kept if s.method == name} for name in (first, second))
                tests = [test for test in one if test in other]
                pair = np.array([[one[test] for test in tests], [other[test] for test in tests]])
                enough = len(tests) >= FEWEST and bool((np.ptp(pair, axis=1) > 0).all())
                r = float(np.corrcoef(pair)[0, 1]) if enough else None
                found.append(Correlation(model, first, second, which, r, len(tests)))
    return found


def _table(number: int) -> pd.DataFrame:
    return own_numbers(load_published(f"{PAPER}.table{number}"))


def _main_rows() -> pd.DataFrame:
    """Return the paper's own scores of Table 3, and those of Table 4 with the full sets of targets."""
    import pandas as pd

    lpbs = _table(4)
    own = _table(3)
    own = own[own["choice"].str.contains(f"reported={PAPER}")]
    return pd.concat([own, lpbs[lpbs["choice"].str.contains("words=full")]], ignore_index=True)


def _main_needs() -> list[Need]:
    return needs_of(_main_rows())


def _table5(met: Sequence[Met], _: Settings) -> Output:
    entries = []
    for found in correlations(scores_of(met)):
        reason = f"{found.n} tests have a score by both, {FEWEST} are needed" if found.r is None else ""
        place = (f"{found.first} | {found.second}", found.scores)
        entries.append(Entry(place, OURS, found.model, found.r, None, reason))
    for row in load_published(f"{PAPER}.table5").to_dict("records"):
        given = dict(part.split("=", 1) for part in str(row["choice"]).split(";"))
        value = float(row["value"]) if row["value"] == row["value"] else None
        place = (given["methods"].replace("|", " | "), given["scores"])
        entries.append(Entry(place, PUBLISHED, str(row["model"]), value, None, str(row["note"])))
    note = f"Pearson's r over tests; significant: only tests of which both scores have p < {LEVEL:g}."
    return Output(("methods", "scores"), entries, [note])


def _runtimes(number: int) -> Callable[[Sequence[Met], Settings], Output]:
    def make(met: Sequence[Met], settings: Settings) -> Output:
        entries: dict[tuple[tuple[str, ...], str], Entry] = {}
        spread = []
        for one in met:
            place = (method_name(one.need.method, dict(one.need.choices)),)
            if (place, one.model) in entries:
                continue
            entry = Entry(place, OURS, one.model, None, None, one.reason)
            if one.result is not None and one.config is not None:
                try:
                    taken = runtime(one.config, runs=settings.runs, repeats=settings.repeats)
                    entry = Entry(place, OURS, one.model, taken.mean)
                    spread.append(f"{place[0]} on {one.model}: {taken.fastest:.2f} to {taken.slowest:.2f} s")
                except HarnessError as error:
                    entry = Entry(place, OURS, one.model, None, None, str(error))
            entries[place, one.model] = entry
        for row in load_published(f"{PAPER}.table{number}").to_dict("records"):
            choices = dict(part.split("=", 1) for part in str(row["choice"]).split(";"))
            place = (method_name(str(row["method"]), choices),)
            model = ONE_MODEL.get(str(row["model"]), str(row["model"]))
            entries[place, f"{PUBLISHED} {model}"] = Entry(place, PUBLISHED, model, float(row["value"]))
        notes = [
            f"seconds, mean of {settings.repeats} measurements on one processor, without encoding the texts; lpbs "
            "opens the model and computes its probabilities each time",
            *(["fastest to slowest: " + "; ".join(spread)] if spread else []),
        ]
        return Output(("method",), list(entries.values()), notes)

    return make


def _score_entries(scores: Sequence[Score]) -> list[Entry]:
    return [Entry((s.test, s.method, s.targets, s.context), OURS, s.model, s.d, s.significant) for s in scores]


_SCORE_LABELS = ("test", "method", "targets", "context")


def _figure1(met: Sequence[Met], _: Settings) -> Output:
    from harness.plots.choice_scores import figure

    tables = {"targets": set(_needs_of_table(11)), "context": set(_needs_of_table(12))}
    panels = {factor: scores_of([one for one in met if one.need in wanted]) for factor, wanted in tables.items()}
    scores = list(dict.fromkeys(score for found in panels.values() for score in found))
    drawing = figure(panels, level=LEVEL) if scores else None
    return Output(_SCORE_LABELS, _score_entries(scores), [], drawing)


def _needs_of_table(number: int) -> list[Need]:
    return needs_of(_table(number))


def _figure1_needs() -> list[Need]:
    return list(dict.fromkeys([*_needs_of_table(11), *_needs_of_table(12)]))


def _figure2(_: Sequence[Met], settings: Settings) -> Output:
    from harness.plots.retained_words import figure

    found, entries, notes = [], [], []
    targets = {str(row["test"]): str(row["variant"]) for row in _main_rows().to_dict("records")}
    for name in settings.models or ("bert-base-uncased",):
        path = config_files("model").get(name)
        if path is None:
            raise HarnessError(f"There is no config for model {name}; `harness ls models` lists them.")
        model = {**asdict(ModelConfig()), **read_yaml(path)}
        try:
            shares = [share for test, target in targets.items() for share in retained(test, model, target=target)]
        except HarnessError as error:
            notes.append(f"not counted: {name}: {error}")
            continue
        found += shares
        entries += [Entry((s.test, s.slot, s.concept, str(s.listed)), OURS, name, s.share) for s in shares]
    labels = ("test", "set", "concept", "listed")
    return Output(labels, entries, notes, figure(found) if found else None)


def _figure3_needs() -> list[Need]:
    rows = _table(14)
    return needs_of(rows[rows["test"] == "h-c1"])


def _figure3(met: Sequence[Met], _: Settings) -> Output:
    from harness.plots.word_sets import Distribution, figure

    found, entries = [], []
    for one in met:
        if one.result is None:
            continue
        choices = dict(one.need.choices)
        reduced = one.need.reduced or choices.get("stats.lpbs_targets") == "reduced"
        words = "simplified" if one.need.variant.startswith("simplified") else "reduced" if reduced else "full"
        association = choices.get("association", "cosine")
        found.append(Distribution(one.model, association, words, one.result))
        metrics = one.result.metrics
        entries.append(Entry((association, words), OURS, one.model, metrics["d"], metrics["p"] < LEVEL))
    return Output(("association", "words"), entries, [], figure(found) if found else None)


def _figure4_needs() -> list[Need]:
    rows = _table(12)
    chosen = rows["test"].isin(["h-c1", "h-c9"]) & (rows["method"] == "lpbs") & rows["choice"].str.contains("reddit")
    return needs_of(rows[chosen])


def _figure4(met: Sequence[Met], _: Settings) -> Output:
    from harness.plots.gap_choice import figure

    results = [one.result for one in met if one.result is not None and one.result.tables.get("gaps")]
    entries = [
        Entry((str(result.factors["test"]), str(row["gap"])), OURS, str(result.factors["model"]), row["d_item"])
        for result in results
        for row in result.tables["gaps"]
    ]
    return Output(("test", "gap"), entries, [], figure(results, level=LEVEL) if results else None)


def _figure5(met: Sequence[Met], _: Settings) -> Output:
    from harness.plots.method_scatter import figure

    scores = scores_of(met)
    return Output(_SCORE_LABELS, _score_entries(scores), [], figure(scores, METHODS) if scores else None)


def _no_needs() -> list[Need]:
    return []


STUDIES: dict[str, Study] = {
    f"{PAPER}.table5": Study("correlations between methods", _main_needs, _table5),
    f"{PAPER}.table7": Study("runtimes of C1", lambda: _needs_of_table(7), _runtimes(7)),
    f"{PAPER}.table8": Study("runtimes of C6", lambda: _needs_of_table(8), _runtimes(8)),
    f"{PAPER}.figure1": Study("scores by target description and context", _figure1_needs, _figure1),
    f"{PAPER}.figure2": Study("share of targets left by reduction to the vocabulary", _no_needs, _figure2),
    f"{PAPER}.figure3": Study("distributions for simplified, reduced and full targets", _figure3_needs, _figure3),
    f"{PAPER}.figure4": Study("LPBS by the largest gap between target and attribute", _figure4_needs, _figure4),
    f"{PAPER}.figure5": Study("scores of each two methods", _main_needs, _figure5),
}
"""Outputs that are no table of effect sizes, by the name that ``harness replicate`` takes."""
