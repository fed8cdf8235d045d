"""A cell is one measurement: a model, a test, a method and the design choices. Its fingerprint is its identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contexts.sources import ContextSource, context_source
from harness.contexts.texts import most_contexts, texts_digest
from harness.errors import HarnessError
from harness.methods import method_spec
from harness.models import is_static, model_identity
from harness.options import StatsOptions, one_of
from harness.paths import runs_dir
from harness.stimuli import Concept, DetectionTask, NoVariantError, Test, load_test

MEASUREMENT_VERSION = 1
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

    ``texts`` is the digest of every text that a contextual model reads for it. ``unmet`` is set when the test has no
    such variant, or the context source no text for one of its stimuli: the cell then stands in a sweep as skipped,
    with this reason.
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

    @property
    def source(self) -> ContextSource:
        """Where the texts come from that a contextual model reads."""
        return context_source(self.config["context"], stimuli=self.config["paths"].get("stimuli"))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Cell:
        """Make a cell of a resolved config."""
        for key, allowed in CHOICES.items():
            one_of(key, config[key], allowed)
        one_of("store.dtype", (config.get("store") or {}).get("dtype", "float32"), STORED)
        one_of("association", config["association"]["name"], ("cosine",))
        stats = StatsOptions(**config["stats"])
        stats.check()
        reference, stimuli = _test_reference(config["test"]), config["paths"].get("stimuli")
        unmet = None
        try:
            test = load_test(reference, target=config["target"], stimuli=stimuli)
        except NoVariantError as error:
            test, unmet = load_test(reference, stimuli=stimuli), str(error)
        static = is_static(config["model"])
        sentence = config["encoding"] == "sentence"
        context = texts = unit = None
        if not static:
            source, concepts = context_source(config["context"], stimuli=stimuli), [c for _, c in slots(test)]
            context = source.label
            try:
                texts = texts_digest(source, concepts)
                by_item = method_spec(config["method"]["name"]).items and most_contexts(source, concepts) > 1
                unit = config["unit"] if by_item else None
            except HarnessError as error:
                unmet = unmet or str(error)
        return cls(
            model=dict(config["model"]),
            test=test,
            method=config["method"]["name"],
            target=config["target"],
            context=context,
            association=config["association"]["name"],
            encoding="sentence" if sentence else None if static else "word",
            pooling=None if static or sentence else config["pooling"],
            layer=None if static else checked_layer(config["layer"]),
            postprocess=None if static else _postprocess(config["model"]),
            unit=unit,
            missing=config["missing"] if static else None,
            unequal=config["unequal"],
            stats=stats,
            seed=config["seed"],
            config=dict(config),
            texts=texts,
            unmet=unmet,
        )

    def factors(self) -> dict[str, str | int | float | None]:
        """Return the design choices by name: MLflow's params and the first columns of every table."""
        spec = method_spec(self.method)
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
            "seed": self.seed,
        }

    def identity(self) -> dict[str, Any]:
        """Return everything that determines the numbers, and nothing else."""
        only = {"unmet": self.unmet, "postprocess": self.postprocess, "stored": self._stored_as()}
        spec = method_spec(self.method)
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
            "stats": {name: value for name, value in self.stats.identity().items() if spec.uses(name)},
            "seed": self.seed,
        }

    def _stored_as(self) -> str | None:
        """Return the type of number that vectors are rounded to in the store, if that is not the model's own."""
        dtype = (self.config.get("store") or {}).get("dtype", "float32")
        return None if is_static(self.model) or dtype == "float32" else str(dtype)


def slots(test: Test) -> Iterator[tuple[str, Concept]]:
    """Yield each concept of a test with the slot that it fills."""
    if isinstance(test, DetectionTask):
        yield from ((f"group.{name}", concept) for name, concept in test.groups.items())
        yield "universe", test.universe
        return
    for slot in ("X", "Y", "W", "A", "B"):
        concept = getattr(test, slot, None)
        if concept is not None:
            yield slot, concept


def checked_layer(layer: object) -> str | int:
    """Return a layer as ``last``, ``all`` or a number from 0 (the embeddings) on."""
    if isinstance(layer, int) and not isinstance(layer, bool) and layer >= 0:
        return layer
    if layer in ("last", "all"):
        return str(layer)
    raise HarnessError(f"layer={layer}: is last, all, or the number of a layer from 0 (the embeddings) on.")


def _postprocess(model: Mapping[str, Any]) -> str | None:
    """Return what is done to the vectors against anisotropy, with its parameter."""
    how = model.get("postprocess") or "none"
    if how == "none":
        return None
    return f"{how}/{model.get('components') or 0}" if how == "all_but_the_top" else str(how)


def _test_reference(test: Mapping[str, Any]) -> str | Path | dict[str, Any]:
    if test.get("path"):
        return Path(str(test["path"])).expanduser()
    if set(test) - {"name", "path"}:
        return {key: value for key, value in test.items() if key != "path"}
    if not test.get("name"):
        raise HarnessError("No test was chosen: give test=NAME, or test=file test.path=FILE.yaml.")
    return str(test["name"])


def test_identity(test: Test) -> dict[str, Any]:
    """Return the content of a test that determines numbers: its words and their other spellings."""

    def content(value: object) -> object:
        if isinstance(value, Concept):
            fallbacks = {word: list(forms) for word, forms in value.fallbacks.items()}
            return {"words": list(value.words), "fallbacks": fallbacks, "properties": value.properties}
        if isinstance(value, Mapping):
            return {key: content(item) for key, item in value.items()}
        return list(value) if isinstance(value, tuple) else value

    return {
        name: content(getattr(test, name))
        for name in type(test).model_fields
        if name not in {"title", "family", "source", "note", "version"}
    }


def fingerprint(identity: Mapping[str, Any]) -> str:
    """Return the sha256 of an identity's canonical JSON; the same for a planned cell and for a stored result."""
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def compatible(cell: Cell) -> str | None:
    """Return why this combination has no meaning, or None if it has one."""
    if cell.unmet:
        return cell.unmet
    spec = method_spec(cell.method)
    if cell.test.kind != spec.test_kind:
        return f"{cell.method} measures tests of kind {spec.test_kind}; {cell.test.name} is of kind {cell.test.kind}"
    if is_static(cell.model) and cell.encoding == "sentence":
        return f"{cell.model['name']} holds vectors of words: it cannot encode sentences"
    if is_static(cell.model) and spec.items:
        return (
            f"{cell.method} measures texts, and {cell.model['name']} holds one vector a word, whatever the text: "
            "weat measures those"
        )
    return None
