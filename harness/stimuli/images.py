"""Image concepts: the files of a folder or of a manifest, each with the digest of its bytes."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from harness.errors import HarnessError
from harness.natural import natural_key
from harness.stimuli.schema import AssociationTest, Concept, Picture, SingleTargetTest, Test

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
"""What counts as an image in a folder; a manifest may name any file."""

_OTHER_SUFFIXES = frozenset(
    {".avif", ".heic", ".heif", ".ico", ".jfif", ".jp2", ".jpe", ".jxl", ".ppm", ".psd", ".svg"}
)
"""Images of kinds that not every pillow reads: one in a folder is named, so that none is left out in silence."""

COLUMNS = ("path", "label", "licence", "sha256")

SHOWN = 20
"""Files or folders that a sentence names before it only counts the rest."""


@dataclass(frozen=True)
class _Entry:
    path: str
    label: str = ""
    licence: str = ""
    sha256: str = ""


class MissingImagesError(HarnessError):
    """Images that a test needs are not where they were looked for."""


def holds_images(test: Test) -> bool:
    """Return whether any concept of a test holds images."""
    return any(concept.kind == "images" for concept in _image_slots(test).values())


def _image_slots(test: Test) -> dict[str, Concept]:
    found = {slot: getattr(test, slot, None) for slot in ("X", "Y", "W", "A", "B")}
    return {slot: concept for slot, concept in found.items() if concept is not None and concept.kind == "images"}


def with_images(test: Test, root: str | Path | None = None) -> Test:
    """Return a test whose image concepts know their files.

    Parameters
    ----------
    test
        A test as it was loaded.
    root
        The folder that image folders lie in (``paths.images``); then come ``HARNESS_IMAGES`` and the folder of the
        concept's own file.
    """
    if not isinstance(test, AssociationTest | SingleTargetTest):
        return test
    concepts: dict[str, Concept] = {}
    missing: list[str] = []
    assets: set[str] = set()
    for slot, concept in _image_slots(test).items():
        try:
            concepts[slot] = with_pictures(concept, root)
        except _AbsentError as error:
            missing += error.names
            assets |= {concept.asset} - {""}
    if missing:
        advice = f"`harness fetch {assets.pop()}` tells where they come from, and " if len(assets) == 1 else ""
        raise MissingImagesError(
            f"Test {test.name} needs images that are not here: {named(missing)}; {advice}paths.images names the folder "
            "that holds them."
        )
    return test.model_copy(update=concepts)


class _AbsentError(HarnessError):
    def __init__(self, names: list[str]) -> None:
        super().__init__(f"These images are not here: {named(names)}.")
        self.names = names


def with_pictures(concept: Concept, root: str | Path | None = None) -> Concept:
    """Return an image concept with its files, a word for each: its label, or the names of its folder and file."""
    folder = _folder(concept, root)
    entries = _entries(concept, folder)
    paths = [folder / entry.path for entry in entries]
    absent = [str(path) for path in paths if not path.is_file()]
    if absent:
        raise _AbsentError(absent)
    labels = [entry.label for entry in entries]
    pictures = []
    for entry, path in zip(entries, paths, strict=True):
        place = f"{path.parent.name}/{path.name}"
        unique = entry.label and labels.count(entry.label) == 1
        word = entry.label if unique else f"{entry.label} ({place})" if entry.label else place
        pictures.append(Picture(word=word, path=str(path), sha256=_checked(path, entry), licence=entry.licence))
    return concept.model_copy(
        update={"words": tuple(picture.word for picture in pictures), "pictures": tuple(pictures)}
    )


def _folder(concept: Concept, root: str | Path | None) -> Path:
    """Return the folder that a concept's files lie in: the first place that has it."""
    if not concept.folder:
        return _manifest(concept).parent
    own = Path(concept.folder).expanduser()
    roots = [Path(place).expanduser() for place in (root, os.environ.get("HARNESS_IMAGES"), concept.home) if place]
    for place in [Path(own.anchor)] if own.is_absolute() else roots:
        if (place / own).is_dir():
            return (place / own).resolve()
    raise _AbsentError([f"the folder {concept.folder}"])


