"""The papers' own results: one long-format CSV a table, to set beside what the harness measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError, did_you_mean
from harness.natural import natural_key
from harness.paths import stimuli_dir

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "paper",
    "table",
    "model",
    "test",
    "method",
    "variant",
    "choice",
    "statistic",
    "value",
    "relation",
    "significant",
    "uncertain",
    "note",
)
KEY_COLUMNS = COLUMNS[: COLUMNS.index("value")]
"""What identifies a printed number: no two rows agree in all of these."""


def published_tables() -> list[str]:
    """Return the names of all stored tables, such as ``caliskan2017.table1``, in the order of paper and table."""
    return sorted(_files(), key=natural_key)


def load_published(name: str | None = None) -> pd.DataFrame:
    """Return a published table, or all of them.

    Parameters
    ----------
    name
        A table such as ``wolfe2024.table4``; ``<paper>.text`` holds the numbers of the running text and of the
        figures. None for every table of every paper.

    Returns
    -------
    pandas.DataFrame
        One row a printed number, with the columns of ``COLUMNS``. ``value`` is a float, NaN where the paper prints
        *n/a*, and a text where ``statistic`` is ``pattern``. ``relation`` says whether the number itself was printed
        (``=``) or a bound (``<``, ``>``). ``significant`` is missing where the verdict is not known; ``uncertain``
        marks numbers whose place or digits the source's text does not settle, ``note`` says why.
    """
    import pandas as pd

    files = _files()
    if name is not None and name not in files:
        raise HarnessError(
            f"There is no published table named {name!r}.{did_you_mean(name, files)} Stored are: "
            f"{', '.join(published_tables())}."
        )
    names = published_tables() if name is None else [name]
    frame = pd.concat(
        [pd.read_csv(files[table], dtype=str, keep_default_na=False) for table in names], ignore_index=True
    )
    frame["value"] = [
        text if statistic == "pattern" else float(text or "nan")
        for text, statistic in zip(frame["value"], frame["statistic"], strict=True)
    ]
    frame["significant"] = frame["significant"].map({"true": True, "false": False}).astype("boolean")
    frame["uncertain"] = frame["uncertain"] == "true"
    return frame


def _files() -> dict[str, Path]:
    return {path.stem: path for path in (stimuli_dir() / "published").glob("*.csv")}
