"""Image files as RGB: what cannot be read is refused in one sentence, what had to be changed is told."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.stimuli.images import named

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""What is read, whatever a file is called: other decoders are seldom used, and that of EPS starts another program."""

MOST_PIXELS = 89_478_485
"""Larger images are refused before they are decoded: a small file may unfold to gigabytes (pillow's own limit)."""

MOST_TIMES = 100
"""One side may be so many times the other: enlarged by its short side, a strip would unfold to gigabytes."""

_ORIENTATION = 0x0112
"""The EXIF tag that says how a viewer turns an image; 1 is as it lies."""

_GREY_16 = frozenset({"I;16", "I;16B", "I;16L", "I;16N", "I"})

_TOLD = {
    "frames": "several frames, of which the first is used",
    "CMYK": "CMYK colours, turned into RGB without their colour profile",
    "16 bits": "16 bits a pixel, scaled to 8",
    "turned": "an EXIF tag that turns it in a viewer and is not applied, as models' own transforms do not",
    "transparency": "transparency, which is dropped",
}


class PictureError(HarnessError):
    """One image that cannot be used; ``reason`` says why, without its name."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


@cache
def _pillow() -> ModuleType:
    try:
        image = importlib.import_module("PIL.Image")
    except ModuleNotFoundError:
        raise HarnessError("Images need pillow, which is not installed: pip install 'eat-harness[clip]'.") from None
    # Between once and twice its limit pillow only warns; here such an image is refused, so the warning says nothing.
    warnings.filterwarnings("ignore", category=image.DecompressionBombWarning)
    return image


def _opened(path: str) -> Any:
    """Open an image without decoding it, and refuse what is empty, no image, or too large."""
    pillow = _pillow()
    try:
        image = pillow.open(path, formats=FORMATS)
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise PictureError(path, f"is larger than {MOST_PIXELS:,} pixels; make it smaller.") from None
    except pillow.UnidentifiedImageError:
        empty = Path(path).stat().st_size == 0
        kinds = ", ".join(FORMATS)
        raise PictureError(
            path,
            "is empty (zero bytes)." if empty else f"is not an image of a kind that is read ({kinds}), or is damaged.",
        ) from None
    except FileNotFoundError:
        raise PictureError(path, "is not there any more.") from None
    # A decoder raises whatever it stumbles over: OSError, SyntaxError, struct.error, ValueError …
    except Exception as error:
        raise PictureError(path, f"cannot be opened ({_first_line(error)}).") from None
    width, height = image.size
    if width * height > MOST_PIXELS:
        image.close()
        raise PictureError(path, f"has {width} × {height} pixels, and {MOST_PIXELS:,} are allowed; make it smaller.")
    if max(width, height) > MOST_TIMES * min(width, height):
        image.close()
        raise PictureError(
            path, f"has {width} × {height} pixels, one side more than {MOST_TIMES} times the other; crop it."
        )
    return image


def read_rgb(path: str) -> Any:
    """Return an image in RGB with 8 bits a channel, decoded; one that cannot be used raises one sentence."""
    with _opened(path) as image:
        try:
            _is_animated(image)
            image.load()
            if image.mode in _GREY_16:
                return _from_16_bits(image, path)
            if image.mode == "F":
                raise PictureError(path, "holds floating-point numbers; save it with 8 bits a channel.")
            return image.convert("RGB")
        except PictureError:
            raise
        except Exception as error:  # as above: decoders share no error
            raise PictureError(path, f"is damaged ({_first_line(error)}).") from None


def _from_16_bits(image: Any, path: str) -> Any:
    """Scale a grey image to 8 bits: converted by itself, pillow would turn all above 255 white."""
    values = np.asarray(image)
    if values.min() < 0 or values.max() > 65_535:
        raise PictureError(path, "has more than 16 bits a pixel; save it with 8 bits a channel.")
    return _pillow().fromarray(np.round(values / 257).astype(np.uint8)).convert("RGB")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


@lru_cache(maxsize=100_000)
def _traits(path: str, sha256: str) -> tuple[str, ...]:
    with _opened(path) as image:
        found = {
            "frames": _is_animated(image),
            "CMYK": image.mode == "CMYK",
            # Pillow cuts colours to 8 bits while it decodes: only the decoder's arguments tell of them.
            "16 bits": image.mode in _GREY_16 or ";16" in str(image.tile),
            "turned": _is_turned(image),
            "transparency": image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info,
        }
    return tuple(trait for trait, there in found.items() if there)


def _is_animated(image: Any) -> bool:
    """Return whether an image has several frames; of a GIF this is read, and one torn in its second frame raises."""
    return bool(getattr(image, "is_animated", False))


def _is_turned(image: Any) -> bool:
    """Return whether a viewer would turn an image; of PNG files, which would have to be decoded, this is not asked."""
    try:
        return image.format != "PNG" and image.getexif().get(_ORIENTATION, 1) in range(2, 9)
    except Exception:  # as above; EXIF data that cannot be read turn nothing
        return False


def changed(pictures: Iterable[tuple[str, str, str]]) -> list[str]:
    """Say, in a sentence for each kind, which images had to be changed before a model could read them.

    Parameters
    ----------
    pictures
        The word, the path and the sha256 of each.
    """
    words: dict[str, list[str]] = {}
    for word, path, sha256 in pictures:
        for trait in _traits(path, sha256):
            words.setdefault(trait, []).append(word)
    return [f"{named(words[trait])}: {told}." for trait, told in _TOLD.items() if trait in words]


def refusal(paths: Sequence[str]) -> HarnessError:
    """Return one sentence about every image among these that cannot be read."""
    bad = []
    for path in paths:
        try:
            read_rgb(path)
        except PictureError as error:
            bad.append(error)
    if len(bad) == 1:
        return bad[0]
    listed = named(f"{error.path} {error.reason.rstrip('.')}" for error in bad)
    return HarnessError(f"{len(bad)} images cannot be used: {listed}.")
