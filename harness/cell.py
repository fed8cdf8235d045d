"""A cell is one measurement: a model, a test, a method and the design choices. Its fingerprint is its identity."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.contexts.mixed import SLOTS, MixedSource, part_of_source
from harness.contexts.pairs import UNREAD_ATTRIBUTE, PairSupply, pair_supply
from harness.contexts.sources import ContextSource, IntersectionalSource, context_source, gives_one_text
from harness.contexts.supply import Supply, text_supply
from harness.contexts.texts import most_contexts, texts_digest
from harness.errors import HarnessError
from harness.lexica import load_lexicon
from harness.methods import MethodSpec, method_spec
from harness.methods.projection import SubspaceOptions
from harness.models import is_shared_space, is_static, model_identity
from harness.options import StatsOptions, one_of
from harness.paths import runs_dir
from harness.stimuli import (
    Concept,
    DetectionTask,
    NoVariantError,
    SingleTargetTest,
    Test,
    ValenceTest,
    load_concept,
    load_test,
)
from harness.stimuli.images import holds_images, with_images

MEASUREMENT_VERSION = 2
"""Bumped when a change of code changes numbers: results of an older version are measured again."""

CHOICES: dict[str, tuple[str, ...]] = {
    "encoding": ("word", "sentence"),
    "pooling": ("mean", "first", "last"),
    "unit": ("item", "stimulus"),
    "missing": ("error", "drop", "drop_balanced"),
    "unequal": ("error", "keep", "downsample"),
}
"""The plain keys of a cell with the values each may have."""

STORED = ("float32", "float16")

LOGGED_STATS = ("ddof", "alternative", "null", "ties", "resamples")
"""The conventions that are factors of their own; null where the method has no use for one."""


@dataclass(frozen=True)
class Cell:
    """What is measured. A choice without effect on this cell is None, so that equal cells have equal fingerprints.

    ``texts`` is the digest of every text that a contextual model reads for it, ``supply`` tells which stimuli have
    texts. ``unmet`` is set when the test has no such variant, or the context source too few texts to carry it: the cell
    then stands in a sweep as skipped, with this reason. ``pairs`` are the sentences of a method that measures
    probabilities. ``poles`` are the concepts between which a ``subspace`` is found, read without context; None where
    nothing is projected.
    """

    model: dict[str, Any]
    test: Test
    method: str
    target: str | None
    context: str | None
    association: str
    encoding: str | None
    pooling: str | None
    layer: str | int | None
    postprocess: str | None
    unit: str | None
    missing: str | None
    unequal: str
    stats: StatsOptions
    seed: int
    config: dict[str, Any]
    texts: str | None = None
    unmet: str | None = None
    supply: Supply | None = None
    pairs: PairSupply | None = None
    poles: tuple[Concept, Concept] | None = None
    subspace: SubspaceOptions | None = None

    @property
    def spec(self) -> MethodSpec:
        """The method, as it is when it measures by the cell's association."""
        return method_spec(self.method, association=self.association)

    @cached_property
    def source(self) -> ContextSource:
        """Where the texts come from that a contextual model reads."""
        return _source(self.config, self.test)

    @property
    def concepts(self) -> dict[str, Concept]:
        """The stimuli of every slot; those that the context source has too few texts for are left out."""
        return dict(slots(self.test)) if self.supply is None else self.supply.kept

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Cell:
        """Make a cell of a resolved config."""
        for key, value in _numbers(config):
            if not math.isfinite(value):
                raise HarnessError(f"{key}={value}: must be a finite number.")
        for key, allowed in CHOICES.items():
            one_of(key, config[key], allowed)
        one_of("store.dtype", (config.get("store") or {}).get("dtype", "float32"), STORED)
        one_of("association", config["association"]["name"], ("cosine", "projection", "probability"))
        stats = StatsOptions(**config["stats"])
        stats.check()
        if config["seed"] < 0:
            raise HarnessError(f"seed={config['seed']}: must be 0 or more.")
        test, unmet = _test(config)
        spec = method_spec(config["method"]["name"], association=config["association"]["name"])
        poles = _poles(config, test) if spec.poles or config["association"]["name"] == "projection" else None
        if spec.name == "valnorm" and isinstance(test, ValenceTest) and poles is not None:
            test = _rated(config, test, poles)
        static, shared = is_static(config["model"]), is_shared_space(config["model"])
        vectors = not static and not spec.pairs
        read = _Texts() if static else _texts(config, test, spec, stats)
        layered, encoding = vectors and not shared, config["encoding"]
        return cls(
            model=dict(config["model"]),
            test=test,
            method=config["method"]["name"],
            target=config["target"],
            context=read.context,
            association=config["association"]["name"],
            # Static vectors have one encoding; asked for the other, the cell says so instead of ignoring it.
            encoding=encoding if layered or (static and not spec.pairs and encoding == "sentence") else None,
            pooling=config["pooling"] if layered and encoding == "word" else None,
            layer=_layer(config["layer"], config["model"].get("layers"), profile=spec.profile) if layered else None,
            postprocess=_postprocess(config["model"]) if vectors else None,
            unit=read.unit,
            missing=config["missing"] if not vectors or (read.supply is not None and read.supply.short) else None,
            unequal=config["unequal"],
            stats=stats,
            seed=config["seed"],
            config=dict(config),
            texts=read.digest,
            unmet=unmet or read.unmet,
            supply=read.supply,
            pairs=read.pairs,
            poles=poles,
            subspace=SubspaceOptions.from_config(config["association"]) if poles else None,
        )

    def factors(self) -> dict[str, str | int | float | None]:
        """Return the design choices by name: MLflow's params and the first columns of every table."""
        spec = self.spec
        return {
            "model": str(self.model["name"]),
            "test": self.test.name,
            "method": self.method,
            "target": self.target,
            "context": self.context,
            "encoding": self.encoding,
            "pooling": self.pooling,
            "layer": self.layer,
            "postprocess": self.postprocess,
            "association": self.association,
            "unit": self.unit,
            "missing": self.missing,
            "unequal": self.unequal,
            "stats": self.stats.name,
            **{name: getattr(self.stats, name) if spec.uses(name) else None for name in LOGGED_STATS},
            **{name: getattr(self.stats, name) if self._moves(name) else None for name in spec.logged},
            **({"subspace": self.subspace.label} if self.subspace else {}),
            **({"poles": " v ".join(self.config["association"]["poles"])} if self._chosen_poles() else {}),
            **({"lexicon": self.config["lexicon"]["name"]} if self.method == "valnorm" else {}),
            "seed": self.seed,
        }

    def _chosen_poles(self) -> bool:
        """Return whether the subspace has other poles than the test's own A and B."""
        return self.subspace is not None and bool(self.config["association"].get("poles"))

    def identity(self) -> dict[str, Any]:
        """Return everything that determines the numbers, and nothing else."""
        only: dict[str, Any] = {"unmet": self.unmet, "postprocess": self.postprocess, "stored": self._stored_as()}
        if self.poles and self.subspace:
            only["subspace"] = {**asdict(self.subspace), "A": _content(self.poles[0]), "B": _content(self.poles[1])}
        return {name: value for name, value in only.items() if value} | {
            "version": MEASUREMENT_VERSION,
            "model": model_identity(self.model, runs=runs_dir(self.config["paths"]["runs"])),
            "test": test_identity(self.test),
            "method": self.method,
            "context": self.texts,
            "association": self.association,
            "encoding": self.encoding,
            "pooling": self.pooling,
            "layer": self.layer,
            "unit": self.unit,
            "missing": self.missing,
            "unequal": self.unequal,
            "stats": {name: value for name, value in self.stats.identity().items() if self._moves(name)},
            "seed": self.seed,
        }

    def _moves(self, option: str) -> bool:
        """Return whether a stats option has an effect on this cell: its method's, and for probabilities its head's."""
        idle = {"masked": "lpbs_causal", "causal": "lpbs_multi_token"}.get(str(self.model.get("head")))
        return self.spec.uses(option) and option != idle

    def _stored_as(self) -> str | None:
        """Return the type of number that vectors are rounded to in the store, if that is not the model's own."""
        dtype = (self.config.get("store") or {}).get("dtype", "float32")
        vectors = not is_static(self.model) and not self.spec.pairs
        return str(dtype) if vectors and dtype != "float32" else None


