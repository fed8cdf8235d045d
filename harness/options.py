"""The named statistical choices: one dataclass for the config, the methods and the fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from harness.errors import HarnessError, did_you_mean

ALTERNATIVES = ("greater", "less", "two-sided", "observed")
NULLS = ("exact", "monte_carlo", "normal", "normal_fit", "saddlepoint")
TIES = ("inclusive", "strict")
EXCLUDE = ("all", "any")


@dataclass
class StatsOptions:
    """Conventions that the papers leave open and their code fills differently; see docs/conventions.md.

    ``alternative_level2`` is the tail of ML-EAT's level 2. ``exact_limit`` is the number of arrangements beyond which
    an exact null gives way to Monte Carlo (None: exact wherever it can be certified). ``epsilon`` is added to every
    standard deviation. ``ci_resamples`` = 0 switches the bootstrap interval off. ``eibd_exclude``: a word is not
    emergent if *all* its constituent scores exceed the threshold (appendix of guo2021), or *any* (its main text).
    ``wefat_keep`` is the share of words, those nearest to the centroid of all, that WEFAT keeps (1: every word; the
    supplement of caliskan2017 kept .8 of its names).
    """

    name: str = "default"
    description: str = ""
    ddof: int = 1
    epsilon: float = 0.0
    alternative: str = "greater"
    alternative_level2: str = "observed"
    null: str = "exact"
    ties: str = "inclusive"
    plus_one: bool = True
    resamples: int = 100_000
    exact_limit: int | None = None
    confidence: float = 0.95
    ci_resamples: int = 2_000
    eibd_exclude: str = "all"
    wefat_keep: float = 1.0

    def identity(self) -> dict[str, Any]:
        """Return what determines the numbers: every option, but not the preset's name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in {"name", "description"}}

    def check(self) -> None:
        """Raise one sentence for a value that no option has."""
        for key, allowed in (
            ("alternative", ALTERNATIVES),
            ("alternative_level2", ALTERNATIVES),
            ("null", NULLS),
            ("ties", TIES),
            ("eibd_exclude", EXCLUDE),
        ):
            one_of(f"stats.{key}", getattr(self, key), allowed)
        if self.ddof not in (0, 1):
            raise HarnessError(f"stats.ddof={self.ddof}: is 0 or 1.")
        if self.resamples < 1:
            raise HarnessError(f"stats.resamples={self.resamples}: must be 1 or more.")
        if self.ci_resamples < 0:
            raise HarnessError(f"stats.ci_resamples={self.ci_resamples}: must be 0 (no interval) or more.")
        if not 0 < self.wefat_keep <= 1:
            raise HarnessError(f"stats.wefat_keep={self.wefat_keep}: is a share above 0, up to 1.")
        if not 0 < self.confidence < 1:
            raise HarnessError(f"stats.confidence={self.confidence}: must lie between 0 and 1.")


def one_of(key: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise one sentence unless the value is among those allowed."""
    if value not in allowed:
        raise HarnessError(f"{key}={value}: is one of {', '.join(allowed)}.{did_you_mean(str(value), allowed)}")
