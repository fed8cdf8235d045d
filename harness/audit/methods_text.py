"""A methods section that a paper can quote, written from the cells of an audited sweep, with its references."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from harness.audit.recorded import QUESTION
from harness.audit.robustness import Audit
from harness.errors import HarnessError
from harness.methods import METHODS
from harness.natural import natural_key
from harness.stimuli import read_test

_REFERENCES = Path(__file__).with_name("references.bib")

_NULLS = {
    "exact": "exact over all relabellings of the targets wherever that could be certified, otherwise by sampling or "
    "the saddle-point approximation",
    "monte_carlo": "from sampled relabellings",
    "normal": "from the normal distribution with the exact permutation moments",
    "normal_fit": "from a normal distribution fitted to sampled relabellings",
    "saddlepoint": "by the saddle-point approximation",
}


def references(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of these keys, those that are known."""
    entries = re.split(r"\n(?=@)", _REFERENCES.read_text(encoding="utf-8"))
    known = {match.group(1): entry.strip() for entry in entries if (match := re.match(r"@\w+\{(\w+),", entry))}
    return "\n\n".join(known[key] for key in dict.fromkeys(keys) if key in known)


def cited(found: Audit) -> list[str]:
    """Return the keys of everything that the methods section cites."""
    keys = [paper for method in _values(found, "method") for paper in METHODS[method].papers if method in METHODS]
    keys += [paper for test in _values(found, QUESTION) if (paper := _paper(test))]
    keys += [preset for preset in _values(found, "stats") if preset != "default"]
    return list(dict.fromkeys([*keys, "efron1987", "simonsohn2020", "steegen2016", "clopper1934"]))


def methods_section(found: Audit) -> list[str]:
    """Return the paragraphs."""
    return [_what(found), _conventions(found), _robustness(found), _reproduction(found)]


def _values(found: Audit, factor: str) -> list[str]:
    values = {str(result.factors[factor]) for result in found.measured if result.factors.get(factor) is not None}
    return sorted(values, key=natural_key)


def _paper(test: str) -> str | None:
    try:
        return (read_test(test)[0].get("source") or {}).get("paper")
    except HarnessError:
        return None


def _what(found: Audit) -> str:
    methods = [f"{name} [{', '.join(METHODS[name].papers)}]" for name in _values(found, "method") if name in METHODS]
    papers = sorted({paper for test in _values(found, QUESTION) if (paper := _paper(test))})
    lists = f" with the word lists of {', '.join(f'[{paper}]' for paper in papers)}" if papers else ""
    dropped = sorted({word for result in found.measured for word in result.dropped})
    text = (
        f"We measured associations by {_and(methods)} in {_and(_values(found, 'model'))} for the tests "
        f"{_and(_values(found, QUESTION))}{lists}. The association of a target w is s(w, A, B), the mean of its "
        "cosines with the attributes A minus the mean of those with B; the effect size is d = (mean s(x) − mean s(y)) "
        "/ std over X ∪ Y."
    )
    if dropped:
        listed = ", ".join(dropped[:12]) + (f" and {len(dropped) - 12} more" if len(dropped) > 12 else "")
        text += f" Stimuli left out of at least one cell, because a model lacks them or to even the sets: {listed}."
    return text


def _conventions(found: Audit) -> str:
    sizes = {
        name: _values(found, name)
        for name in found.factors.varying
        if name not in {QUESTION, "model", "method"}
    }  # fmt: skip
    varied = "; ".join(f"{name}: {', '.join(values)}" for name, values in sizes.items())
    nulls = [f"{null} ({_NULLS[null]})" for null in _values(found, "null") if null in _NULLS]
    text = (
        f"p-values are permutation p-values of the difference of means, by these nulls: {'; '.join(nulls)}."
        if nulls
        else ""
    )
    along = "; ".join(f"{name} went with {parent}" for name, parent in found.factors.along.items())
    if varied:
        text += f" Varied were {varied}{f' ({along})' if along else ''}."
    constant = {
        k: v for k, v in found.factors.constant.items() if v is not None and k not in {QUESTION, "model", "method"}
    }
    if constant:
        text += f" The same in all cells were {', '.join(f'{name}={value}' for name, value in constant.items())}."
    return (
        text + " Intervals are bias-corrected and accelerated bootstrap intervals over stimuli [efron1987]."
    ).strip()


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
            f"association ({'; '.join([*found.calibration.drawn_from, *found.calibration.matched])}), with "
            "Clopper–Pearson intervals [clopper1934]."
        )
    return (
        text + " Reliability was judged by leaving out one stimulus at a time and by random halves of both target sets."
    )


def _reproduction(found: Audit) -> str:
    versions = found.measured[0].versions
    shown = ", ".join(
        f"{name} {versions[name]}" for name in ("eat-harness", "git", "python", "numpy") if name in versions
    )
    unmeasured = "; ".join(found.cells.trouble())
    text = "Every cell is identified by a fingerprint of all that determines its numbers; "
    text += f"the sweep is {found.cells.sweep} ({shown})." if shown else f"the sweep is {found.cells.sweep}."
    return text + (f" Cells without numbers: {unmeasured}." if unmeasured else "")


def _and(names: list[str]) -> str:
    if len(names) > 24:
        return f"{', '.join(names[:24])} and {len(names) - 24} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
