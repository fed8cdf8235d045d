"""Measure one cell: stimuli to vectors, vectors through the method, a Result out. Knows nothing of Hydra or MLflow."""

from __future__ import annotations

import platform
import subprocess
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from harness.balance import evened
from harness.cell import Cell, compatible, fingerprint, slots
from harness.contexts.context import TARGETS
from harness.contextual import ContextualVectors, Used, contextual_blocks, contextual_sets, reads_vectors
from harness.encoders.pictures import changed
from harness.errors import HarnessError
from harness.likelihoods import Likelihoods
from harness.methods.base import POLE_SLOTS, BlindLayerError, BlockSet, Inputs, Measurement, VectorSet
from harness.models import Encoder, is_static, open_encoder
from harness.poles import beginning, design_of, span
from harness.progress import Progress, silent
from harness.result import Result
from harness.stats.errors import StatsError
from harness.stimuli import Concept, Test, ValenceTest, all_words
from harness.stimuli.images import named, same_images, shared_images

USER_ERRORS = (HarnessError, StatsError)
"""What is a user's mistake: one sentence."""


class Encoders:
    """The models that this process has opened, each once, and the store of vectors in context."""

    def __init__(self, runs: Path, *, progress: Progress = silent) -> None:
        self._runs = runs
        self._open: dict[str, tuple[Encoder, frozenset[str]]] = {}
        self.contextual = ContextualVectors(runs, progress=progress)
        self.likelihoods = Likelihoods(runs, progress=progress)

    def get(self, cell: Cell, words: frozenset[str]) -> Encoder:
        """Return the cell's model, opened for at least these words."""
        key = fingerprint({"model": cell.model})
        if key in self._open and words <= self._open[key][1]:
            return self._open[key][0]
        wanted = words | all_words(cell.config["paths"].get("stimuli"))
        encoder = open_encoder(cell.model, runs=self._runs, wanted=wanted)
        self._open[key] = (encoder, wanted)
        return encoder

    def prefetch(self, cells: Iterable[Cell], *, layers: Mapping[str, Sequence[str | int]] | None = None) -> None:
        """Encode the texts of all cells that read texts, before the first of them is measured.

        What cannot be encoded is left to the cell that needs it, whose failure then says why.
        """
        wanted = [cell for cell in cells if reads_vectors(cell) and not compatible(cell)]
        with suppress(Exception):
            self.contextual.prefetch(wanted, layers=layers)


def run(cell: Cell, encoders: Encoders) -> Result:
    """Measure a cell. A mistake or a defect becomes a failed Result that tells what happened; nothing is raised."""
    started = time.time()
    identity = cell.identity()
    result = Result(
        fingerprint=fingerprint(identity),
        status="finished",
        identity=identity,
        factors=dict(cell.factors()),
        started=started,
        versions=versions(),
        config=cell.config,
    )
    reason = compatible(cell)
    if reason:
        result.status, result.reason = "skipped", reason
        return result
    try:
        _measure(cell, encoders, result)
    except USER_ERRORS as error:
        result.status, result.reason, result.mistake = "failed", str(error), True
        result.traceback = traceback.format_exc()
    except Exception as error:
        result.status, result.reason = "failed", f"{type(error).__name__}: {error}"
        result.traceback = traceback.format_exc()
    result.seconds = time.time() - started
    return result


