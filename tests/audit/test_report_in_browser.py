"""The report as a browser shows it: headless Chromium runs the page and a script that looks at it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.audit.report import write_report
from harness.audit.robustness import audit
from tests.audit.multiverse import multiverse, write_sweep
from tests.audit.test_robustness import AXES, pooling_flips_the_sign

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

LOOK = """
<script>
window.addEventListener("load", function () {
  const all = function (selector) { return Array.from(document.querySelectorAll(selector)); };
  const table = document.querySelector("#sensitivity table");
  const number = function (row) { return Number(row.cells[4].dataset.v); };
  const column = function () { return Array.from(table.tBodies[0].rows).map(number); };
  const button = table.tHead.rows[0].cells[4].querySelector("button");
  const seen = { before: column(), inner: window.innerWidth, wide: document.documentElement.scrollWidth };
  button.focus();
  seen.focused = document.activeElement === button;
  button.click();
  seen.rising = column();
  button.click();
  seen.falling = column();
  seen.sort = table.tHead.rows[0].cells[4].getAttribute("aria-sort");
  seen.figures = all("figure img").map(function (i) { return i.naturalWidth > 0 && i.width > 100; });
  seen.unreachable = all("a, th button, .scroll, figure").filter(function (e) { return e.tabIndex < 0; }).length;
  seen.cut = all(".scroll:not(.cells)").filter(function (e) { return e.scrollWidth > e.clientWidth + 1; }).length;
  seen.unnamed = all("img").filter(function (i) { return !i.alt; }).length;
  seen.fetched = performance.getEntriesByType("resource").map(function (e) { return e.name.slice(0, 5); });
  seen.link = document.querySelector("#cells td a").getAttribute("href");
  const note = document.createElement("script");
  note.type = "application/json"; note.id = "seen"; note.textContent = JSON.stringify(seen);
  document.body.append(note);
});
</script>
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    write_sweep(runs, multiverse(AXES, pooling_flips_the_sign))
    found = audit(runs, "last", draws=99, calibration_draws=50)
    return write_report(found, runs / "sweeps" / "planted" / "audit")[0]


@pytest.fixture(scope="module", params=["1200,900", "500,900"], ids=["desk", "phone"])
def seen(request: pytest.FixtureRequest, report: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the browser shows; a message on its console fails the test at once."""
    looked = report.with_name("looked.html")
    looked.write_text(report.read_text().replace("</body>", f"{LOOK}</body>"))
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}", f"--window-size={request.param}",
        "--virtual-time-budget=5000", "--dump-dom", looked.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    match = re.search(r'<script type="application/json" id="seen">(.*?)</script>', done.stdout, re.DOTALL)
    assert match is not None
    found: dict[str, Any] = json.loads(match.group(1))
    return found


def test_every_figure_is_shown_and_named(seen: dict[str, Any]) -> None:
    assert seen["figures"] == [True] * 6
    assert seen["unnamed"] == 0


def test_nothing_is_fetched(seen: dict[str, Any]) -> None:
    assert set(seen["fetched"]) <= {"data:"}


def test_the_page_does_not_scroll_sideways(seen: dict[str, Any]) -> None:
    assert seen["wide"] <= seen["inner"]


def test_tables_are_seen_whole_on_a_desk(seen: dict[str, Any]) -> None:
    assert seen["cut"] == 0 or seen["inner"] < 600


def test_tables_sort_up_and_down(seen: dict[str, Any]) -> None:
    assert len(set(seen["before"])) > 1
    assert seen["rising"] == sorted(seen["before"])
    assert seen["falling"] == sorted(seen["before"], reverse=True)
    assert seen["sort"] == "descending"


def test_headings_tables_figures_and_links_are_reached_by_tab(seen: dict[str, Any]) -> None:
    assert seen["focused"]
    assert seen["unreachable"] == 0


def test_links_lead_to_result_files(seen: dict[str, Any], report: Path) -> None:
    assert (report.parent / seen["link"]).resolve().is_file()
