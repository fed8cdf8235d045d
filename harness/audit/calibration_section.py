"""The section of a report that tells what a p-value is worth, and its sentences for the summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.audit.calibration import Calibrated, Calibration
from harness.audit.page import Entry, image, paragraphs, table
from harness.audit.rates import Rate
from harness.audit.text_calibration import (
    EFFECT,
    LPBS_ITEM,
    LPBS_STIMULUS,
    PUBLISHED,
    SEAT_ITEM,
    STIMULUS,
    TextCalibrated,
    TextCalibration,
)

HEAD = ["rate at .05", "low", "high", "verdict at .05", "rate at .01", "low", "high", "verdict at .01"]


def calibration_section(known: Calibration, drawn: Mapping[str, Path]) -> str:
    """Return the section: conventions on random words, frequency by itself, and p over texts."""
    if not known.rows and not known.texts.rows:
        return paragraphs(["No cell could be calibrated.", *(f"Not calibrated: {one}." for one in known.left_out)])
    parts = []
    if known.rows:
        notes = [
            f"{known.rows[0].draws:,} tests without a planted association.",
            *(f"{one}." for one in known.drawn_from),
            *(f"{one}." for one in known.matched),
            "A convention keeps its level if the interval of its false-positive rate holds .05, or .01. Conventions "
            "that ask for more than 10,000 shuffles were calibrated with 10,000.",
            *frequency_in_words(known),
        ]
        rows: list[list[Entry]] = [[str(row.convention), row.cells, *_entries(row)] for row in known.rows]
        alt = "; ".join(f"{row.convention}: {row.rates[0].share:.3f}" for row in known.rows[:8])
        caption = "False-positive rate of every convention with its 99 % interval; diamonds lie off the level."
        parts += [
            paragraphs(notes),
            table(["convention", "cells", *HEAD], rows, label="Calibration"),
            image(drawn, "calibration", caption=caption, alt=alt),
        ]
    parts += [_texts(known.texts, drawn)] if known.texts.rows else []
    parts.append(paragraphs([f"Not calibrated: {reason}." for reason in known.left_out]))
    return "\n".join(parts)


def _entries(row: Calibrated | TextCalibrated) -> list[Entry]:
    return [part for one in row.rates for part in (one.share, one.low, one.high, one.verdict)]


def _texts(known: TextCalibration, drawn: Mapping[str, Path]) -> str:
    notes = [
        "Random tests, two-sided. SEAT and CEAT: X, Y, A and B drawn in the sizes of each cell's own from stimuli that "
        "the sweep has encoded, X and Y dealt out at random. LPBS: the attributes of each cell dealt out at random. "
        "Nothing new was encoded.",
        *(f"{one}." for one in [*known.drawn_from, *known.matched]),
        *texts_in_words(known),
    ]
    rows: list[list[Entry]] = [
        [row.convention, row.cells, row.draws, *_entries(row), row.median_log10_p, row.extreme] for row in known.rows
    ]
    head = ["p-value", "cells", "tests", *HEAD, "median log10 p", "share with p < 10⁻³⁰"]
    alt = "; ".join(f"{row.convention}: {row.rates[0].share:.3f}" for row in known.rows)
    caption = "False-positive rates over texts and over words, with 99 % intervals; dashed: the level."
    return "\n".join(
        [
            "<h3>SEAT, CEAT and LPBS</h3>",
            paragraphs(notes),
            table(head, rows, label="Calibration of SEAT, CEAT and LPBS"),
            image(drawn, "calibration of texts", caption=caption, alt=alt),
        ]
    )


def _percent(one: Rate) -> str:
    return f"{one.share:.1%} of tests at {one.level:g} (99 % interval {one.low:.1%} to {one.high:.1%})"


def frequency_in_words(known: Calibration) -> list[str]:
    """Say what frequency does by itself."""
    if known.frequency_alone is None:
        return []
    return [
        "What frequency does by itself: with every set drawn from the bands of its own, so that X and Y may differ in "
        "frequency and in nothing else that was chosen, the exact two-sided test finds something in "
        f"{' and '.join(map(_percent, known.frequency_alone.rates))}."
    ]


def texts_in_words(known: TextCalibration) -> list[str]:
    """Say what the p-values of CEAT, SEAT and LPBS are worth."""
    lines = []
    published, effect, stimulus = (known.row(name) for name in (PUBLISHED, EFFECT, STIMULUS))
    if published and effect and stimulus:
        lines.append(
            f"CEAT on random stimuli: with the published variance p is at most .05 in {published.rates[0].share:.0%} "
            f"of {published.draws:,} tests and below 10⁻³⁰ in {published.extreme:.0%}, where nothing is planted; with "
            f"the sampling variance of d in {effect.rates[0].share:.0%} and {effect.extreme:.0%}. Exchanging whole "
            f"words finds something in {stimulus.rates[0].share:.1%}. A p of 10⁻³⁰ says that these words were read in "
            "many texts, not that other words would agree."
        )
    items = known.row(SEAT_ITEM)
    if items:
        lines.append(
            f"SEAT on random stimuli: exchanging sentences finds something at .05 in {items.rates[0].share:.0%} of "
            f"{items.draws:,} tests, where nothing is planted."
        )
    items, words = known.row(LPBS_ITEM), known.row(LPBS_STIMULUS)
    if items and words:
        lines.append(
            f"LPBS with its attributes dealt out at random: exchanging sentences finds something at .05 in "
            f"{items.rates[0].share:.0%} of {items.draws:,} tests, where nothing is planted; exchanging whole words in "
            f"{words.rates[0].share:.1%}."
        )
    return lines
