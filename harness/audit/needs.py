"""The cells that a published table needs: its printed choices as keys of a config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.beside import DESCRIPTIONS

if TYPE_CHECKING:
    import pandas as pd

PEOPLE = "human"
"""The model under which a table prints what was measured on people."""

DIRECT = ("context", "encoding", "pooling", "layer", "association")
"""Keys of a published ``choice`` that are keys of a config."""

COMPARED = "compared"
"""The key of a published ``choice`` that makes a number one of two cells, of which it names the other model."""

VALENCE = "valence"
"""The test of which omrani2023 prints the categories as if they were tests."""


@dataclass(frozen=True)
class Need:
    """A cell that a table needs, as overrides of the config, and how many printed numbers it stands for.

    ``reduced``: the targets are those that are one piece of the model's vocabulary, whatever the method.
    """

    model: str
    test: str
    method: str
    variant: str
    choices: tuple[tuple[str, str], ...]
    reduced: bool = False
    numbers: int = 0

    def overrides(self) -> list[str]:
        """Return what ``harness run`` is to be given."""
        found = [
            f"model={self.model}",
            f"test={self.test}",
            f"method={self.method}",
            f"target={self.variant or 'null'}",
        ]
        return [*found, *(f"{key}={value}" for key, value in self.choices)]


def needs_of(table: pd.DataFrame) -> list[Need]:
    """Return the cells that a published table needs, in its order; rows of people and of comparisons need none."""
    found = Counter(need for row in table.to_dict("records") if (need := need_of(row)) is not None)
    return [replace(need, numbers=number) for need, number in found.items()]


def need_of(row: Mapping[Hashable, Any]) -> Need | None:
    """Return the cell that a printed number needs; None for people, and for comparisons of cells."""
    given = _given(row)
    test = VALENCE if row["method"] in {"sc-weat", "valnorm"} else row["test"]
    if row["model"] in {PEOPLE, ""} or row["method"] == "" or test == "" or COMPARED in given:
        return None
    reduced = given.get("words") == "reduced" and given.get("association") == "cosine"
    return Need(row["model"], test, row["method"], row["variant"], _choices(row), reduced)


def comparisons(table: pd.DataFrame) -> list[Mapping[Hashable, Any]]:
    """Return the printed numbers that are of no single cell and not of people: they compare cells."""
    return [row for row in table.to_dict("records") if need_of(row) is None and row["model"] != PEOPLE]


def own_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without the numbers that it cites of others, where it has its own of the same cell."""
    rows = table.to_dict("records")
    cited = [_given(row).get("reported", row["paper"]) != row["paper"] for row in rows]
    own = {_cell(row) for row, other in zip(rows, cited, strict=True) if not other}
    return table[[not other or _cell(row) not in own for row, other in zip(rows, cited, strict=True)]]


def _cell(row: Mapping[Hashable, Any]) -> tuple[Any, ...]:
    """Return what a number and the one cited beside it share: a cited paper's pooling and N may be others."""
    given = _given(row)
    return (*(row[key] for key in ("model", "test", "method", "variant")), given.get("context"), given.get("encoding"))


def _given(row: Mapping[Hashable, Any]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in str(row["choice"]).split(";") if "=" in part)


def _choices(row: Mapping[Hashable, Any]) -> tuple[tuple[str, str], ...]:
    """Return a printed row's choices as keys of a config."""
    given = _given(row)
    chosen = {key: given[key] for key in DIRECT if key in given}
    if row["method"] == "ceat":
        chosen |= {"stats.ceat_samples": given["N"]} if "N" in given else {}
        chosen |= {"stats.ceat_mode": "fixed"} if given.get("sentences") == "fixed" else {}
    if row["method"] == "lpbs" or given.get("association") == "probability":
        chosen = {key: value for key, value in chosen.items() if key != "encoding"} | {"association": "probability"}
        chosen |= {} if chosen.get("context") == "reddit" else {"context": "pairs"}
        chosen |= {"stats": "kurita2019"} if row["method"] == "lpbs" and row["paper"] == "husse2022" else {}
        chosen |= {"stats.lpbs_targets": "reduced"} if given.get("words") == "reduced" else {}
    if row["method"] == "valnorm" and "lexicon" in given:
        chosen["lexicon"] = given["lexicon"]
    if row["paper"] == "omrani2023":
        chosen |= {"pooling": "last", "stats": "omrani2023"}
        chosen |= {"association": "omrani2023"} if given.get("association") == "projection" else {}
    prompt = given.get("prompt")
    if prompt == "bare":
        chosen["context"] = "bare"
    elif prompt:
        chosen |= {"context": "prompt", "context.templates": prompt}
    if "categories" in given:
        chosen |= {"context": "intersectional", "context.categories": given["categories"]}
    return tuple(chosen.items())


def place_of(row: Mapping[Hashable, Any]) -> str:
    """Return the choices of a printed number as a reader tells them apart: targets, context, encoding, words."""
    shown = without(str(row["choice"]), DESCRIPTIONS - {"words", "attributes", "prompt"})
    parts = [str(row["variant"]), *(part.partition("=")[2] for part in shown.split(";"))]
    return " ".join(dict.fromkeys(filter(None, parts)))


def without(choice: str, keys: Collection[str]) -> str:
    """Return a printed choice without some of its keys."""
    return ";".join(part for part in choice.split(";") if part.partition("=")[0] not in keys)
