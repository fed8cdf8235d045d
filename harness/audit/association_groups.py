"""The recorded association of every target word, s(w, A, B), as matrices: what relabelling and leaving out work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.audit.recorded import QUESTION
from harness.result import Result

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class AssociationGroup:
    """Cells of one test that used the same words.

    Cells that differ in a convention alone (ddof, tail, null) share one row of ``values``: ``row_of`` tells it for each
    of ``cells``, which are positions in the list of results. ``scale`` turns a cell's difference of means into its d.
    """

    test: str
    x_words: tuple[str, ...]
    y_words: tuple[str, ...]
    values: FloatArray
    cells: NDArray[np.intp]
    row_of: NDArray[np.intp]
    scale: FloatArray

    @property
    def words(self) -> tuple[str, ...]:
        """X's words, then Y's."""
        return self.x_words + self.y_words


def association_groups(results: Sequence[Result]) -> list[AssociationGroup]:
    """Group the cells that have an effect size and recorded associations by test and words."""
    members: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[tuple[int, FloatArray]]] = {}
    for index, result in enumerate(results):
        rows = result.tables.get("associations")
        if not rows or "d" not in result.metrics:
            continue
        words: dict[str, list[str]] = {"X": [], "Y": []}
        values: dict[str, list[float]] = {"X": [], "Y": []}
        for row in rows:
            words[row["set"]].append(row["word"])
            values[row["set"]].append(row["s"])
        key = (str(result.factors[QUESTION]), tuple(words["X"]), tuple(words["Y"]))
        members.setdefault(key, []).append((index, np.array(values["X"] + values["Y"])))
    return [_group(key, cells, results) for key, cells in members.items()]


def _group(
    key: tuple[str, tuple[str, ...], tuple[str, ...]], cells: list[tuple[int, FloatArray]], results: Sequence[Result]
) -> AssociationGroup:
    distinct: dict[bytes, int] = {}
    rows: list[FloatArray] = []
    row_of = []
    for _, values in cells:
        at = distinct.setdefault(values.tobytes(), len(rows))
        if at == len(rows):
            rows.append(values)
        row_of.append(at)
    matrix, n_x = np.array(rows), len(key[1])
    differences = matrix[:, :n_x].mean(axis=1) - matrix[:, n_x:].mean(axis=1)
    spreads = matrix.std(axis=1, ddof=1)
    scale = []
    for (index, _), row in zip(cells, row_of, strict=True):
        d, difference, spread = results[index].metrics["d"], differences[row], spreads[row]
        # The spread over X ∪ Y does not change when words change sides, so d is the difference times a constant.
        by_d = d / difference if abs(difference) > 1e-6 * spread else 0.0
        scale.append(by_d if by_d > 0 else 1.0 / spread if spread > 0 else 0.0)
    return AssociationGroup(
        *key,
        values=matrix,
        cells=np.array([index for index, _ in cells]),
        row_of=np.array(row_of),
        scale=np.array(scale),
    )