def _measure(cell: Cell, encoders: Encoders, result: Result) -> None:
    concepts = dict(slots(cell.test))
    sets: Mapping[str, Sized]
    single = TARGETS if cell.pairs else ()
    refuse_bad_lists(cell.test, concepts, unequal=cell.unequal, single=single)
    if cell.pairs:
        found, result.words = encoders.likelihoods.measure(cell, result)
        model = fingerprint(result.identity["model"])
        inputs = Inputs(cell.test, {}, cell.stats, cell.seed, unit=cell.unit, model=model, likelihoods=found)
        measurement, sets = cell.spec.measure()(inputs), found.words
    elif is_static(cell.model):
        concepts |= dict(zip(POLE_SLOTS, cell.poles or (), strict=False))
        forms = {form for c in concepts.values() for fs in c.fallbacks.values() for form in fs}
        encoder = encoders.get(cell, frozenset(forms.union(*(c.words for c in concepts.values()))))
        looked_up, result.words = collect(cell, encoder, concepts, result)
        measurement, sets = _apply(cell, looked_up), looked_up
    else:
        measurement, sets, result.words = _measure_layers(cell, encoders.contextual, concepts, result)
    dropped = sum(len(slot["dropped"]) for slot in result.words.values())
    sizes = {f"n_{slot.lower()}": float(len(vectors)) for slot, vectors in sets.items() if len(slot) == 1}
    result.metrics = {**measurement.metrics, **sizes, "n_dropped": float(dropped)}
    result.labels = measurement.labels
    result.tables = measurement.tables
    result.notes += measurement.notes


def _apply(
    cell: Cell, sets: Mapping[str, VectorSet], blocks: Mapping[str, BlockSet] | None = None, *, model: str = ""
) -> Measurement:
    spanned = span(cell, sets)
    inputs = Inputs(
        cell.test,
        sets,
        cell.stats,
        cell.seed,
        encoding=cell.encoding,
        unit=cell.unit,
        blocks=blocks or {},
        model=model,
        association=cell.association,
        subspace=spanned.subspace if spanned else None,
        poles=spanned.names if spanned else None,
        design=design_of(cell),
    )
    measurement = cell.spec.measure()(inputs)
    if spanned:
        measurement.metrics |= spanned.metrics
        measurement.notes += spanned.notes
    return measurement


def _measure_layers(
    cell: Cell, vectors: ContextualVectors, concepts: Mapping[str, Concept], result: Result
) -> tuple[Measurement, Mapping[str, Sized], Used]:
    """Measure the layer asked for; with ``layer=all`` every one: the last is the cell's, the table has them all."""
    if cell.missing == "error" and cell.supply is not None:
        cell.supply.refuse()
    vectors.prefetch([cell])
    rows, blind = [], []
    layers = vectors.layers(cell)
    for layer in layers:
        result.notes = []
        try:
            measurement, sets, used = _measure_layer(cell, vectors, concepts, layer, result)
        except BlindLayerError:
            if layer == layers[-1]:
                raise
            blind.append(str(layer))
            continue
        rows.append({"layer": layer, **measurement.metrics, **measurement.labels})
    if blind:
        result.notes.append(f"Layer {', '.join(blind)} is left out: there a stimulus does not see the words around it.")
    if len(rows) > 1:
        measurement.tables["layers"] = rows
    if cell.poles is not None:
        labels, notes = beginning(str(cell.model["name"]), vectors.begins_with(cell))
        measurement.labels |= labels
        result.notes += notes
    result.notes += [*vectors.notes(cell), *_image_notes(concepts)]
    return measurement, sets, used


def _image_notes(concepts: Mapping[str, Concept]) -> list[str]:
    """Say which images are the same file in several places, and which were changed before the model read them."""
    notes = same_images(concepts)
    for concept in concepts.values():
        notes += changed((picture.word, picture.path, picture.sha256) for picture in concept.pictures)
    return notes


def _measure_layer(
    cell: Cell, vectors: ContextualVectors, concepts: Mapping[str, Concept], layer: int, result: Result
) -> tuple[Measurement, Mapping[str, Sized], Used]:
    if cell.spec.blocks:
        blocks, poles, used = contextual_blocks(cell, vectors, concepts, layer, result)
        return _apply(cell, poles, blocks, model=fingerprint(result.identity["model"])), blocks, used
    sets, used = contextual_sets(cell, vectors, concepts, layer, result)
    return _apply(cell, sets), sets, used


