"""Lexica of human ratings: VADER from its package, any other from a CSV file of the user's."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.assets import fetch, locate
from harness.errors import HarnessError, did_you_mean
from harness.methods.valnorm import FEWEST
from harness.progress import bar
from harness.stimuli.schema import Concept


def load_lexicon(config: Mapping[str, Any], *, keep: frozenset[str] = frozenset(), seed: int = 0) -> Concept:
    """Return the rated words of a lexicon, their ratings as properties.

    Parameters
    ----------
    config
        The group ``lexicon``: ``name``; ``asset`` (a lexicon in the format of VADER) or ``path`` (a CSV or TSV file)
        with the columns ``word`` and ``rating``; ``limit``, the number of words of a seeded draw (None: all).
    keep
        Words that are never left out by the draw, whatever their case: the poles, so that r with and without them can
        be told.
    seed
        Of the draw.
    """
    name = str(config["name"])
    if config.get("path"):
        path = Path(str(config["path"])).expanduser()
        if not path.is_file():
            raise HarnessError(f"lexicon.path: there is no file {path}.")
        columns = str(config.get("word") or "word"), str(config.get("rating") or "rating")
        ratings = _read_csv(path, *columns, path.stat().st_mtime_ns)
    elif config.get("asset"):
        asset = str(config["asset"])
        found = locate(asset) or fetch(asset, progress=bar)
        ratings = _read_vader(found, found.stat().st_mtime_ns)
    else:
        raise HarnessError(
            f"lexicon={name} has no words: set lexicon.path to a CSV file, with lexicon.word and lexicon.rating."
        )
    if len(ratings) < FEWEST:
        raise HarnessError(f"The lexicon {name} holds {len(ratings)} rated words; at least {FEWEST} are needed.")
    words = _drawn(tuple(ratings), config.get("limit"), keep=keep, seed=seed)
    return Concept(name=f"lexicon/{_plain(name)}", words=words, properties={word: ratings[word] for word in words})


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-._") or "own"


def _drawn(words: tuple[str, ...], limit: int | None, *, keep: frozenset[str], seed: int) -> tuple[str, ...]:
    """Return so many words, drawn once for a seed, in the lexicon's order; the words to keep come on top."""
    if limit is None:
        return words
    if limit < FEWEST:
        raise HarnessError(f"lexicon.limit={limit}: at least {FEWEST} words are needed (null: all).")
    kept = {word.casefold() for word in keep}
    others = [at for at, word in enumerate(words) if word.casefold() not in kept]
    if limit >= len(others):
        return words
    chosen = set(np.random.default_rng([seed, 6]).choice(others, size=limit, replace=False).tolist())
    return tuple(word for at, word in enumerate(words) if word.casefold() in kept or at in chosen)


@lru_cache(maxsize=4)
def _read_vader(path: Path, changed: int) -> dict[str, float]:
    """Read word, tab, mean rating (−4 … 4); emoticons and other entries that are no plain word are left out."""
    ratings: dict[str, float] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, rest = line.partition("\t")
        if word.isascii() and word.isalpha() and len(word) > 1 and word.islower():
            ratings[word] = float(rest.partition("\t")[0])
    return ratings


@lru_cache(maxsize=4)
def _read_csv(path: Path, word: str, rating: str, changed: int) -> dict[str, float]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise HarnessError(f"{path} is not UTF-8 text: save the lexicon as CSV with that encoding.") from None
    head = text.partition("\n")[0]
    rows = csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in head else ";" if ";" in head else ",")
    columns = list(rows.fieldnames or [])
    for key, column in (("word", word), ("rating", rating)):
        if column not in columns:
            raise HarnessError(
                f"{path} has no column {column!r} (lexicon.{key}).{did_you_mean(column, columns)} "
                f"It has {', '.join(columns) or 'no head line'}."
            )
    ratings: dict[str, float] = {}
    for row in rows:
        number = rows.line_num
        stimulus = (row[word] or "").strip()
        value = _number(row[rating])
        if value is None:
            raise HarnessError(
                f"{path}, line {number}: the rating of {stimulus!r} is {row[rating]!r}, which is no number."
            )
        if not stimulus:
            raise HarnessError(f"{path}, line {number}: a rating of {value:g} has no word (column {word}).")
        if stimulus in ratings:
            raise HarnessError(f"{path}, line {number}: {stimulus!r} is rated twice; keep one row a word.")
        ratings[stimulus] = value
    return ratings


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
