"""A methods section that a paper can quote, written from the cells of an audited sweep, with its references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.audit.recorded import QUESTION
from harness.audit.robustness import Audit
from harness.errors import HarnessError
from harness.methods import METHODS
from harness.natural import natural_key
from harness.result import Result
from harness.stimuli import read_test

_REFERENCES = Path(__file__).with_name("references.bib")

_BY_S = frozenset({"weat", "mleat", "seat", "ceat", "mlceat"})
"""Methods whose d compares s(x) with s(y)."""

_COMBINED = frozenset({"ceat", "mlceat"})
"""Methods whose d is the combined effect size of many samples."""

_EFFECTS = {
    "seat": "SEAT takes s of every text in which a target stands.",
    "ceat": "CEAT draws one text for every stimulus, many times over, and combines the d of these samples by a "
    "random-effects model [dersimonian1986].",
    "lpbs": "LPBS takes for s how much more an attribute raises the log-probability of the targets X than that of Y; "
    "its d compares the attributes A and B.",
}
"""What the d of a method is, where it is not the WEAT's."""

_NULLS = {
    "exact": "all relabellings",
    "monte_carlo": "sampled relabellings",
    "normal": "the normal distribution with the exact permutation moments",
    "normal_fit": "a normal distribution fitted to sampled relabellings",
    "saddlepoint": "the saddle-point approximation",
}
_SAMPLED = frozenset({"monte_carlo", "normal_fit"})

_PRESET_OF = {"guo2021_code": "guo2021"}
"""The paper of a preset, where it is not the preset's own name."""