def refuse_bad_lists(
    test: Test, concepts: Mapping[str, Concept], *, unequal: str, single: tuple[str, ...] = ()
) -> None:
    """Raise one sentence for lists that no method should measure: too short, repeated, shared, of unequal size.

    A slot that ``single`` names may hold one stimulus.
    """
    for slot, concept in concepts.items():
        where = f"Test {test.name}, {slot} ({concept.name})"
        if len(concept.words) < 2 and slot not in single and not (slot == "W" and isinstance(test, ValenceTest)):
            raise HarnessError(f"{where} holds {len(concept.words)} stimuli; at least two are needed, eight advised.")
        repeated = sorted({word for word in concept.words if concept.words.count(word) > 1})
        if repeated:
            raise HarnessError(f"{where} lists {', '.join(repeated)} more than once; keep one of each.")
    for left, right in (("X", "Y"), ("A", "B")):
        if left in concepts and right in concepts:
            one, other = concepts[left], concepts[right]
            images = shared_images(one, other)
            if images:
                raise HarnessError(
                    f"Test {test.name}: {named(images)} of {left} is, by content, in {right} too; keep it in "
                    "one of them."
                )
            shared = [] if one.pictures and other.pictures else sorted(set(one.words) & set(other.words))
            if shared:
                raise HarnessError(
                    f"Test {test.name}: {', '.join(shared)} stands in both {left} and {right}; keep it in one of them."
                )
    if unequal == "error" and "Y" in concepts and len(concepts["X"].words) != len(concepts["Y"].words):
        raise HarnessError(
            f"Test {test.name}: X has {len(concepts['X'].words)} stimuli and Y {len(concepts['Y'].words)}; "
            "even them out, or choose unequal=keep or unequal=downsample."
        )


def collect(
    cell: Cell, encoder: Encoder, concepts: Mapping[str, Concept], result: Result
) -> tuple[dict[str, VectorSet], Used]:
    """Look every stimulus up and apply the policies for missing stimuli and unequal sets, each logged in words."""
    found: dict[str, VectorSet] = {}
    lost: dict[str, list[str]] = {}
    for slot, concept in concepts.items():
        lookup = encoder.lookup(concept.words, fallbacks=concept.fallbacks)
        lost[slot] = [*lookup.missing, *lookup.zero]
        if lookup.missing and cell.missing == "error":
            raise HarnessError(
                f"{cell.model['name']} has no vector for {', '.join(lookup.missing)} ({slot} of {cell.test.name}); "
                "correct the words, or choose missing=drop or missing=drop_balanced."
            )
        if lookup.zero and cell.missing == "error":
            raise HarnessError(
                f"{cell.model['name']} holds a vector of length zero for {', '.join(lookup.zero)} ({slot} of "
                f"{cell.test.name}): it has no direction; choose missing=drop or missing=drop_balanced."
            )
        if lookup.missing:
            result.notes.append(f"{cell.model['name']} lacks {', '.join(lookup.missing)} ({slot}).")
        if lookup.zero:
            result.notes.append(f"{cell.model['name']} has a zero vector for {', '.join(lookup.zero)} ({slot}).")
        result.forms |= {word: form for word, form in lookup.forms.items() if word != form}
        found[slot] = VectorSet(concept.name, lookup.words, lookup.matrix)
    words = {slot: vectors.words for slot, vectors in found.items()}
    kept = evened(words, lost, result.notes, missing=cell.missing, unequal=cell.unequal, seed=cell.seed)
    for slot, places in kept.items():
        found[slot] = VectorSet(found[slot].name, tuple(words[slot][i] for i in places), found[slot].vectors[places])
    for slot, vectors in found.items():
        if len(vectors) < 2:
            raise HarnessError(
                f"{cell.model['name']} has {len(vectors)} of the {len(concepts[slot].words)} stimuli of {slot} "
                f"({concepts[slot].name}); at least two are needed. It lacks {named(lost[slot])}."
            )
    return found, {slot: {"used": list(found[slot].words), "dropped": lost[slot]} for slot in found}


@cache
def versions() -> dict[str, str]:
    """Return the versions that a number depends on, and the commit of a checkout."""
    found = {name: metadata.version(name) for name in ("eat-harness", "numpy", "scipy", "hydra-core", "mlflow")}
    commit = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {"python": platform.python_version(), **found, "git": commit or "none"}
