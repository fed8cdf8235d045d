"""A single cell: measured (or taken from its result file), recorded and printed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from harness.cell import Cell, compatible, fingerprint
from harness.errors import HarnessError
from harness.methods.weat import SIGNIFICANT
from harness.options import one_of
from harness.paths import runs_dir, writable
from harness.plots.p_text import format_p
from harness.plots.person import per_cent, poles
from harness.progress import texts_bar
from harness.read_as import warnings
from harness.result import Result, ResultStore
from harness.runner import Encoders
from harness.sweep import OVERWRITE, figures_wanted, measure_and_record
from harness.tags import tag_cells
from harness.tracking import Tracker, tracking_settings


def run_single(config: Mapping[str, Any]) -> Result:
    """Run one cell and print it; a cell that cannot be measured raises one sentence."""
    one_of("overwrite", config["overwrite"], OVERWRITE)
    figures = figures_wanted(config["figures"], cells=1)
    runs = writable(runs_dir(config["paths"]["runs"]))
    store = ResultStore(runs)
    cell = Cell.from_config(config)
    reason = compatible(cell)
    if reason:
        raise HarnessError(f"This cell has no meaning: {reason.rstrip('.')}.")
    if config.get("tag"):
        tag_cells(runs, config["tag"], {fingerprint(cell.identity()): cell.factors()})
    settings = tracking_settings(config["tracking"], runs)
    recorded = None if config["overwrite"] == "always" else store.finished(fingerprint(cell.identity()))
    if recorded is not None:
        show_result(recorded, store.folder(recorded.fingerprint), known=True)
        return recorded
    tracker = Tracker(settings) if settings else None
    result = measure_and_record(cell, Encoders(runs, progress=texts_bar), store, tracker, figures=figures)
    if result.status == "failed":
        raise HarnessError(result.reason) if result.mistake else RuntimeError(result.traceback)
    show_result(result, store.folder(result.fingerprint), known=False)
    return result


def _other_side(result: Result) -> list[str]:
    """Say so where p, asked on one side only, hides an effect on the other."""
    d, p = result.metrics.get("d", 0.0), result.metrics.get("p_two_sided", 1.0)
    one_sided = "p_greater" in result.metrics and result.metrics.get("p") == result.metrics["p_greater"]
    if not one_sided or d >= 0 or p >= SIGNIFICANT:
        return []
    return [
        "d is negative, against the hypothesis that X goes with A and Y with B, and p asks for the other side alone; "
        f"two-sided it is {p:.2g}."
    ]


def category_table(result: Result) -> Table:
    """Return a row a category: d, two-sided p of both tests, its first term's share in the tenths at either end."""
    first, second = poles(result)
    share = {(row["end"], row["term"]): row["share"] for row in result.tables["deciles"]}
    title = f"by category; {first}, {second}: share of the first term in the tenth of sentences nearest to that pole"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    orders = bool(result.tables.get("orders"))
    table.add_column("category", style="bold")
    table.add_column("first v second")
    for name in ("d", *(["std over orders"] if orders else []), "p two-sided", "paired", first, second):
        table.add_column(name, justify="right")
    for row in result.tables["categories"]:
        spread = [f"{result.metrics[row['category'] + '.d_order_std']:.2f}"] if orders else []
        p, paired = (_p(row, prefix) for prefix in ("", "paired_"))
        ends = [per_cent(share[end, row["first"]]) for end in ("top", "bottom")]
        table.add_row(
            row["category"], f"{row['first']} v {row['second']}", f"{row['d']:.2f}", *spread, p, paired, *ends
        )
    return table


def _p(row: Mapping[str, Any], prefix: str) -> str:
    """Return a two-sided p-value of a category; where a computer cannot write it, the exponent of its tail if known."""
    p, log10_p = row[f"{prefix}p_two_sided"], row[f"{prefix}log10_p"]
    if p is None:
        return ""
    if p > sys.float_info.min:
        return format_p(p)
    return format_p(0.0, log10_p) if log10_p < sys.float_info.min_10_exp else "<1e-307"


def show_result(result: Result, folder: Path, *, known: bool) -> None:
    """Print a result as a small table of names and numbers."""
    console = Console()
    factors = result.factors
    title = f"{factors['method']} · {factors['test']} · {factors['model']}"
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    categories = result.tables.get("categories") or []
    in_table = tuple(f"{row['category']}." for row in categories)
    for name, value in result.metrics.items():
        if (in_table and name.startswith(in_table)) or (categories and name.endswith(".share")):
            continue
        table.add_row(name, f"{value:.6g}")
    for name, text in result.labels.items():
        table.add_row(name, text)
    console.print(table, markup=False)
    if categories:
        console.print()
        console.print(category_table(result), markup=False)
        console.print()
    if result.tables.get("level2"):
        from harness.plots.eatmap import eatmap_text

        console.print(f"\n{eatmap_text(result)}\n", markup=False, highlight=False, soft_wrap=True)
    for note in [*result.notes, *warnings(result), *_other_side(result)]:
        console.print(note, markup=False, highlight=False)
    where = "measured before" if known else "recorded"
    console.print(f"{where}: {folder}", markup=False, highlight=False, soft_wrap=True)
