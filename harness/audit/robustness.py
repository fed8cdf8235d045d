"""The audit of a sweep: everything that its recorded cells say about how robust they are, in one object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.audit.association_groups import association_groups
from harness.audit.calibration import DRAWS, Calibration, calibration
from harness.audit.calibration_section import texts_in_words
from harness.audit.frequency import BANDS, BUNDLED
from harness.audit.recorded import QUESTION, Factors, Recorded, factors_of, load_recorded
from harness.audit.reliability import Reliability, SplitHalf, reliability
from harness.audit.sensitivity import FactorEffect, sensitivity
from harness.audit.specification import Curve, curves
from harness.audit.variance import VarianceShares, variance_shares
from harness.errors import HarnessError
from harness.result import Result
from harness.tables import sweep_record


@dataclass(frozen=True)
class Audit:
    """What an audit found; ``measured`` are the cells with an effect size, ``other`` the finished ones without."""

    cells: Recorded
    measured: list[Result]
    other: list[Result]
    factors: Factors
    curves: list[Curve]
    sensitivity: list[FactorEffect]
    variance: VarianceShares | None
    calibration: Calibration
    reliability: list[Reliability]
    split_half: SplitHalf | None
    record: dict[str, Any]

    @property
    def decisive(self) -> FactorEffect | None:
        """The factor of the largest mean |Δd|, or None where no factor moves anything that a reader would see."""
        return next((effect for effect in self.sensitivity if effect.matters), None)

    @property
    def lacking(self) -> Counter[str]:
        """How many cells of each test were asked for and have no effect size."""
        return lacking(self.cells, self.other)

    @property
    def seconds(self) -> float:
        """The time that measuring all cells took, added up."""
        return sum(result.seconds for result in self.cells.results)

    def planned(self) -> list[str]:
        """Say which cells were planned before the sweep and which were added, if a plan was frozen."""
        plan = self.record.get("frozen_plan")
        if not plan:
            return []
        return [
            f"Planned before: {plan['planned']:,} cells, frozen as {plan['hash'][:16]}. Cells of this sweep that were "
            f"added to the plan: {plan['added']:,}; cells of the plan that were left out: {plan['left_out']:,}."
        ]


def lacking(cells: Recorded, other: list[Result]) -> Counter[str]:
    """Count the cells of each test without an effect size: failed, skipped, missing, or of a method that has none."""
    without = [result.factors for result in (*cells.unfinished, *other)]
    return Counter(str(factors.get(QUESTION)) for factors in (*without, *cells.lost.values()))


def audit(
    runs: Path,
    sweep: str,
    *,
    draws: int = 1_999,
    calibration_draws: int = DRAWS,
    vectors: bool = True,
    frequency: str = BUNDLED,
    bands: int = BANDS,
    seed: int = 0,
) -> Audit:
    """Audit a recorded sweep from its result files.

    Parameters
    ----------
    runs
        The folder of runs.
    sweep
        The sweep's id, its first digits, or ``last``.
    draws
        Joint relabellings of the targets for the inference on each curve.
    calibration_draws
        Random tests for each convention.
    vectors
        Whether calibration may open static models to draw new words.
    frequency, bands
        By which list, and in how many bands of it, those words are matched; see ``harness.audit.frequency``.
    seed
        Of everything that is drawn.
    """
    cells = load_recorded(runs, sweep=sweep)
    measured = [result for result in cells.finished if "d" in result.metrics and "p" in result.metrics]
    other = [result for result in cells.finished if "d" not in result.metrics or "p" not in result.metrics]
    if not measured:
        raise HarnessError(
            f"Sweep {cells.sweep} has no finished cell with an effect size d and a p: there is nothing to audit. "
            f"{' '.join(cells.trouble()[:3])}".rstrip()
        )
    factors, groups = factors_of(measured), association_groups(measured)
    words, halves = reliability(measured, groups, seed=seed)
    record = sweep_record(runs, str(cells.sweep))
    return Audit(
        cells=cells,
        measured=measured,
        other=other,
        factors=factors,
        curves=curves(measured, factors, groups, lacking=lacking(cells, other), draws=draws, seed=seed),
        sensitivity=sensitivity(measured, factors),
        variance=variance_shares(measured, factors),
        calibration=calibration(
            measured,
            runs=runs,
            draws=calibration_draws,
            seed=seed,
            vectors=vectors,
            frequency=frequency,
            bands=bands,
        ),
        reliability=words,
        split_half=halves,
        record=record,
    )


def share(value: float) -> str:
    """Return a share as a percentage that is zero or all only if it is."""
    if 0 < value < 0.005:
        return "under 1 %"
    if 0.995 < value < 1:
        return "over 99 %"
    return f"{value:.0%}".replace("%", " %")


def summary(found: Audit) -> list[str]:
    """Return the audit in words, the factor of the largest mean |Δd| first."""
    return [
        _decisive(found),
        *_runners_up(found),
        *_curves_in_words(found),
        *_calibration_in_words(found),
        *texts_in_words(found.calibration.texts),
        *_words_in_words(found),
        _counts(found),
    ]


def _decisive(found: Audit) -> str:
    effect = found.decisive
    if not found.sensitivity:
        return "No choice varies in this sweep: nothing can be said about what a choice is worth."
    if effect is None:
        names = ", ".join(one.factor for one in found.sensitivity)
        widest = max(one.mean_change for one in found.sensitivity)
        return (
            f"Nothing that was varied matters: none of {names} moves d by more than {widest:.3f} on average, and no "
            "sign, verdict or pattern changes."
        )
    if not any(one.mean_change for one in found.sensitivity):
        return (
            f"No factor moves d; {_named(effect)} changes the verdict of {share(effect.verdict_flips)} "
            f"of {effect.pairs:,} matched pairs."
        )
    return (
        f"The factor that moves results most is {_named(effect)}: changing it alone moves d by "
        f"{effect.mean_change:.2f} on average (at most {effect.largest_change:.2f}); {_flips(effect)}, over "
        f"{effect.pairs:,} matched pairs."
    )


def _named(effect: FactorEffect) -> str:
    return "the model" if effect.factor == effect.kind else f"{effect.factor} ({effect.kind})"


def _flips(effect: FactorEffect) -> str:
    parts = [
        f"the sign flips in {share(effect.sign_flips)}",
        f"the verdict at .05 in {share(effect.verdict_flips)}",
    ]
    if effect.pattern_flips is not None:
        parts.append(f"the pattern in {share(effect.pattern_flips)}")
    return ", ".join(parts)


def _runners_up(found: Audit) -> list[str]:
    """Name the first of every other kind of factor, and those that change nothing."""
    first = found.decisive
    lines = []
    for kind in ("model", "design choice", "statistical convention", "chance"):
        best = next((one for one in found.sensitivity if one.kind == kind and one is not first and one.matters), None)
        if best is not None and first is not None and kind != first.kind:
            what = {"model": "Of the models", "chance": "Chance"}.get(
                kind, f"Of the {kind}s, {best.factor} comes first"
            )
            lines.append(f"{what}: mean |Δd| {best.mean_change:.2f}, {_flips(best)}.")
    idle = [one.factor for one in found.sensitivity if not one.matters and one.pairs]
    if idle and first is not None:
        lines.append(f"Without any visible effect: {', '.join(idle)}.")
    alone = [one.factor for one in found.sensitivity if not one.pairs]
    if alone:
        lines.append(f"No two cells differ in {' or '.join(alone)} alone: what that is worth cannot be told.")
    return lines


def _curves_in_words(found: Audit) -> list[str]:
    steady = [curve.test for curve in found.curves if curve.significant in (0.0, 1.0) and curve.sign_changes == 0]
    lines = []
    if len(steady) == len(found.curves):
        lines.append(f"All {len(steady)} tests have one verdict and one sign in every specification.")
    elif steady:
        lines.append(f"{len(steady)} of {len(found.curves)} tests have one verdict and one sign in all specifications.")
    shaky = [
        f"{curve.test} (significant in {share(curve.significant)}, sign changes in {share(curve.sign_changes)}, d from "
        f"{curve.low:.2f} to {curve.high:.2f})"
        for curve in found.curves
        if curve.test not in steady
    ]
    if shaky:
        more = f", and {len(shaky) - 4} more" if len(shaky) > 4 else ""
        lines.append(f"Not robust: {'; '.join(shaky[:4])}{more}.")
    chance = [c.test for c in found.curves if c.inference is not None and c.inference.p_median >= 0.05]
    known = [c for c in found.curves if c.inference is not None]
    if known and chance:
        lines.append(
            f"For {', '.join(chance)} the median of all specifications is within what relabelling the targets gives."
        )
    return lines


def _calibration_in_words(found: Audit) -> list[str]:
    rows = found.calibration.rows
    if not rows:
        return []
    liberal = [row for row in rows if row.rates[0].verdict == "too often"]
    if len(rows) == 1:
        rate = rows[0].rates[0]
        kept = {"nominal": "keeps its level of .05", "too often": "finds something too often at .05"}
        verdict = kept.get(rate.verdict, "finds something too seldom at .05")
        return [f"Where nothing is planted, the one convention ({rows[0].convention}) {verdict}: {rate.share:.1%}."]
    if not liberal:
        return [f"Where nothing is planted, all {len(rows)} conventions keep their level of .05."]
    worst = max(liberal, key=lambda row: row.rates[0].share)
    return [
        f"Where nothing is planted, {len(liberal)} of {len(rows)} conventions find something too often at .05; the "
        f"worst ({worst.convention}) in {worst.rates[0].share:.1%} of tests."
    ]


def _words_in_words(found: Audit) -> list[str]:
    unsafe = [row for row in found.reliability if not row.sign_safe]
    if not unsafe:
        return []
    listed = ", ".join(
        f"{row.test} on {row.model} ({row.decider}; {row.decided} of {row.vectors})" for row in unsafe[:4]
    )
    more = f" and {len(unsafe) - 4} more" if len(unsafe) > 4 else ""
    return [f"A single word decides the sign, in some or all vectors, of {listed}{more}."]


def _counts(found: Audit) -> str:
    statuses = [result.status for result in found.cells.results]
    parts = [f"{len(found.measured):,} cells measured"]
    if found.other:
        parts.append(f"{len(found.other):,} finished without an effect size")
    parts += [f"{statuses.count(name):,} {name}" for name in ("failed", "skipped") if name in statuses]
    if found.cells.lost:
        parts.append(f"{len(found.cells.lost):,} missing")
    return f"{', '.join(parts)}; measuring took {found.seconds:,.0f} s of one core."