def references(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of these keys, those that are known."""
    known = _entries()
    return "\n\n".join(known[key] for key in dict.fromkeys(keys) if key in known)


def _entries() -> dict[str, str]:
    entries = re.split(r"\n(?=@)", _REFERENCES.read_text(encoding="utf-8"))
    return {match.group(1): entry.strip() for entry in entries if (match := re.match(r"@\w+\{(\w+),", entry))}


def cited(found: Audit) -> list[str]:
    """Return the keys of everything that the methods section cites, in its order."""
    groups = re.findall(r"\[(\w+(?:, \w+)*)\]", " ".join(methods_section(found)))
    known = _entries()
    return list(dict.fromkeys(key for group in groups for key in group.split(", ") if key in known))


def methods_section(found: Audit) -> list[str]:
    """Return the paragraphs."""
    return [_what(found), _conventions(found), _robustness(found), _reproduction(found)]


def _values(found: Audit, factor: str) -> list[str]:
    return _among(found.measured, factor)


def _among(results: Iterable[Result], factor: str) -> list[str]:
    values = {str(result.factors[factor]) for result in results if result.factors.get(factor) is not None}
    return sorted(values, key=natural_key)


def _paper(test: str) -> str | None:
    try:
        return (read_test(test)[0].get("source") or {}).get("paper")
    except HarnessError:
        return None


def _what(found: Audit) -> str:
    names = _values(found, "method")
    methods = [f"{name} [{', '.join(METHODS[name].papers)}]" for name in names if name in METHODS]
    papers = sorted({paper for test in _values(found, QUESTION) if (paper := _paper(test))})
    lists = f" with the word lists of {', '.join(f'[{paper}]' for paper in papers)}" if papers else ""
    dropped = sorted({word for result in found.measured for word in result.dropped})
    text = (
        f"We measured associations by {_and(methods or names)} in {_and(_values(found, 'model'))} for the tests "
        f"{_and(_values(found, QUESTION))}{lists}."
    )
    if _BY_S & set(names):
        by = _among((result for result in found.measured if result.factors["method"] in _BY_S), "association")
        text += (
            " The association of a target w is s(w, A, B), the mean of its cosines with the attributes A minus the mean"
            f" of those with B{_otherwise(by)}; the effect size is d = (mean s(x) − mean s(y)) / std over X ∪ Y."
        )
    kinds = ("ceat" if name in _COMBINED else name for name in names)
    text += "".join(f" {_EFFECTS[kind]}" for kind in dict.fromkeys(kinds) if kind in _EFFECTS)
    if dropped:
        listed = ", ".join(dropped[:12]) + (f" and {len(dropped) - 12} more" if len(dropped) > 12 else "")
        text += f" Stimuli left out of at least one cell, because a model lacks them or to even the sets: {listed}."
    return text


def _otherwise(associations: Sequence[str]) -> str:
    others = " or ".join(name for name in associations if name != "cosine")
    return f" (where association={others}, by {others} in place of cosines)" if others else ""


def _conventions(found: Audit) -> str:
    permuted = [result for result in found.measured if not _by_model(result)]
    sentences = [_permutation(permuted)] if permuted else []
    if len(permuted) < len(found.measured):
        sentences.append(
            "The p-value of a combined effect size is that of its z in the random-effects model, wherever texts and "
            "not whole words are the unit."
        )
    sizes = {name: _values(found, name) for name in found.factors.choices if name not in {"model", "method"}}
    # A choice with one value where it has a meaning only tells where it applies.
    varied = "; ".join(
        f"{name}: {', '.join(map(_cited_preset, values))}" for name, values in sizes.items() if len(values) > 1
    )
    followers: dict[str, list[str]] = {}
    for name, parent in found.factors.along.items():
        followers.setdefault(parent, []).append(name)
    along = "; ".join(f"{_and(names)} went with {parent}" for parent, names in followers.items())
    if varied:
        sentences.append(f"Varied were {varied}{f' ({along})' if along else ''}.")
    constant = {
        k: v for k, v in found.factors.constant.items() if v is not None and k not in {QUESTION, "model", "method"}
    }
    if constant:
        same = ", ".join(f"{name}={_cited_preset(str(value))}" for name, value in constant.items())
        sentences.append(f"The same in all cells were {same}.")
    return " ".join([*sentences, *_intervals(found.measured)])


def _by_model(result: Result) -> bool:
    """Return whether p comes from the random-effects model, not from a permutation."""
    return result.factors["method"] in _COMBINED and result.factors.get("unit") != "stimulus"


def _cited_preset(value: str) -> str:
    key = _PRESET_OF.get(value, value)
    return f"{value} [{key}]" if key in _entries() else value


def _permutation(results: Sequence[Result]) -> str:
    """Say by which nulls p was found, with what became of those that could not be had."""
    parts = []
    for null in _among(results, "null"):
        cells = [result for result in results if result.factors.get("null") == null]
        used = Counter(result.labels.get("null_used", null) for result in cells)
        drawn = _among(cells, "resamples")
        number = f", {' or '.join(f'{int(n):,}' for n in drawn)} of them" if null in _SAMPLED and drawn else ""
        instead = "; ".join(f"in {used[other]:,} of {len(cells):,} cells {other}" for other in used if other != null)
        parts.append(f"{null} ({_NULLS.get(null, null)}{number}{f'; {instead}' if instead else ''})")
    nulls = f", by these nulls: {'; '.join(parts)}" if parts else ""
    return f"p-values are permutation p-values of the difference of means{nulls}."


def _intervals(results: Sequence[Result]) -> list[str]:
    """Say what the intervals of d are, as the cells recorded them."""
    known = [result for result in results if "ci_low" in result.metrics]
    drawn = [result for result in known if "ci_method" in result.labels]
    stated = [result.config.get("stats") or {} for result in drawn]
    numbers = sorted({int(stats["ci_resamples"]) for stats in stated if "ci_resamples" in stats})
    of = f" of {' or '.join(f'{number:,}' for number in numbers)} resamples" if numbers else ""
    used = {result.labels["ci_method"] for result in drawn}
    sentences = []
    if "BCa" in used:
        more = ", percentile intervals where these are not defined" if "percentile" in used else ""
        sentences.append(
            f"Intervals are bias-corrected and accelerated bootstrap intervals{of} of the targets [efron1987]{more}."
        )
    elif "percentile" in used:
        sentences.append(f"Intervals are percentile bootstrap intervals{of} of the targets.")
    if any(result.factors["method"] in _COMBINED for result in known if "ci_method" not in result.labels):
        sentences.append("Intervals of a combined effect size are those of the random-effects model.")
    return sentences


def _robustness(found: Audit) -> str:
    draws = next((curve.inference.draws for curve in found.curves if curve.inference is not None), None)
    text = (
        f"The {len(found.measured):,} measured cells form a multiverse [steegen2016]; every test has a specification "
        "curve [simonsohn2020]."
    )
    if draws is not None:
        text += (
            f" Inference on a whole curve relabels the target words between X and Y {draws:,} times, each time jointly "
            "in all specifications of the test, with attributes and set sizes as they are; p is the share of "
            "relabellings, the observed one included, whose median d is as far from zero."
        )
    text += (
        " The sensitivity to a factor is the mean |Δd| over all pairs of cells that differ in this factor alone. "
        "Shares of variance are sums of squares on the balanced part of the design."
    )
    if found.calibration.rows:
        text += (
            f" Each convention was calibrated on {found.calibration.rows[0].draws:,} tests without a planted "
            f"association ({'; '.join([*found.calibration.drawn_from, *found.calibration.matched])}), with 99 % "
            "Clopper–Pearson intervals [clopper1934]."
        )
    return (
        text + " Reliability was judged by leaving out one target word at a time and by random halves of both target "
        "sets."
    )


def _reproduction(found: Audit) -> str:
    versions = found.measured[0].versions
    shown = ", ".join(
        f"{name} {versions[name]}" for name in ("eat-harness", "git", "python", "numpy") if name in versions
    )
    counts = Counter[str](result.status for result in found.cells.unfinished)
    counts["missing"] = len(found.cells.lost)
    unmeasured = ", ".join(f"{number:,} {status}" for status, number in counts.items() if number)
    text = "Every cell is identified by a fingerprint of all that determines its numbers; "
    text += f"the sweep is {found.cells.sweep} ({shown})." if shown else f"the sweep is {found.cells.sweep}."
    return text + (f" Cells without numbers: {unmeasured}; the report lists why." if unmeasured else "")


def _and(names: list[str]) -> str:
    if len(names) > 24:
        return f"{', '.join(names[:24])} and {len(names) - 24} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
