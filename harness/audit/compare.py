"""Any set of recorded cells as a table: flat, by any two factors, or two models on the same cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from harness.audit.recorded import QUESTION, Factors, Recorded, factors_of, frame
from harness.errors import HarnessError, did_you_mean
from harness.methods.weat import SIGNIFICANT
from harness.natural import natural_key
from harness.tables import with_whole_numbers

if TYPE_CHECKING:
    import pandas as pd

Adjustment = Literal["holm", "bh"]

SPECIFICATION, FAMILY, ALL = "specification", "family", "all"
"""Families by name: the tests of one paper's family under one specification; those of all; every cell together."""

ADJUSTED = "p_adjusted"


@dataclass
class Comparison:
    """A table and what a reader has to know beside it: what is the same in all cells, and which have no numbers."""

    table: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def compare(
    cells: Recorded,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    values: Sequence[str] = (),
    adjust: Adjustment | None = None,
    family: Sequence[str] = (SPECIFICATION,),
) -> Comparison:
    """Set cells beside each other.

    Parameters
    ----------
    cells
        What `load_recorded` gives.
    rows, columns
        Factors that make the rows and the columns. Without any, each cell is a row, and only the factors that differ
        are columns. An entry on which several cells fall holds their median.
    values
        Numbers or labels to show; by default d and p, or d alone in a pivot.
    adjust
        Adjust p within families (Holm 1979, or Benjamini & Hochberg 1995); the column is ``p_adjusted``.
    family
        ``specification``: cells that differ in the test only, of tests of one family; ``family``: all cells of tests
        of one family; ``all``; or factors, whose values make the families.
    """
    factors = factors_of(cells.results)
    table = _every(cells)
    if adjust is not None:
        table[ADJUSTED] = adjusted(table, factors, method=adjust, family=family)
    pivoted = bool(rows or columns)
    shown = list(values) or (["d"] if pivoted else ["d", "p"])
    shown += [ADJUSTED] if adjust is not None and ADJUSTED not in shown else []
    _check(table, [*rows, *columns, *shown])
    notes = _same_note(factors)
    if adjust is not None:
        notes.append(f"p_adjusted: {adjust}, in families by {', '.join(family)}.")
    if pivoted:
        table = table[table[QUESTION].notna()]  # what a broken file was to hold is not known: the notes name it
        result, more = _pivot(table, factors, list(rows), list(columns), shown)
        notes += more
    else:
        names = [*factors.varying, *factors.along]
        status = ["status"] if cells.unfinished or cells.lost else []
        result = _sorted(table, names)[[*names, *shown, *status, "fingerprint"]]
        result = result.assign(fingerprint=result["fingerprint"].str[:10])
    return Comparison(result.reset_index(drop=True), notes + cells.trouble())


def _every(cells: Recorded) -> pd.DataFrame:
    import pandas as pd

    table = frame(cells.results)
    lost = [{**factors, "fingerprint": key, "status": "missing", "reason": ""} for key, factors in cells.lost.items()]
    if lost:
        table = with_whole_numbers(pd.concat([table, pd.DataFrame(lost)], ignore_index=True))
    for name in ("p",) if cells.finished else ("d", "p"):
        if name not in table:
            table[name] = float("nan")
    return table


