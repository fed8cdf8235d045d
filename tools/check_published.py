"""Find every number of stimuli/published/ again in the text of the paper that printed it.

    python tools/check_published.py PAPERS_DIR

PAPERS_DIR holds one text a paper, named after it (``caliskan2017*.txt`` …). Each table is compared with its own
section of the text, as multisets: a number that is stored twice must be printed twice. Exit code 1 when a stored
number is not found.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

PUBLISHED = Path(__file__).resolve().parents[1] / "stimuli" / "published"
SHARES = {"accuracy", "chance", "share"}
FROM_FIGURE = {"tp", "fp"}
UNIVERSE = 98  # words that IBD and EIBD classify (guo2021, Appendix)

Row = dict[str, str]


class Section(NamedTuple):
    """Where a table stands in its paper: from the nth line that begins with `start` up to the next match of `end`."""

    start: str
    end: str
    nth: int = 0


def _above(caption: str, start: str, nth: int = 0) -> Section:
    return Section(start, re.escape(f"{caption}:"), nth)


SECTIONS = {
    "caliskan2017.table1": _above("Table 1", "Target words\t"),
    "caliskan2017.tableS1": _above("Table S1", "Target words\t", 1),
    "guo2021.table1": _above("Table 1", "Test\t\tELMo"),
    "guo2021.table2": Section("Test\tELMo", "$", 0),
    "guo2021.table3": Section("Test\tELMo", "$", 1),
    "guo2021.table4": Section("Test\tELMo", "$", 2),
    "wolfe2024.table1": _above("Table 1", "Multilevel Embedding Association Test: GloVe"),
    "wolfe2024.table2": _above("Table 2", "CLIP-ViT-L14-336 EAT Results - No Prompt"),
    "wolfe2024.table3": _above("Table 3", "GPT-2 Base Full"),
    "wolfe2024.table4": _above("Table 4", "Multilevel Embedding Association Test: Google News"),
    "wolfe2024.table5": _above("Table 5", "GPT-2 Base Full", 1),
    "wolfe2024.table6": _above("Table 6", "GPT-2 Medium Full"),
    "wolfe2024.table7": _above("Table 7", "GPT-2 Large Full"),
    "wolfe2024.table8": _above("Table 8", "GPT-2 XL Full", 1),
    "wolfe2024.table9": _above("Table 9", "CLIP-ViT-B32 Full"),
    "wolfe2024.table10": _above("Table 10", "CLIP-ViT-B16 Full"),
    "wolfe2024.table11": _above("Table 11", "CLIP-ViT-L14 Full"),
    "wolfe2024.table12": _above("Table 12", "CLIP-ViT-L14-336 Full"),
    "husse2022.table3": _above("Table 3", "Method\tBias test\tELN"),
    "husse2022.table4": _above("Table 4", "Bias test\tsimplified"),
    "husse2022.table5": _above("Table 5", "М\tMethods"),
    "husse2022.table6": _above("Table 6", "Bias test\toriginal"),
    "husse2022.table7": _above("Table 7", "Method\tELMo\tBERT"),
    "husse2022.table8": _above("Table 8", "Method\tELMo\tBERT", 1),
    "husse2022.table11": _above("Table 11", "Bias test\tMethod\tEL\t"),
    "husse2022.table12": _above("Table 12", "Bias test\tMethod\tELN\t"),
    "husse2022.table13": Section("Bias te\t", "Bias test\tcosir"),  # two rows stand below its caption
    "husse2022.table14": _above("Table 14", "Bias test\tcosir"),
    "omrani2023.table2": _above("Table 2", "| SC-WEAT Differential"),
}

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_DASHES = str.maketrans("–−", "--")
_POWER = re.compile(r"(?<!\d)10[ ^{]*-(\d+)\}?")
_TOKEN = re.compile(r"n/a|n\.s\.|(?<![\w.-])-?(?:\d+e-\d+|\d*\.?\d+)[%k*]?")


def plain(text: str) -> str:
    """Return the text without tags, with ASCII minus signs and with powers of ten written as ``1e-30``."""
    text = re.sub(r"</?(?:b|sup|sub)>", "", text)
    text = text.translate(_SUPERSCRIPTS).translate(_DASHES)
    return _POWER.sub(lambda power: f"1e-{int(power[1]):02d}", text)


def tokens(text: str) -> Counter[str]:
    """Return the numbers of a text, each as often as it is printed, without the zero before the point."""
    return Counter(_short(token) for token in _TOKEN.findall(plain(text)))


def expected(row: Row) -> str:
    """Return how a stored number looks in print."""
    value, note = row["value"], row["note"]
    if not value:
        return "n/a"
    if row["statistic"] == "p" and row["relation"] == ">":
        return "n.s."
    if row["statistic"] in SHARES:
        return f"{(Decimal(value) * 100).normalize():f}%"
    if row["statistic"] == "n" and note.endswith("k"):
        return note.removeprefix("printed ")
    starred = row["paper"] == "wolfe2024" and row["table"] != "text" and row["significant"] == "true"
    return _short(value) + ("*" if starred else "")


def missing(rows: Iterable[Row], section: str) -> list[str]:
    """Return a sentence for each stored number that the section does not hold, or holds less often."""
    rows = list(rows)
    printed, squeezed = tokens(section), re.sub(r"\s", "", plain(section))
    found, problems = Counter[str](), []
    for row in rows:
        if row["statistic"] in FROM_FIGURE:
            ok = _agrees_with_accuracy(row, rows)
        elif row["statistic"] == "pattern":
            ok = row["value"] in section
        elif row["note"].startswith("cell torn apart"):
            ok = row["value"] in squeezed
        else:
            token = expected(row)
            found[token] += 1
            ok = found[token] <= printed[token]
        if not ok:
            problems.append(f"{', '.join(v for k, v in row.items() if v and k != 'note')}: not found")
    return problems


def section_of(name: str, text: str) -> str:
    """Return the part of a paper that prints the table; for ``<paper>.text`` all lines outside of tables."""
    lines = text.splitlines()
    if name.endswith(".text"):
        return "\n".join(line for line in lines if "\t" not in line and not line.startswith("|"))
    where = SECTIONS[name]
    start = [number for number, line in enumerate(lines) if line.startswith(where.start)][where.nth]
    stop = next(number for number in range(start, len(lines)) if re.match(where.end, lines[number]))
    return "\n".join(lines[start:stop])


def _short(number: str) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", number)


def _agrees_with_accuracy(row: Row, rows: list[Row]) -> bool:
    same = {other["statistic"]: other["value"] for other in rows if other["choice"] == row["choice"]}
    positives = round(float(same["chance"]) * UNIVERSE)
    right = int(same["tp"]) + UNIVERSE - positives - int(same["fp"])
    return round(right / UNIVERSE, 3) == float(same["accuracy"])


def check(papers: Path) -> int:
    """Compare all tables with the texts, print a line for each, and return the number of problems."""
    problems: list[str] = []
    for path in sorted(PUBLISHED.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        text = next(papers.glob(f"{rows[0]['paper']}*.txt")).read_text(encoding="utf-8")
        section = section_of(path.stem, text)
        # Captions and prose name the patterns; a table's own rows do not.
        patterns = [row for row in rows if row["statistic"] == "pattern"]
        found = missing([row for row in rows if row not in patterns], section) + missing(patterns, text)
        print(f"{path.stem:24} {len(rows):4} numbers, {len(rows) - len(found):4} found")
        problems += [f"{path.stem}: {problem}" for problem in found]
    for problem in problems:
        print(problem)
    return len(problems)


def main() -> int:
    """Run the check on the folder given on the command line."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("Give the folder that holds the papers' texts: python tools/check_published.py PAPERS_DIR")
        return 2
    return 1 if check(Path(sys.argv[1])) else 0


if __name__ == "__main__":
    sys.exit(main())
