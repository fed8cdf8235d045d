"""The named statistical choices: one dataclass for the config, the methods and the fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from harness.errors import HarnessError, did_you_mean

ALTERNATIVES = ("greater", "less", "two-sided", "observed")
NULLS = ("exact", "monte_carlo", "normal", "normal_fit", "saddlepoint")
TIES = ("inclusive", "strict")
EXCLUDE = ("all", "any")
LPBS_AGGREGATES = ("ratio_of_sums", "mean_log_ratio")
LPBS_MULTI_TOKEN = ("masks", "first", "product")
LPBS_CAUSAL = ("sentence", "left")
LPBS_TARGETS = ("full", "reduced")
LPBS_ATTRIBUTES = ("listed", "adjectives")
CEAT_VARIANCES = ("association", "effect")
CEAT_SAMPLINGS = ("published", "with")
CEAT_MODES = ("random", "fixed")
CEAT_ALTERNATIVES = ("two-sided", "greater")


@dataclass
class StatsOptions:
    """Conventions that the papers leave open and their code fills differently; see docs/conventions.md.

    ``alternative_level2`` is the tail of ML-EAT's level 2. ``exact_limit`` is the number of arrangements beyond which
    an exact null gives way to Monte Carlo (None: exact wherever it can be certified). ``epsilon`` is added to every
    standard deviation. ``ci_resamples`` = 0 switches the bootstrap interval off. ``eibd_exclude``: a word is not
    emergent if *all* its constituent scores exceed the threshold (appendix of guo2021), or *any* (its main text).
    ``wefat_keep`` is the share of words, those nearest to the centroid of all, that WEFAT keeps (1: every word; the
    supplement of caliskan2017 kept .8 of its names).

    CEAT: ``ceat_samples`` is N; ``ceat_variance`` the in-sample variance (of the associations, as published, or of d
    itself); ``ceat_sampling`` without replacement where a stimulus has N contexts (``published``) or always ``with``;
    ``ceat_mode`` draws for every model by itself (``random``) or the same for all (``fixed``); ``ceat_alternative`` the
    tail of the combined effect size. A stimulus with fewer than ``ceat_min_contexts`` contexts counts as missing, and a
    set that keeps less than ``ceat_min_share`` of its stimuli does not carry the test. ``ceat_tolerance`` is how near
    the combined effect size should be to that of endless samples.

    LPBS: ``lpbs_aggregate`` is equation (10) or the mean over targets; ``lpbs_multi_token`` how a masked model scores a
    target of several pieces, ``lpbs_causal`` the estimator of a causal one; ``lpbs_targets`` keeps every target or only
    those that are one piece of the model's vocabulary; ``lpbs_attributes`` takes attributes as listed or in their
    adjective form; ``lpbs_alternative`` is the tail, two-sided as published.
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
    ceat_samples: int = 1_000
    ceat_variance: str = "association"
    ceat_sampling: str = "published"
    ceat_mode: str = "random"
    ceat_alternative: str = "two-sided"
    ceat_min_contexts: int = 1
    ceat_min_share: float = 0.5
    ceat_tolerance: float = 0.02
    lpbs_aggregate: str = "ratio_of_sums"
    lpbs_multi_token: str = "masks"
    lpbs_causal: str = "sentence"
    lpbs_targets: str = "full"
    lpbs_attributes: str = "listed"
    lpbs_alternative: str = "two-sided"

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
            ("ceat_variance", CEAT_VARIANCES),
            ("ceat_sampling", CEAT_SAMPLINGS),
            ("ceat_mode", CEAT_MODES),
            ("ceat_alternative", CEAT_ALTERNATIVES),
            ("lpbs_aggregate", LPBS_AGGREGATES),
            ("lpbs_multi_token", LPBS_MULTI_TOKEN),
            ("lpbs_causal", LPBS_CAUSAL),
            ("lpbs_targets", LPBS_TARGETS),
            ("lpbs_attributes", LPBS_ATTRIBUTES),
            ("lpbs_alternative", ALTERNATIVES),
        ):
            one_of(f"stats.{key}", getattr(self, key), allowed)
        if self.ddof not in (0, 1):
            raise HarnessError(f"stats.ddof={self.ddof}: is 0 or 1.")
        if self.resamples < 1:
            raise HarnessError(f"stats.resamples={self.resamples}: must be 1 or more.")
        if self.exact_limit is not None and self.exact_limit < 0:
            raise HarnessError(f"stats.exact_limit={self.exact_limit}: must be 0 (never exact) or more, or null.")
        if self.ci_resamples < 0 or self.ci_resamples == 1:
            raise HarnessError(f"stats.ci_resamples={self.ci_resamples}: must be 0 (no interval), or 2 or more.")
        if self.epsilon < 0:
            raise HarnessError(f"stats.epsilon={self.epsilon}: must be 0 or more.")
        if not 0 < self.wefat_keep <= 1:
            raise HarnessError(f"stats.wefat_keep={self.wefat_keep}: is a share above 0, up to 1.")
        if self.ceat_samples < 2:
            raise HarnessError(f"stats.ceat_samples={self.ceat_samples}: a random-effects model needs at least 2.")
        if self.ceat_min_contexts < 1:
            raise HarnessError(f"stats.ceat_min_contexts={self.ceat_min_contexts}: must be 1 or more.")
        if not 0 <= self.ceat_min_share <= 1:
            raise HarnessError(f"stats.ceat_min_share={self.ceat_min_share}: is a share from 0 to 1.")
        if self.ceat_tolerance <= 0:
            raise HarnessError(f"stats.ceat_tolerance={self.ceat_tolerance}: must be above 0.")
        if not 0 < self.confidence < 1:
            raise HarnessError(f"stats.confidence={self.confidence}: must lie between 0 and 1.")


def one_of(key: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise one sentence unless the value is among those allowed."""
    if value not in allowed:
        raise HarnessError(f"{key}={value}: is one of {', '.join(allowed)}.{did_you_mean(str(value), allowed)}")