def _numbers(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{key}.")
        elif isinstance(value, float):
            yield f"{above}{key}", value


def _test(config: Mapping[str, Any]) -> tuple[Test, str | None]:
    """Return the test of a config, and why it cannot be measured: no such variant, or images for a model of words."""
    reference, stimuli = _test_reference(config["test"]), config["paths"].get("stimuli")
    unmet = None
    try:
        test = load_test(reference, target=config["target"], stimuli=stimuli)
    except NoVariantError as error:
        test, unmet = load_test(reference, stimuli=stimuli), str(error)
    if not holds_images(test):
        return test, unmet
    if is_shared_space(config["model"]):
        return with_images(test, config["paths"].get("images")), unmet
    words = (
        f"{test.name} holds images, and {config['model']['name']} has vectors of words alone: choose a model of images "
        "and texts, such as clip-vit-b-32"
    )
    return test, unmet or words


@dataclass
class _Texts:
    """What a model reads for a cell, as far as there is any; ``unmet`` says why it does not carry the test."""

    context: str | None = None
    digest: str | None = None
    unit: str | None = None
    supply: Supply | None = None
    pairs: PairSupply | None = None
    unmet: str | None = None


def _texts(config: Mapping[str, Any], test: Test, spec: MethodSpec, stats: StatsOptions) -> _Texts:
    """Return the texts that a contextual model reads: sentences with two stimuli, or each stimulus in context."""
    source, concepts = _source(config, test), dict(slots(test))
    read = _Texts(source.label)
    # How many texts a stimulus needs, and which share of a set's stimuli have to have so many.
    least = stats.ceat_min_contexts if spec.uses("ceat_min_contexts") else 1
    share = stats.ceat_min_share if spec.uses("ceat_min_share") else 0.0
    try:
        if spec.pairs:
            adjectives = stats.lpbs_attributes == "adjectives"
            read.pairs = pair_supply(source, concepts, adjectives=adjectives, least=least, share=share)
            read.digest = read.pairs.digest
            read.unit = config["unit"] if read.pairs.sentences > 1 else None
        else:
            read.supply = text_supply(source, concepts, least=least)
            read.unmet = read.supply.unmet(share=share)
            kept = list(read.supply.kept.values())
            read.digest = texts_digest(source, kept)
            by_item = spec.items and spec.test_kind != "valence" and most_contexts(source, kept) > 1
            read.unit = config["unit"] if by_item else None
    except HarnessError as error:
        read.unmet = read.unmet or str(error)
    return read


def slots(test: Test) -> Iterator[tuple[str, Concept]]:
    """Yield each concept of a test with the slot that it fills."""
    if isinstance(test, DetectionTask):
        yield from ((f"group.{name}", concept) for name, concept in test.groups.items())
        yield "universe", test.universe
        return
    for slot in ("W",) if isinstance(test, ValenceTest) else ("X", "Y", "W", "A", "B"):
        concept = getattr(test, slot, None)
        if concept is not None:
            yield slot, concept


def _source(config: Mapping[str, Any], test: Test) -> ContextSource:
    context = {"name": "bare"} if method_spec(config["method"]["name"]).bare else config["context"]
    source = context_source(context, stimuli=config["paths"].get("stimuli"))
    if not holds_images(test) or not is_shared_space(config["model"]):
        return source
    one_of("context.slots", where := context.get("slots") or "attributes", SLOTS)
    return MixedSource(source, dict(slots(test)), slots=where)


def _poles(config: Mapping[str, Any], test: Test) -> tuple[Concept, Concept] | None:
    """Return the two concepts that span the subspace: those that ``association.poles`` names, or the test's A and B."""
    names = config["association"].get("poles")
    if not names:
        return None if isinstance(test, DetectionTask) else (test.A, test.B)
    if len(names) != 2 or names[0] == names[1]:
        raise HarnessError(
            f"association.poles={names}: name two concepts, such as [caliskan2017/pleasant,caliskan2017/unpleasant]."
        )
    first, second = (load_concept(str(name), stimuli=config["paths"].get("stimuli")) for name in names)
    shared = sorted(set(first.words) & set(second.words))
    if shared:
        raise HarnessError(f"association.poles: {', '.join(shared)} stands in both {first.name} and {second.name}.")
    return first, second


def _rated(config: Mapping[str, Any], test: ValenceTest, poles: tuple[Concept, Concept]) -> SingleTargetTest:
    """Return ValNorm's test: the lexicon's words with their ratings, between the poles."""
    keep = frozenset(word for pole in poles for word in pole.words)
    words = load_lexicon(config["lexicon"], keep=keep, seed=config["seed"])
    given = {name: getattr(test, name) for name in ("name", "version", "title", "family", "source", "note")}
    return SingleTargetTest(W=words, A=poles[0], B=poles[1], property_name="human rating of valence", **given)


def _layer(layer: object, last: int | None, *, profile: bool = False) -> str | int:
    """Return a layer as ``last``, ``all`` or a number from 0 (the embeddings) on; the last one's number is ``last``.

    A method that is a profile over layers is measured at all of them, unless one is asked for by its number.
    """
    if isinstance(layer, int) and not isinstance(layer, bool) and layer >= 0:
        return "last" if layer == last and not profile else layer
    if layer in ("last", "all"):
        return "all" if profile else str(layer)
    raise HarnessError(f"layer={layer}: is last, all, or the number of a layer from 0 (the embeddings) on.")


def _postprocess(model: Mapping[str, Any]) -> str | None:
    """Return what is done to the vectors against anisotropy, with its parameter."""
    how = model.get("postprocess") or "none"
    if how == "none":
        return None
    return f"{how}/{model.get('components') or 0}" if how == "all_but_the_top" else str(how)


def _test_reference(test: Mapping[str, Any]) -> str | Path | dict[str, Any]:
    if test.get("path") not in (None, "???"):
        return Path(str(test["path"])).expanduser()
    if set(test) - {"name", "path"}:
        return {key: value for key, value in test.items() if key != "path"}
    if not test.get("name"):
        raise HarnessError("No test was chosen: give test=NAME, or test=file test.path=FILE.yaml.")
    return str(test["name"])


def _content(value: object) -> object:
    if isinstance(value, Concept):
        fallbacks = {word: list(forms) for word, forms in value.fallbacks.items()}
        content = {"words": list(value.words), "fallbacks": fallbacks, "properties": value.properties}
        return {**content, "images": [p.sha256 for p in value.pictures]} if value.kind == "images" else content
    if isinstance(value, Mapping):
        return {key: _content(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def test_identity(test: Test) -> dict[str, Any]:
    """Return the content of a test that determines numbers: its words and their other spellings."""
    return {
        name: _content(getattr(test, name))
        for name in type(test).model_fields
        if name not in {"title", "family", "source", "note", "version"}
    }


def fingerprint(identity: Mapping[str, Any]) -> str:
    """Return the sha256 of an identity's canonical JSON; the same for a planned cell and for a stored result."""
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def compatible(cell: Cell) -> str | None:
    """Return why this combination has no meaning, or None if it has one."""
    spec = cell.spec
    if spec.blocks and not is_static(cell.model) and gives_one_text(cell.source, dict(slots(cell.test)).values()):
        return f"{cell.method} draws among texts, and {cell.source.label} gives one: choose context=templates or corpus"
    if cell.unmet:
        # No corpus is large enough for a model that gives no probabilities.
        return (_without_probabilities(cell) if spec.pairs else None) or cell.unmet
    if cell.test.kind != spec.test_kind:
        return f"{cell.method} measures tests of kind {spec.test_kind}; {cell.test.name} is of kind {cell.test.kind}"
    if cell.association not in spec.associations:
        return (
            f"{cell.method} measures by {' or '.join(spec.associations)}, not by {cell.association}: "
            f"choose association={spec.associations[0]}"
        )
    if spec.test_kind == "valence" and not is_static(cell.model) and not isinstance(cell.source, IntersectionalSource):
        return f"{cell.method} compares sentences that combine categories: choose context=intersectional"
    last = cell.model.get("layers")
    if isinstance(cell.layer, int) and last is not None and cell.layer > last:
        return f"{cell.model['name']} has the layers 0 (the embeddings) to {last}, and no layer {cell.layer}"
    if spec.pairs:
        return _without_probabilities(cell)
    if holds_images(cell.test):
        return _without_meaning_for_images(cell)
    if is_static(cell.model) and cell.encoding == "sentence":
        return f"{cell.model['name']} holds vectors of words: it cannot encode sentences"
    if is_static(cell.model) and spec.items:
        return (
            f"{cell.method} measures texts, and {cell.model['name']} holds one vector a word, whatever the text: "
            "weat measures those"
        )
    return None


def _without_meaning_for_images(cell: Cell) -> str | None:
    """Return why a test with images cannot be measured so, or None if it can."""
    if cell.poles and any(pole.kind == "images" for pole in cell.poles):
        return "a subspace is found between words, and the poles hold images: name two concepts in association.poles"
    source = cell.source
    if source.label != "bare" and not any(source.label == part_of_source(source, c).label for _, c in slots(cell.test)):
        on_targets = any(concept.kind != "images" for _, concept in slots(cell.test))
        return (
            f"{source.label} is put on text attributes, and {cell.test.name} has none: choose context=bare"
            f"{', or context.slots=all for its text targets' if on_targets else ''}"
        )
    return None


def _without_probabilities(cell: Cell) -> str | None:
    """Return why a model gives no probabilities of a cell's sentences, or None if it does, or is not known."""
    name, head = cell.model["name"], cell.model.get("head")
    if cell.model["kind"] != "transformer" or head == "none":
        return f"{cell.method} needs probabilities, and {name} gives none: choose a masked or a causal language model"
    if head == "causal" and cell.stats.lpbs_causal == "left" and cell.pairs and not cell.pairs.attribute_first:
        return f"{cell.context}: {UNREAD_ATTRIBUTE}"
    return None
