"""False-positive rates with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = (0.05, 0.01)

CONFIDENCE = 0.99
"""Of the intervals, as of those of sampled p-values: a page holds dozens of verdicts, and at 95 % one in twenty would
be wrong by chance."""


@dataclass(frozen=True)
class Rate:
    """The share of tests at or below a level, with its 99 % Clopper–Pearson interval."""

    level: float
    share: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the interval holds the level, lies above it, or below it."""
        return "too often" if self.low > self.level else "too seldom" if self.high < self.level else "nominal"


def rate(hits: int, draws: int, *, level: float) -> Rate:
    """Return a share with its 99 % interval (Clopper & Pearson 1934)."""
    from scipy.stats import beta

    tail = (1.0 - CONFIDENCE) / 2.0
    low = float(beta.ppf(tail, hits, draws - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, draws - hits)) if hits < draws else 1.0
    return Rate(level, hits / draws, low, high)
