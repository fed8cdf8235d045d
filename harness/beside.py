"""What a paper printed, beside what a cell measured: rows of a published table matched to a result's numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.methods.mleat import PATTERNS, SMALL, Attribute
from harness.result import Result

if TYPE_CHECKING:
    import pandas as pd

ALIASES = {"level1_d": "d"}
"""A published statistic that a result knows under another name."""

DESCRIPTIONS = frozenset({"N", "attributes", "categories", "prompt", "reported", "sentences", "words"})
"""Keys of ``choice`` that say how a paper measured, and are neither a factor of a cell nor part of a metric's name."""

SAME_LEVEL_1 = frozenset({"weat", "mleat"})
"""Methods whose level 1 is one and the same number."""

TOLERANCE = 0.011
"""How far a measured number may be from a printed one of two decimals, some of which were truncated."""


@dataclass(frozen=True)
class Printed:
    """One published number (or pattern) under the name that a result gives it.

    ``relation`` is ``=``, or ``<`` and ``>`` for a bound. ``derived`` marks a pattern that the paper does not name: it
    follows from its level 2 effects and their asterisks.
    """

    name: str
    value: float | str
    model: str
    relation: str = "="
    significant: bool | None = None
    derived: bool = False


def printed_beside(result: Result, table: pd.DataFrame) -> dict[str, Printed]:
    """Return the published numbers that a result has too, by the result's names for them.

    Parameters
    ----------
    result
        A finished cell.
    table
        A published table, as ``harness.load_published`` gives it.

    Notes
    -----
    A row belongs to a cell if test and method agree, and every key of its ``choice`` that is a factor. The values of
    other keys stand before the statistic's name (``group=AF;task=emergent`` and ``accuracy``:
    ``AF.emergent.accuracy``). A cell that measures several categories at once has the row's test before the name
    (``age.d``), and must combine the same categories; a row without a test is of every cell of its method. Where the
    table speaks of several models or variants, that must agree too; a table of one model is set beside any. Of several
    rows for one number the first counts.
    """
    methods = SAME_LEVEL_1 if result.factors["method"] in SAME_LEVEL_1 else {result.factors["method"]}
    named: list[tuple[str, Any]] = []
    for row in table.to_dict("records"):
        name = _name(row, result) if row["method"] in methods else None
        if name is not None:
            named.append((name, row))
    several_models = len({row["model"] for _, row in named}) > 1
    named = [
        (name, row)
        for name, row in named
        if row["test"] in {"", result.factors["test"]} or f"{row['test']}.d" in result.metrics
    ]
    if several_models:
        named = [(name, row) for name, row in named if row["model"] == result.factors["model"]]
    if len({row["variant"] for _, row in named}) > 1:
        named = [(name, row) for name, row in named if row["variant"] == (result.factors.get("target") or "")]
    found: dict[str, Printed] = {}
    for name, row in named:
        if isinstance(row["value"], str) or not math.isnan(row["value"]):
            verdict = row["significant"] if isinstance(row["significant"], bool) else None
            found.setdefault(name, Printed(name, row["value"], row["model"], row["relation"], verdict))
    if "pattern" in result.labels and "pattern" not in found:
        pattern = derived_pattern(found)
        if pattern is not None:
            found["pattern"] = pattern
    return found


def derived_pattern(found: dict[str, Printed]) -> Printed | None:
    """Return the pattern that printed level 2 effects and their asterisks amount to."""
    sides: list[Attribute] = []
    for name in ("level2_x_d", "level2_y_d"):
        printed = found.get(name)
        if printed is None or printed.significant is None or isinstance(printed.value, str):
            return None
        associated = printed.significant and abs(printed.value) >= SMALL
        sides.append("none" if not associated else "A" if printed.value > 0 else "B")
    return Printed("pattern", PATTERNS[sides[0], sides[1]], found["level2_x_d"].model, derived=True)


def measured(result: Result, name: str) -> float | str | None:
    """Return a result's metric or label of that name."""
    return result.metrics.get(name, result.labels.get(name))


def difference(result: Result, printed: Printed) -> float | None:
    """Return ours minus theirs, where both are numbers of the same model and theirs is no bound."""
    ours = result.metrics.get(printed.name)
    if ours is None or isinstance(printed.value, str) or printed.relation != "=":
        return None
    return ours - printed.value if printed.model == result.factors["model"] else None


def _name(row: dict[Hashable, Any], result: Result) -> str | None:
    """Return the result's name for a published row, or None if it has no such number or another choice was made."""
    prefix = []
    for part in filter(None, row["choice"].split(";")):
        key, _, value = part.partition("=")
        if key == "categories" and value not in str(result.factors.get("context")).split("/"):
            return None
        context = result.factors.get("context")
        if key == "prompt" and context is not None and value not in str(context).split("/"):
            return None
        if key in result.factors:
            if result.factors[key] is not None and str(result.factors[key]) != value:
                return None
        elif key not in DESCRIPTIONS:
            prefix.append(value)
    name = ".".join([*prefix, ALIASES.get(row["statistic"], row["statistic"])])
    part = f"{row['test']}.{name}"
    return part if part in result.metrics else name if measured(result, name) is not None else None
