"""What each factor is worth: pairs of cells that differ in it alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.audit.recorded import Factors, frame, kind_of
from harness.methods.weat import SIGNIFICANT
from harness.result import Result

if TYPE_CHECKING:
    import pandas as pd

NEGLIGIBLE = 0.01
"""A mean |Δd| below which no reader of two decimals would see a difference."""


@dataclass(frozen=True)
class FactorEffect:
    """What changing one factor, and nothing else, does.

    Attributes
    ----------
    factor, kind : str
        The factor, and whether it is the model, a design choice, a statistical convention, or chance.
    levels : int
        Values that it has.
    pairs : int
        Pairs of cells that differ in this factor alone.
    mean_change, largest_change : float
        Mean and largest |Δd| over the pairs.
    sign_flips, verdict_flips : float
        Share of pairs whose d differ in sign, and whose p lie on different sides of .05.
    pattern_flips : float or None
        Share of pairs that differ in ML-EAT's pattern; None where there are no patterns.
    example : tuple of str
        The fingerprints of the pair of the largest |Δd|.
    """

    factor: str
    kind: str
    levels: int
    pairs: int
    mean_change: float
    largest_change: float
    sign_flips: float
    verdict_flips: float
    pattern_flips: float | None
    example: tuple[str, str] | None

    @property
    def matters(self) -> bool:
        """Whether any reader would notice: d moves by .01 on average, or a sign, verdict or pattern changes."""
        return self.mean_change >= NEGLIGIBLE or self.flips

    @property
    def flips(self) -> bool:
        """Whether any pair changes sign, verdict or pattern."""
        return self.sign_flips > 0 or self.verdict_flips > 0 or (self.pattern_flips or 0) > 0


def sensitivity(results: Sequence[Result], factors: Factors) -> list[FactorEffect]:
    """Return every factor that varies but the test, the largest mean |Δd| first.

    Notes
    -----
    Two cells are a matched pair of a factor if they differ in it and agree in every other. A factor that has no meaning
    for one of the two values (pooling under sentence encoding) need not agree; one that only goes along with the factor
    (a preset's ties) cannot.
    """
    table = frame(results, names=["fingerprint", "d", "p", "pattern", *factors.varying])
    codes = {name: _codes(table[name]) for name in factors.varying}
    effects = [_effect(name, table, codes) for name in factors.choices]
    # With one value where it has a meaning and no pair, a factor only tells where it applies (unit, outside SEAT).
    effects = [effect for effect in effects if effect.pairs or codes[effect.factor].max() > 0]
    return sorted(effects, key=lambda effect: (-effect.mean_change, -effect.verdict_flips, effect.factor))


def _codes(column: pd.Series[str]) -> NDArray[np.intp]:
    """Return the number of each value; −1 where the factor has no meaning."""
    import pandas as pd

    texts = np.array([None if value is None or value != value else str(value) for value in column], dtype=object)
    return np.asarray(pd.factorize(texts)[0])


def _effect(name: str, table: pd.DataFrame, codes: dict[str, NDArray[np.intp]]) -> FactorEffect:
    own = codes[name]
    left, right = _pairs(name, codes)
    d, p = table["d"].to_numpy(dtype=float), table["p"].to_numpy(dtype=float)
    levels = len(np.unique(own))
    if not len(left):
        return FactorEffect(name, kind_of(name), levels, 0, 0.0, 0.0, 0.0, 0.0, None, None)
    change = np.abs(d[left] - d[right])
    keys = table["fingerprint"].to_numpy()
    widest = int(np.argmax(change))
    patterns = _codes(table["pattern"])
    both = (patterns[left] >= 0) & (patterns[right] >= 0)
    differ = patterns[left] != patterns[right]
    return FactorEffect(
        factor=name,
        kind=kind_of(name),
        levels=levels,
        pairs=len(left),
        mean_change=float(change.mean()),
        largest_change=float(change[widest]),
        sign_flips=float((np.sign(d[left]) * np.sign(d[right]) < 0).mean()),
        verdict_flips=float(((p[left] < SIGNIFICANT) != (p[right] < SIGNIFICANT)).mean()),
        pattern_flips=float(differ[both].mean()) if both.any() else None,
        example=(str(keys[left[widest]]), str(keys[right[widest]])),
    )


def _pairs(name: str, codes: dict[str, NDArray[np.intp]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the matched pairs of a factor."""
    import pandas as pd

    own = codes[name]
    members = {int(level): np.flatnonzero(own == level) for level in np.unique(own)}
    lefts, rights = [], []
    for one, other in itertools.combinations(members.values(), 2):
        shared = [
            code
            for factor, code in codes.items()
            if factor != name and not (_meaningless(code, one) ^ _meaningless(code, other))
        ]
        frames = [pd.DataFrame({"key": _joined(shared, at), "at": at}) for at in (one, other)]
        pairs = frames[0].merge(frames[1], on="key")
        lefts.append(pairs["at_x"].to_numpy(dtype=np.intp))
        rights.append(pairs["at_y"].to_numpy(dtype=np.intp))
    return (np.concatenate(lefts), np.concatenate(rights)) if lefts else (np.empty(0, np.intp), np.empty(0, np.intp))


def _meaningless(code: NDArray[np.intp], members: NDArray[np.intp]) -> bool:
    return bool((code[members] == -1).all())


def _joined(codes: Sequence[NDArray[np.intp]], at: NDArray[np.intp]) -> NDArray[np.int64]:
    key = np.zeros(len(at), dtype=np.int64)
    for code in codes:
        key = key * (int(code.max()) + 2) + code[at] + 1
    return key
