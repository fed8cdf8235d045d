"""The report of an audit: one HTML file that stands alone, its figures also as PNG and SVG, its tables as JSON."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harness.audit.calibration_section import calibration_section
from harness.audit.methods_text import cited, methods_section, references
from harness.audit.page import Entry, Link, image, page, paragraphs, table
from harness.audit.recorded import QUESTION
from harness.audit.robustness import Audit, share, summary
from harness.natural import natural_key
from harness.result import Result, ResultStore, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CURVES = 8
"""Curves that are drawn: those of the widest range of d; the overview and the table have all."""

SHORTEST_CURVE = 4
"""Specifications from which on a curve of its own says more than the overview."""

MOST_ROWS = 60
"""Rows of a figure; the table below it has all."""

MOST_CELLS = 2_000
"""Rows of the table of cells; those without numbers come first."""

REPORT = "report.html"


def write_report(found: Audit, folder: Path, *, figures: bool = True) -> list[Path]:
    """Write the report and everything beside it; return the files, the report first."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = dict(_draw(found, folder)) if figures else {}
    files = [folder / REPORT, folder / "audit.json", folder / "methods.txt", folder / "references.bib"]
    write_atomically(files[0], html(found, folder, drawn))
    write_atomically(files[1], json.dumps(as_data(found), indent=1, ensure_ascii=False))
    write_atomically(files[2], "\n\n".join(methods_section(found)) + "\n")
    write_atomically(files[3], references(cited(found)) + "\n")
    return [*files, *(path.with_suffix(ending) for path in drawn.values() for ending in (".png", ".svg"))]


def _draw(found: Audit, folder: Path) -> Iterator[tuple[str, Path]]:
    """Draw every figure; yield its name and its SVG."""
    from harness.plots import calibration, multiverse, reliability, sensitivity, specification_curve

    if any(effect.pairs for effect in found.sensitivity):
        yield "sensitivity", _save(sensitivity.figure(found.sensitivity), folder / "sensitivity")
    if found.calibration.rows:
        yield "calibration", _save(calibration.figure(found.calibration.rows), folder / "calibration")
    if found.calibration.texts.rows:
        drawing = calibration.figure(found.calibration.texts.rows)
        yield "calibration of texts", _save(drawing, folder / "calibration-texts")
    if found.reliability:
        yield "reliability", _save(reliability.figure(found.reliability[:MOST_ROWS]), folder / "reliability")
    yield "multiverse", _save(multiverse.figure(found.curves[:MOST_ROWS]), folder / "multiverse")
    long = [curve for curve in found.curves if len(curve.cells) >= SHORTEST_CURVE]
    widest = sorted(long, key=lambda curve: curve.low - curve.high)[:MOST_CURVES]
    for curve in found.curves:
        if curve in widest:
            # `save` puts the ending in the place of the last dot's.
            stem = folder / f"curve-{quote(curve.test, safe='').replace('.', '%2E')}"
            yield f"curve {curve.test}", _save(specification_curve.figure(curve, found.factors.choices), stem)


def _save(drawing: Figure, stem: Path) -> Path:
    from harness.plots.style import DPI, save

    # The layout is the same for both files: found once, it need not be found again. Hinted text is wider at one
    # resolution than at another, so that it is found at the one of the PNG.
    drawing.set_dpi(DPI)
    engine = drawing.get_layout_engine()
    if engine is not None:
        engine.execute(drawing)
    drawing.set_layout_engine("none")
    return save(drawing, stem)[1]


def html(found: Audit, folder: Path, drawn: dict[str, Path]) -> str:
    """Return the page."""
    sections = [
        ("sensitivity", "What each factor is worth", _sensitivity(found, folder, drawn)),
        ("curves", "Specification curves", _curves(found, drawn)),
        ("calibration", "What a p-value is worth", calibration_section(found.calibration, drawn)),
        ("reliability", "What single words are worth", _reliability(found, drawn)),
        ("cells", "Cells", _cells(found, folder)),
        ("methods", "Methods, to quote", _methods(found)),
    ]
    first, *rest = summary(found)
    lead = [paragraphs([first], kind="first"), paragraphs(rest)]
    trouble = found.cells.trouble()
    if trouble:
        lines = "".join(f"<li>{_escaped(line)}</li>" for line in trouble)
        lead.append(f'<div class="trouble"><strong>Cells without numbers</strong><ul>{lines}</ul></div>')
    lead += [paragraphs(_about(found), kind="meta")]
    return page(f"How robust is sweep {found.cells.sweep}?", sections, lead="\n".join(lead))


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def _about(found: Audit) -> list[str]:
    written = time.strftime("%Y-%m-%d", time.gmtime())
    command = str(found.record.get("command") or "")
    lines = [f"Audited {written}, from result files. Command of the sweep: {command}"]
    lines += found.planned()
    return lines


