"""The methods by name. Listing them imports none of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import HarnessError, did_you_mean
from harness.methods.base import Inputs, Measurement


@dataclass(frozen=True)
class MethodSpec:
    """What a method is called, where its code is, and what it can measure.

    ``options`` are the stats options that move its numbers; the others make no new cell (None: all of them do).
    ``items`` says that every text of a stimulus is an item of its own; other methods take one vector a stimulus, the
    mean over its texts.
    """

    name: str
    module: str
    summary: str
    papers: tuple[str, ...]
    test_kind: str
    function: str = "measure"
    options: tuple[str, ...] | None = None
    items: bool = False

    def measure(self) -> Callable[[Inputs], Measurement]:
        """Import the method's module and return the function that measures a cell."""
        function: Callable[[Inputs], Measurement] = getattr(importlib.import_module(self.module), self.function)
        return function

    def uses(self, option: str) -> bool:
        """Return whether a stats option has an effect on this method."""
        return self.options is None or option in self.options


_EFFECT = ("ddof", "epsilon")
_NULL = ("null", "ties", "plus_one", "resamples", "exact_limit")
_INTERVAL = ("confidence", "ci_resamples")

METHODS = {
    spec.name: spec
    for spec in (
        MethodSpec(
            name="weat",
            module="harness.methods.weat",
            summary="differential association of two sets of targets with two sets of attributes",
            papers=("caliskan2017",),
            test_kind="association",
            options=(*_EFFECT, "alternative", *_NULL, *_INTERVAL),
        ),
        MethodSpec(
            name="mleat",
            module="harness.methods.mleat",
            summary="the WEAT, each target's own association, and the cosines below them; one of nine patterns",
            papers=("wolfe2024",),
            test_kind="association",
            options=(*_EFFECT, "alternative", "alternative_level2", *_NULL, *_INTERVAL),
        ),
        MethodSpec(
            name="seat",
            module="harness.methods.seat",
            summary="the WEAT over sentences: s-SEAT by sentence encoding, w-SEAT by word encoding",
            papers=("husse2022",),
            test_kind="association",
            options=(*_EFFECT, "alternative", *_NULL, *_INTERVAL),
            items=True,
        ),
        MethodSpec(
            name="wefat",
            module="harness.methods.wefat",
            summary="each word's association with two sets of attributes, against a property of the word",
            papers=("caliskan2017",),
            test_kind="single",
            options=(*_EFFECT, "confidence", "wefat_keep"),
        ),
        MethodSpec(
            name="ibd",
            module="harness.methods.detection",
            summary="detection of the words associated with members of an intersectional group",
            papers=("guo2021",),
            test_kind="detection",
            function="measure_ibd",
            options=_EFFECT,
        ),
        MethodSpec(
            name="eibd",
            module="harness.methods.detection",
            summary="detection of the words that are associated with the intersection, but not with its constituents",
            papers=("guo2021",),
            test_kind="detection",
            function="measure_eibd",
            options=(*_EFFECT, "eibd_exclude"),
        ),
    )
}


def method_spec(name: str) -> MethodSpec:
    """Return the method of that name."""
    if name not in METHODS:
        raise HarnessError(f"There is no method named {name!r}.{did_you_mean(name, METHODS)}")
    return METHODS[name]