def _check(table: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            listed = ", ".join(str(column) for column in table.columns if column != "reason")
            raise HarnessError(f"No cell has {name!r}.{did_you_mean(name, table.columns)} There are {listed}.")


def _same_note(factors: Factors) -> list[str]:
    same = ", ".join(f"{name}={value}" for name, value in factors.constant.items() if value is not None)
    lines = [f"the same in all cells: {same}"] if same else []
    if factors.along:
        lines.append("; ".join(f"{name} changes only with {parent}" for name, parent in factors.along.items()))
    return lines


def _sorted(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    order = sorted(
        range(len(table)),
        key=lambda i: [natural_key(str(table[name].iloc[i])) for name in (QUESTION, *names) if name in table],
    )
    return table.iloc[order]


def adjusted(
    table: pd.DataFrame, factors: Factors, *, method: Adjustment, family: Sequence[str] = (SPECIFICATION,)
) -> pd.Series[float]:
    """Return p adjusted within families; NaN for a cell without p, which counts in no family."""
    import pandas as pd

    from harness.stats.multiple import adjust

    known = table[table["p"].notna() & (table["status"] == "finished")]
    members = [_family_of(row, factors, family) for row in known.to_dict("records")]
    if known.empty:
        return pd.Series(float("nan"), index=table.index)
    values = adjust(known["p"].to_numpy(), method=method, families=members)
    return pd.Series(values, index=known.index, dtype=float).reindex(table.index)


def _family_of(row: Any, factors: Factors, family: Sequence[str]) -> tuple[str, ...]:
    parts: list[str] = []
    for name in family:
        if name == ALL:
            continue
        if name in {SPECIFICATION, FAMILY}:
            parts.append(family_of_test(str(row[QUESTION])))
            parts += [str(row[choice]) for choice in factors.choices] if name == SPECIFICATION else []
        elif name in row:
            parts.append(str(row[name]))
        else:
            raise HarnessError(
                f"--family {name}: is {SPECIFICATION}, {FAMILY}, {ALL} or a factor."
                f"{did_you_mean(name, [SPECIFICATION, FAMILY, ALL, *factors.varying])}"
            )
    return tuple(parts)


def family_of_test(name: str) -> str:
    """Return the family that a test's file names; a test without a file is a family of its own."""
    from harness.stimuli import read_test

    try:
        return str(read_test(name)[0].get("family") or name)
    except HarnessError:
        return name


def _pivot(
    table: pd.DataFrame, factors: Factors, rows: list[str], columns: list[str], values: list[str]
) -> tuple[pd.DataFrame, list[str]]:
    import pandas as pd

    rows = rows or [name for name in factors.varying if name not in columns][:1] or [QUESTION]
    groups = dict(iter(_in_words(table, [*rows, *columns]).groupby([*rows, *columns])))
    row_keys = _keys(key[: len(rows)] for key in groups)
    column_keys = _keys(key[len(rows) :] for key in groups)
    lines = []
    for row in row_keys:
        line: dict[str, Any] = dict(zip(rows, row, strict=True))
        for column in column_keys:
            for value in values:
                label = " ".join([*column, *([value] if len(values) > 1 or not column else [])])
                line[label] = _entry(groups.get((*row, *column)), value)
        lines.append(line)
    notes = []
    sizes = [int((group["status"] == "finished").sum()) for group in groups.values()]
    if max(sizes) > 1:
        over = [name for name in factors.varying if name not in rows and name not in columns]
        many = str(min(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
        notes.append(f"each entry is the median of {many} cells, over {', '.join(over)}")
    if columns:
        notes.append(f"columns: {', '.join(columns)}")
    return pd.DataFrame(lines), notes


def _in_words(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return a table whose factors are texts, `null` where a cell has none: pandas leaves a missing value out."""
    return table.assign(
        **{name: ["null" if value is None or value != value else str(value) for value in table[name]] for name in names}
    )


def _keys(keys: Any) -> list[tuple[str, ...]]:
    return sorted(set(keys), key=lambda key: [natural_key(part) for part in key])


def _entry(group: pd.DataFrame | None, value: str) -> Any:
    """Return an entry: a number or label where all cells have one, words where some have not."""
    if group is None:
        return "not asked"
    finished = group.loc[group["status"] == "finished", value].dropna()
    rest = group.loc[group["status"] != "finished", "status"].value_counts()
    if finished.empty:
        return ", ".join(map(str, rest.index)) or "none"
    if finished.dtype == object and isinstance(finished.iloc[0], str):
        counts = finished.value_counts()
        shown: Any = str(counts.index[0]) + (f" ({counts.iloc[0]} of {len(finished)})" if len(counts) > 1 else "")
    else:
        shown = float(finished.astype(float).median())
    lacking = ", ".join(f"{number} {status}" for status, number in rest.items())
    return f"{shown if isinstance(shown, str) else format(shown, '.3g')} ({lacking})" if lacking else shown


def compare_models(cells: Recorded, first: str, second: str) -> Comparison:
    """Pair two models' cells that agree in every other factor.

    Notes
    -----
    Specifications of one test share its words and are not independent: the paired sign-flip test is over the tests,
    each with its mean difference.
    """
    import numpy as np
    import pandas as pd

    models = sorted({str(result.factors["model"]) for result in cells.results})
    for name in (first, second):
        if name not in models:
            raise HarnessError(f"--models {name}: no such model is recorded.{did_you_mean(name, models)}")
    two = cells.where({"model": [first, second]})
    factors = factors_of(two.results)
    table = _every(two)
    _check(table, ["d", "p"])
    key = [name for name in factors.varying if name != "model"] or [QUESTION]
    left, right = (
        _in_words(table.loc[table["model"] == name, [*key, "d", "p", "status"]], key) for name in (first, second)
    )
    result = left.merge(right, on=key, how="outer", suffixes=(f" {first}", f" {second}"))
    d1, d2, p1, p2 = (result[f"{number} {name}"].astype(float) for number in ("d", "p") for name in (first, second))
    paired = d1.notna() & d2.notna()
    if not paired.any():
        raise HarnessError(
            f"{first} and {second} have no two finished cells with an effect size that differ in the model alone."
        )
    judged = paired & p1.notna() & p2.notna()
    signs, verdicts = np.sign(d1) == np.sign(d2), (p1 < SIGNIFICANT) == (p2 < SIGNIFICANT)
    statuses = {name: result.pop(f"status {name}") for name in (first, second)}
    result = result.assign(difference=d2 - d1, sign=_same(signs, paired), verdict=_same(verdicts, judged))
    if not paired.all():
        result["status"] = [
            "" if both else ", ".join(f"{name} {_why(status[i])}" for name, status in statuses.items())
            for i, both in enumerate(paired)
        ]
    change = (d2 - d1)[paired]
    notes = [
        f"{len(change)} pairs of cells that differ in the model alone; d changes by {change.mean():+.3f} on average "
        f"from {first} to {second}, mean |difference| {change.abs().mean():.3f}",
        f"same sign {signs[paired].mean():.0%}, same verdict at {SIGNIFICANT:g} {verdicts[judged].mean():.0%}",
        *_over_tests(pd.DataFrame({"test": result.get(QUESTION, "one"), "difference": change}).dropna()),
    ]
    alone = len(result) - len(change)
    notes += [f"{alone} cells have no partner with an effect size on the other model"] if alone else []
    return Comparison(_sorted(result, key).reset_index(drop=True), notes + two.trouble())


def _same(agree: Iterable[bool], known: Iterable[bool]) -> list[str]:
    return [("same" if one else "differs") if told else "" for one, told in zip(agree, known, strict=True)]


def _why(status: object) -> str:
    return str(status) if isinstance(status, str) else "not asked"


def _over_tests(differences: pd.DataFrame) -> list[str]:
    from harness.stats.paired import sign_flip_pvalue

    means = differences.groupby("test")["difference"].mean()
    if len(means) < 2 or not means.abs().max() > 0:
        return []
    p = float(sign_flip_pvalue(means.to_numpy(), alternative="two-sided").p)
    return [f"paired sign-flip test over {len(means)} tests, two-sided: p = {p:.3g}"]