def _manifest(concept: Concept) -> Path:
    return (Path(concept.home) / Path(concept.manifest).expanduser()).resolve()


def _entries(concept: Concept, folder: Path) -> list[_Entry]:
    if concept.manifest:
        return _read_manifest(_manifest(concept))
    others = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in _OTHER_SUFFIXES)
    if others:
        raise HarnessError(
            f"{folder} holds images of other kinds ({named(others)}): save them as PNG or JPEG, list what is wanted in "
            "a manifest, or take them out."
        )
    names = sorted((path.name for path in folder.iterdir() if _is_image(path)), key=natural_key)
    if not names:
        raise HarnessError(
            f"{folder} holds no image ({concept.name}); images end in {', '.join(sorted(SUFFIXES))}, in either case."
        )
    return [_Entry(name) for name in names]


def _is_image(path: Path) -> bool:
    """Return whether a folder's entry counts as an image; a link to nothing does, and is then named as missing."""
    return not path.is_dir() and not path.name.startswith(".") and path.suffix.lower() in SUFFIXES


def _read_manifest(path: Path) -> list[_Entry]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
            columns = rows[0].keys() if rows else ()
    except FileNotFoundError:
        raise _AbsentError([f"the manifest {path}"]) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HarnessError(f"{path}: cannot be read as a CSV file ({error}).") from None
    if "path" not in columns:
        raise HarnessError(f"{path}: a manifest has the columns {', '.join(COLUMNS)}; path is needed in every row.")
    entries = [_Entry(**{column: (row.get(column) or "").strip() for column in COLUMNS}) for row in rows]
    blank = next((number for number, entry in enumerate(entries, 2) if not entry.path), None)
    if blank:
        raise HarnessError(f"{path}, row {blank}: has no path.")
    names = [entry.path for entry in entries]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise HarnessError(f"{path}: lists {named(repeated)} more than once; keep one of each.")
    return entries


def _checked(path: Path, entry: _Entry) -> str:
    stat = path.stat()
    if not stat.st_size:
        raise HarnessError(f"{path}: is empty (zero bytes); get it again, or take it out of the folder.")
    digest = _digest(str(path), stat.st_size, stat.st_mtime_ns)
    if entry.sha256 and entry.sha256.lower() != digest:
        raise HarnessError(
            f"{path}: its sha256 is {digest}, and its manifest says {entry.sha256}: it is another image, or damaged."
        )
    return digest


@lru_cache(maxsize=200_000)
def _digest(path: str, size: int, changed: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def named(names: Iterable[str]) -> str:
    """Return names in a sentence; of many, the first are named and the rest counted."""
    listed = list(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


def copies(concept: Concept) -> list[list[str]]:
    """Return the images of a concept that are the same file under several names, by their words."""
    by_content: dict[str, list[str]] = {}
    for picture in concept.pictures:
        by_content.setdefault(picture.sha256, []).append(picture.word)
    return [words for words in by_content.values() if len(words) > 1]


def same_images(concepts: Mapping[str, Concept]) -> list[str]:
    """Say which images of a test are the same file: under several names of a concept, or as target and attribute."""
    notes = [
        f"The same image under several names ({slot}): {named(words)}."
        for slot, concept in concepts.items()
        for words in copies(concept)
    ]
    for target, attribute in product(("X", "Y", "W"), ("A", "B")):
        if target in concepts and attribute in concepts:
            shared = shared_images(concepts[target], concepts[attribute])
            notes += [f"The same image in {target} and {attribute}: {named(shared)}."] if shared else []
    return notes


def shared_images(one: Concept, other: Concept) -> list[str]:
    """Return the images of one concept that are, by content, in another one too."""
    theirs = {picture.sha256 for picture in other.pictures}
    return [picture.word for picture in one.pictures if picture.sha256 in theirs]