def _curves(found: Audit, drawn: dict[str, Path]) -> str:
    rows: list[list[Entry]] = []
    for curve in found.curves:
        known = curve.inference
        rows.append(
            [
                curve.test,
                len(curve.cells),
                curve.median,
                curve.low,
                curve.high,
                curve.significant,
                curve.sign_changes,
                curve.lacking,
                *([known.p_median, known.p_share, known.null_low, known.null_high] if known else [None] * 4),
            ]
        )
    head = [
        "test",
        "specifications",
        "median d",
        "smallest d",
        "largest d",
        "share significant",
        "share of sign changes",
        "cells without d",
    ]
    head += ["p of the median", "p of the share", "null median 2.5 %", "null median 97.5 %"]
    notes = [
        "Each test is a question of its own; its specifications are every combination of choices that was measured. "
        "The last four columns relabel the target words between X and Y, jointly in all specifications of a test: how "
        "often is the median d as far from zero, and as large a share significant (each verdict by the rank of its "
        "statistic among the relabellings)?"
    ]
    drawn_tests = {curve.test for curve in found.curves}
    alone = [f"{test} ({number:,} cells)" for test, number in found.lacking.items() if test not in drawn_tests]
    if alone:
        notes.append(f"Tests of which no cell has an effect size: {', '.join(sorted(alone, key=natural_key))}.")
    if sum(len(curve.cells) >= SHORTEST_CURVE for curve in found.curves) > MOST_CURVES:
        notes.append(f"Drawn by themselves are the {MOST_CURVES} tests of {len(found.curves)} whose d varies most.")
    images = [
        image(
            drawn,
            "multiverse",
            caption="Every specification of every test; grey is what the median may be when targets are relabelled.",
            alt="; ".join(f"{curve.test}: median d {curve.median:.2f}" for curve in found.curves[:10]),
        )
    ]
    images += [
        image(
            drawn,
            f"curve {curve.test}",
            caption=f"{curve.test}: every specification by its effect, with its interval; below, the choices of each.",
            alt=f"Specification curve of {curve.test}: d from {curve.low:.2f} to {curve.high:.2f}, median "
            f"{curve.median:.2f}, {share(curve.significant)} significant",
        )
        for curve in found.curves
    ]
    return "\n".join([paragraphs(notes), table(head, rows, label="Specification curves of all tests"), *images])


def _sensitivity(found: Audit, folder: Path, drawn: dict[str, Path]) -> str:
    if not found.sensitivity:
        return paragraphs(["No choice varies in this sweep."])
    store = ResultStore(found.cells.runs)
    rows: list[list[Entry]] = [
        [
            effect.factor,
            effect.kind,
            effect.levels,
            effect.pairs,
            effect.mean_change,
            effect.largest_change,
            effect.sign_flips,
            effect.verdict_flips,
            effect.pattern_flips,
            *(_link(store, key, folder) for key in effect.example or ()),
            *([None, None] if effect.example is None else []),
        ]
        for effect in found.sensitivity
    ]
    head = ["factor", "kind", "values", "pairs", "mean |Δd|", "largest |Δd|", "sign flips", "verdict flips"]
    head += ["pattern flips", "largest: one", "largest: other"]
    parts = [
        paragraphs(["Pairs of cells that differ in one factor alone; shares are of pairs. A verdict is p < .05."]),
        table(head, rows, label="Sensitivity of every factor"),
        image(
            drawn,
            "sensitivity",
            caption="Mean |Δd| between cells that differ in one factor alone, and how often the answer changes.",
            alt="Bars: " + ", ".join(f"{effect.factor} {effect.mean_change:.2f}" for effect in found.sensitivity[:8]),
        ),
    ]
    if found.variance is not None:
        shares = found.variance
        note = f"Analysis of variance of d on the balanced part: {shares.cells:,} of {shares.of:,} cells."
        if shares.dropped:
            note += f" Left out to balance it: {', '.join(shares.dropped[:12])}."
        note += " Terms below .0005 of all are left out."
        visible = [s for s in shares.shares if s.of_all >= 0.0005]
        entries: list[list[Entry]] = [[s.term, s.of_all, s.within_tests] for s in visible]
        parts += ["<h3>Shares of variance</h3>", paragraphs([note])]
        parts.append(table(["term", "share of all", "share within tests"], entries, label="Shares of variance"))
    return "\n".join(parts)


