"""The methods by name. Listing them imports none of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.errors import HarnessError, did_you_mean
from harness.methods.base import Inputs, Measurement


@dataclass(frozen=True)
class MethodSpec:
    """What a method is called, where its code is, and what it can measure.

    ``options`` are the stats options that move its numbers; the others make no new cell (None: all of them do).
    ``items`` says that every text of a stimulus is an item of its own; other methods take one vector a stimulus, the
    mean over its texts. ``blocks`` says that it draws from those texts itself, so that they are mapped and not copied.
    ``logged`` are options that are factors of this method's cells alone. ``associations`` are those that it can
    measure by; ``poles`` says that it needs a subspace whichever it is, ``bare`` that it reads stimuli alone, and
    ``profile`` that it is measured at every layer unless one is asked for by its number. ``pairs`` says that it
    measures probabilities of sentences with a target and an attribute, and no vectors.
    """

    name: str
    module: str
    summary: str
    papers: tuple[str, ...]
    test_kind: str
    function: str = "measure"
    options: tuple[str, ...] | None = None
    items: bool = False
    blocks: bool = False
    logged: tuple[str, ...] = ()
    associations: tuple[str, ...] = ("cosine",)
    poles: bool = False
    bare: bool = False
    pairs: bool = False
    profile: bool = False

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
_CEAT_CHOICES = ("ceat_samples", "ceat_variance", "ceat_sampling", "ceat_mode", "ceat_alternative")
_LPBS = ("lpbs_aggregate", "lpbs_multi_token", "lpbs_causal", "lpbs_targets", "lpbs_attributes", "lpbs_alternative")
_CEAT = (*_CEAT_CHOICES, "ceat_min_contexts", "ceat_min_share", "ceat_tolerance", "confidence")

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
            associations=("cosine", "projection"),
        ),
        MethodSpec(
            name="mleat",
            module="harness.methods.mleat",
            summary="the WEAT, each target's own association, and the cosines below them; one of nine patterns",
            papers=("wolfe2024",),
            test_kind="association",
            options=(*_EFFECT, "alternative", "alternative_level2", *_NULL, *_INTERVAL),
            associations=("cosine", "projection"),
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
            name="ceat",
            module="harness.methods.ceat",
            summary="the distribution of WEAT's effect size over contexts, combined by a random-effects model",
            papers=("guo2021", "husse2022"),
            test_kind="association",
            options=("ddof", "alternative", *_NULL, *_CEAT),
            items=True,
            blocks=True,
            logged=_CEAT_CHOICES,
            associations=("cosine", "projection", "probability"),
        ),
        MethodSpec(
            name="mlceat",
            module="harness.methods.mlceat",
            summary="ML-EAT's three levels on every sample of CEAT: how often each of the nine patterns occurs",
            papers=("guo2021", "wolfe2024"),
            test_kind="association",
            options=("ddof", "alternative", "alternative_level2", *_NULL, *_CEAT),
            items=True,
            blocks=True,
            logged=_CEAT_CHOICES,
            associations=("cosine", "projection"),
        ),
        MethodSpec(
            name="lpbs",
            module="harness.methods.lpbs",
            summary="how much attributes raise the probability of targets, by masked and by causal language models",
            papers=("husse2022",),
            test_kind="association",
            options=(*_EFFECT, *_NULL, *_INTERVAL, *_LPBS),
            items=True,
            logged=_LPBS,
            associations=("probability",),
            pairs=True,
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
            name="valnorm",
            module="harness.methods.valnorm",
            summary="the correlation of words' valence with human ratings, by cosine and by projection, layer by layer",
            papers=("omrani2023",),
            test_kind="single",
            options=("ddof", "confidence"),
            associations=("cosine", "projection"),
            poles=True,
            bare=True,
            profile=True,
        ),
        MethodSpec(
            name="sc-weat",
            module="harness.methods.sc_weat",
            summary="what each social category does to a word's valence in sentences that combine them",
            papers=("omrani2023",),
            test_kind="valence",
            options=(*_EFFECT, "alternative", *_NULL, "confidence"),
            items=True,
            associations=("projection",),
            poles=True,
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


BY_PROBABILITY = {
    "ceat": replace(
        METHODS["ceat"],
        module="harness.methods.ceat_lpbs",
        options=("ddof", *_NULL, *_CEAT, *_LPBS),
        blocks=False,
        logged=(*_CEAT_CHOICES, *_LPBS),
        pairs=True,
    )
}
"""What a method is that measures vectors by default, and probabilities with ``association=probability``."""


def method_spec(name: str, *, association: str | None = None) -> MethodSpec:
    """Return the method of that name, as it is when it measures by an association."""
    if name not in METHODS:
        raise HarnessError(f"There is no method named {name!r}.{did_you_mean(name, METHODS)}")
    return BY_PROBABILITY.get(name, METHODS[name]) if association == "probability" else METHODS[name]
