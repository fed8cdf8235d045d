"""Recorded cells as one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, did_you_mean
from harness.paths import runs_dir
from harness.result import COLUMNS, ResultStore
from harness.tags import tag_factors

if TYPE_CHECKING:
    import pandas as pd


GONE = {"status": "missing", "reason": "no result file can be read"}
"""What stands in the row of a cell whose result file is gone or broken."""


def sweep_fingerprints(runs: Path, sweep: str) -> list[str]:
    """Return the cells of a recorded sweep, measured by it or known before, in the order asked."""
    return list(sweep_factors(runs, sweep))


def sweep_factors(runs: Path, sweep: str) -> dict[str, dict[str, Any]]:
    """Return the factors of every cell of a recorded sweep as it asked for them, by fingerprint."""
    known = sorted(path.parent.name for path in (runs / "sweeps").glob("*/sweep.json"))
    if sweep not in known:
        raise HarnessError(f"No sweep {sweep!r} is recorded under {runs}.{did_you_mean(sweep, known)}")
    return dict(sweep_record(runs, sweep)["factors"])


def sweep_record(runs: Path, sweep: str) -> dict[str, Any]:
    """Return what a sweep wrote down about itself."""
    path = runs / "sweeps" / sweep / "sweep.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        record["factors"].keys()
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise HarnessError(f"{path} is broken; the sweep's command writes it again, from the results.") from None
    return record


def full_sweep_id(runs: Path, given: str) -> str:
    """Return the sweep that is meant: an id, its first digits, or ``last`` for the one recorded last."""
    files = sorted((runs / "sweeps").glob("*/sweep.json"), key=lambda path: path.stat().st_mtime)
    known = [path.parent.name for path in files]
    if given == "last" and known:
        return known[-1]
    matches = [name for name in known if name.startswith(given)]
    if len(matches) != 1:
        listed = f" Recorded are {', '.join(known[-8:])}, and `last` means {known[-1]}." if known else ""
        raise HarnessError(f"No sweep {given!r} is recorded under {runs}.{did_you_mean(given, known)}{listed}")
    return matches[0]


def asked_factors(runs: Path, *, sweep: str | None = None, tag: str | None = None) -> dict[str, dict[str, Any]] | None:
    """Return the factors of the cells of a sweep, of a tag, or of both, as asked for; None where neither is given."""
    tagged = None if tag is None else tag_factors(runs, tag)
    if sweep is None:
        return tagged
    asked = sweep_factors(runs, full_sweep_id(runs, sweep))
    both = {key: factors for key, factors in asked.items() if tagged is None or key in tagged}
    if not both:
        raise HarnessError(f"No cell of sweep {sweep} was asked for under the tag {tag}.")
    return both


def load_results(runs: str | Path | None = None, *, sweep: str | None = None, tag: str | None = None) -> pd.DataFrame:
    """Return the recorded cells as a data frame, one row a cell.

    Parameters
    ----------
    runs
        The folder of runs; by default ``HARNESS_RUNS`` or ``runs``.
    sweep
        Only the cells of this sweep, in the order asked: its id, the first digits of it, or ``last``. A cell whose file
        is gone stands as ``missing``. Without a sweep or tag, so does a broken file, which says nothing of its cell.
    tag
        Only the cells that were asked for under this tag, measured then or before.
    """
    import pandas as pd

    folder = runs_dir(runs)
    store = ResultStore(folder)
    asked = asked_factors(folder, sweep=sweep, tag=tag)
    if asked is None:
        results = list(store)
        rows = [result.row() for result in results]
        rows += [{**dict.fromkeys(COLUMNS), "fingerprint": key, **GONE} for key in store.unreadable(results)]
    else:
        rows = [_row(store, key, factors) for key, factors in asked.items()]
    if not rows:
        raise HarnessError(f"No cell is recorded under {folder}; `harness run experiment=demo` records the first ones.")
    table = with_whole_numbers(pd.DataFrame(rows))
    return table[[*COLUMNS, *(name for name in table.columns if name not in COLUMNS)]]


def _row(store: ResultStore, key: str, factors: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a cell as a sweep asked for it; one without a readable file is missing, not left out."""
    result = store.read(key)
    if result is None:
        return {**dict.fromkeys(COLUMNS), **factors, "fingerprint": key, **GONE}
    result.factors = factors
    return result.row()


NUMBERED = ("layer", "ddof", "resamples", "seed", "ceat_samples")
"""Factors that are whole numbers."""


def with_whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of cells whose whole-numbered factors are so where other cells have none: 1000, not 1000.0."""
    import pandas as pd

    for name in NUMBERED:
        if name in table and table[name].dtype.kind in "fO":
            known = [None if value is None or value != value else value for value in table[name]]
            values = [int(value) if isinstance(value, float) else value for value in known]
            table[name] = pd.Series(values, dtype=object, index=table.index)
    return table


def as_text(table: pd.DataFrame, form: str) -> str:
    """Return a table as csv, json, markdown or latex."""
    if form == "csv":
        return str(table.to_csv(index=False))
    if form == "json":
        entries = [
            {name: None if value != value else value for name, value in row.items()} for row in table.to_dict("records")
        ]
        # pandas' own keeps ten decimals of p
        return json.dumps(entries, indent=1, ensure_ascii=False, default=str) + "\n"
    cells = [[_short(value) for value in row] for row in table.itertuples(index=False)]
    if form == "markdown":
        rows = [[text.replace("|", "\\|") for text in row] for row in [list(table.columns), *cells]]
        head, *body = ("| " + " | ".join(row) + " |" for row in rows)
        return "\n".join([head, "|" + "---|" * len(table.columns), *body]) + "\n"
    escaped = [[_latex(text) for text in row] for row in [list(table.columns), *cells]]
    head, *body = (" & ".join(row) + r" \\" for row in escaped)
    lines = [rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}", head, r"\hline", *body, r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _short(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())


_LATEX = str.maketrans(
    {
        **{character: "\\" + character for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)


def _latex(text: str) -> str:
    return text.translate(_LATEX)