def _link(store: ResultStore, fingerprint: str, folder: Path) -> Link:
    path = os.path.relpath(store.folder(fingerprint) / "result.json", folder)
    return Link(fingerprint[:10], quote(Path(path).as_posix()))


def _reliability(found: Audit, drawn: dict[str, Path]) -> str:
    rows: list[list[Entry]] = []
    for r in found.reliability:
        row: list[Entry] = [r.test, r.model, r.vectors, r.d, r.low, r.high, r.word, r.word_set, r.with_word, r.without]
        rows.append([*row, r.decided, r.decider, r.half_spread, r.half_agreement])
    if not rows:
        return paragraphs(["No cell records the associations of its words."])
    head = ["test", "model", "vectors", "d", "smallest d", "largest d", "carried by", "set", "d with it"]
    head += ["d without it", "one word decides the sign in", "mostly", "spread over halves", "halves agree in sign"]
    notes = [
        "d with one target word left out, and over random halves of X and of Y; medians over the vectors "
        "of associations that the cells of a test and model recorded. d with and without the word "
        "that carries most of them is over those that hold it."
    ]
    if found.split_half is not None:
        half = found.split_half
        notes.append(
            f"Over {half.pairs} pairs of a test and a model, d of one random half correlates with d of the other at "
            f"r = {half.r:.2f}; stepped up to full length (Spearman–Brown) {half.spearman_brown:.2f}."
        )
    shown = image(
        drawn,
        "reliability",
        caption="d of all words, its range with one left out, and its spread over halves; a diamond: one word decides.",
        alt="; ".join(f"{row.test} {row.model} d {row.d:.2f}" for row in found.reliability[:8]),
    )
    return "\n".join([paragraphs(notes), table(head, rows, label="Reliability"), shown])


def _cells(found: Audit, folder: Path) -> str:
    store = ResultStore(found.cells.runs)
    varying = [name for name in (QUESTION, *found.factors.choices) if name in found.measured[0].factors]
    every = [*found.cells.unfinished, *found.other, *found.measured]
    gone: list[list[Entry]] = [
        [*(_factor(factors.get(name)) for name in varying), *[None] * 4, "missing", key[:10]]
        for key, factors in found.cells.lost.items()
    ]
    added = set((found.record.get("frozen_plan") or {}).get("added_cells", ()))
    head = [*varying, "d", "p", "ci low", "ci high", "status", "run"]

    def row(result: Result) -> list[Entry]:
        numbers = [result.metrics.get(name) for name in ("d", "p", "ci_low", "ci_high")]
        status = result.status if not result.reason else f"{result.status}: {result.reason}"
        status += " (not in the plan)" if result.fingerprint in added else ""
        factors = [_factor(result.factors.get(name)) for name in varying]
        return [*factors, *numbers, status, _link(store, result.fingerprint, folder)]

    notes = ["Each run leads to its result file. `harness ui` shows the same cells in MLflow, by fingerprint."]
    if len(gone) + len(every) > MOST_CELLS:
        notes.append(
            f"The first {MOST_CELLS:,} of {len(gone) + len(every):,}; `harness export --sweep {found.cells.sweep}` has "
            "all."
        )
    shown = [*gone, *map(row, every[:MOST_CELLS])][:MOST_CELLS]
    return paragraphs(notes) + table(head, shown, label="All cells", kind="cells")


def _factor(value: Any) -> Entry:
    return value if value is None or isinstance(value, int | str) else str(value)


def _methods(found: Audit) -> str:
    bibtex = references(cited(found))
    return paragraphs(methods_section(found)) + f"<h3>BibTeX</h3><pre tabindex='0'>{_escaped(bibtex)}</pre>"


def as_data(found: Audit) -> dict[str, Any]:
    """Return the audit as plain data, for other programs."""
    return {
        "sweep": found.cells.sweep,
        "summary": summary(found),
        "cells": {
            "measured": len(found.measured),
            "without_effect_size": len(found.other),
            **Counter(result.status for result in found.cells.unfinished),
            "missing": len(found.cells.lost),
        },
        "trouble": found.cells.trouble(),
        "frozen_plan": found.record.get("frozen_plan"),
        "curves": [
            {
                **{
                    name: getattr(curve, name)
                    for name in ("test", "median", "low", "high", "significant", "sign_changes", "lacking")
                },
                "specifications": len(curve.cells),
                "inference": None if curve.inference is None else asdict(curve.inference),
            }
            for curve in found.curves
        ],
        "sensitivity": [asdict(effect) for effect in found.sensitivity],
        "variance": None if found.variance is None else asdict(found.variance),
        "calibration": asdict(found.calibration),
        "reliability": [asdict(row) for row in found.reliability],
        "split_half": None if found.split_half is None else asdict(found.split_half),
    }
