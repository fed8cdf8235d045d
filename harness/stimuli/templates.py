"""Sentences with slots: one slot for SEAT and prompts, two for LPBS."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from harness.contexts.context import Context, PairContext
from harness.errors import HarnessError, did_you_mean
from harness.stimuli.load import stimuli_roots
from harness.stimuli.render import Article, Slot, render, slots
from harness.stimuli.schema import Described, Strict
from harness.stimuli.yaml_file import explain, read_yaml

ANY = "any"
Number = Literal["both", "singular", "plural"]
Agreement = Literal["thing_singular", "thing_plural", "person_singular", "person_plural"]


def _require_slots(template: str, *names: str) -> list[Slot]:
    found = slots(template)
    if sorted(slot.name for slot in found) != sorted(names):
        wanted = " and ".join(f"{{{name}}}" for name in names)
        raise ValueError(f"{template!r} must hold {wanted} exactly once and no other slot")
    return found


def _require_bare_target(found: list[Slot], template: str) -> None:
    # What stands around a masked target must not tell which target it is, and a stimulus is scored as listed.
    if Slot(None, "target") not in found:
        raise ValueError(f"{template!r} must have {{target}} without a, an or plural")


class Form(Strict):
    """Sentences for one grammatical form; ``size`` says how many, and is checked."""

    templates: tuple[str, ...] = Field(min_length=1)
    size: int
    number: Literal["singular", "plural"] | None = None

    @model_validator(mode="after")
    def _checked(self) -> Form:
        for template in self.templates:
            _require_slots(template, "word")
        if len(set(self.templates)) != len(self.templates):
            raise ValueError("a sentence is given twice")
        if len(self.templates) != self.size:
            raise ValueError(f"size says {self.size}, but there are {len(self.templates)} sentences")
        return self


class TemplateSet(Described):
    """Sentences with the slot ``{word}``.

    ``parts`` maps a part of speech to the forms it fills, ``concepts`` does so for a concept by name and goes first;
    the part ``any`` catches the rest. A file may give a plain list ``templates`` instead, which every word fills.
    """

    kind: Literal["single"] = "single"
    forms: dict[str, Form]
    parts: dict[str, tuple[str, ...]]
    concepts: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _plain_list(cls, data: Any) -> Any:
        if isinstance(data, dict) and "templates" in data and "forms" not in data:
            templates = data["templates"]
            size = len(templates) if isinstance(templates, list) else 0
            rest = {key: value for key, value in data.items() if key != "templates"}
            return {**rest, "forms": {ANY: {"templates": templates, "size": size}}, "parts": {ANY: [ANY]}}
        return data

    @model_validator(mode="after")
    def _forms_exist(self) -> TemplateSet:
        for key, forms in (self.parts | self.concepts).items():
            for form in forms:
                if form not in self.forms:
                    raise ValueError(f"{key} names the form {form!r}, which the file does not hold")
        return self

    def _forms_of(self, part: str, concept: str, word: str) -> tuple[str, ...]:
        forms = self.concepts.get(concept) or self.parts.get(part) or self.parts.get(ANY)
        if not forms:
            raise HarnessError(
                f"The templates {self.name} have no sentences for {word!r} as {part!r}: they have "
                f"{', '.join(self.parts)}; set part or parts in the concept's file."
            )
        return forms

    def fill(
        self, word: str, *, part: str = "thing", concept: str = "", number: Number = "both", article: Article = "agree"
    ) -> tuple[Context, ...]:
        """Return the sentences of one word, each with the span of the word as inflected.

        Parameters
        ----------
        word
            The stimulus, as its concept lists it.
        part
            Its part of speech (``harness.stimuli.grammar.part_of``).
        concept
            The name of its concept, for sets that treat some concepts apart.
        number
            ``singular`` or ``plural`` keeps only these sentences of a count noun; a word that has but one number
            keeps it.
        article
            ``agree`` (a or an by sound) or ``fixed`` (always a).
        """
        forms = [self.forms[name] for name in self._forms_of(part, concept, word)]
        kept = [form for form in forms if number == "both" or form.number in (number, None)] or forms
        contexts = []
        for form in kept:
            for template in form.templates:
                text, spans = render(template, {"word": word}, article=article)
                contexts.append(Context(text, *spans["word"]))
        return tuple(contexts)


class Subject(Strict):
    """How a target of some part of speech begins a clause, and how the verb agrees with it."""

    text: str
    agrees: Agreement

    @field_validator("text")
    @classmethod
    def _one_target(cls, text: str) -> str:
        _require_bare_target(_require_slots(text, "target"), text)
        return text


class PairTemplateSet(Described):
    """Sentences with the slots ``{target}`` and ``{attribute}``.

    Frames, subjects and predicates are combined, so that the j-th sentence of every target and attribute says the
    same in its own agreement; LPBS compares targets within one j. ``order`` says which of subject (with the target) and
    predicate (with the attribute) begins the clause. ``templates`` is a plain list for a user's own set.
    """

    kind: Literal["pair"] = "pair"
    size: int | None = None
    templates: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    order: Literal["target_first", "attribute_first"] = "target_first"
    subjects: dict[str, Subject] = Field(default_factory=dict)
    predicates: dict[str, dict[Agreement, str]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _checked(self) -> PairTemplateSet:
        if bool(self.templates) == bool(self.frames):
            raise ValueError("give either templates or frames with subjects and predicates")
        for template in self.templates:
            _require_bare_target(_require_slots(template, "target", "attribute"), template)
        for frame in self.frames:
            _require_slots(frame, "clause")
        for forms in self.predicates.values():
            for predicate in forms.values():
                _require_slots(predicate, "attribute")
        count = len(self.templates or self.frames)
        if self.size is not None and count != self.size:
            raise ValueError(f"size says {self.size}, but there are {count} sentences")
        return self

    def _sentences(self, target_part: str, attribute_part: str) -> tuple[str, ...]:
        if self.templates:
            return self.templates
        subject = self.subjects.get(target_part)
        if subject is None:
            raise HarnessError(
                f"The templates {self.name} have no subject for targets that are {target_part!r}: they have "
                f"{', '.join(self.subjects)}; set part or parts in the concept's file."
            )
        predicate = self.predicates.get(attribute_part, {}).get(subject.agrees)
        if predicate is None:
            raise HarnessError(
                f"The templates {self.name} have no predicate for attributes that are {attribute_part!r} with targets "
                f"that are {target_part!r}: they have {', '.join(self.predicates)}; set part or parts in the concept's "
                "file."
            )
        first, second = (subject.text, predicate) if self.order == "target_first" else (predicate, subject.text)
        return tuple(frame.replace("{clause}", f"{first} {second}") for frame in self.frames)

    def fill(
        self,
        target: str,
        attribute: str,
        *,
        target_part: str = "thing",
        attribute_part: str = "thing",
        article: Article = "agree",
    ) -> tuple[PairContext, ...]:
        """Return the sentences of a target and an attribute; the target always stands as it is listed."""
        contexts = []
        for template in self._sentences(target_part, attribute_part):
            text, spans = render(template, {"target": target, "attribute": attribute}, article=article)
            contexts.append(PairContext(text, *spans["target"], *spans["attribute"]))
        return tuple(contexts)


@cache
def _template_files(roots: tuple[Path, ...]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for root in roots:
        for path in sorted((root / "templates").glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


_Model = TypeVar("_Model", TemplateSet, PairTemplateSet)


def template_path(ref: str | Path, *, stimuli: str | Path | None = None) -> Path:
    """Return the file of templates of that name; a YAML file stands for itself."""
    path = Path(ref).expanduser()
    if path.suffix in {".yaml", ".yml"}:
        return path
    files = _template_files(stimuli_roots(stimuli))
    if str(ref) not in files:
        raise HarnessError(f"There are no templates named {str(ref)!r}.{did_you_mean(str(ref), files)}")
    return files[str(ref)]


def _load(ref: str | Path, model: type[_Model], *, kind: str, stimuli: str | Path | None) -> _Model:
    path = template_path(ref, stimuli=stimuli)
    data = {"name": path.stem.lower(), "kind": "single", **read_yaml(path)}
    if data["kind"] != kind:
        slot = {"single": "{word}", "pair": "{target} and {attribute}"}
        raise HarnessError(
            f"{path}: kind: {data['kind']!r} does not serve; templates with {slot[kind]} are needed (kind: {kind})."
        )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise explain(error, path) from None


def load_template_set(ref: str | Path, *, stimuli: str | Path | None = None) -> TemplateSet:
    """Return the one-slot sentences of that name, or of a YAML file."""
    return _load(ref, TemplateSet, kind="single", stimuli=stimuli)


def load_pair_templates(ref: str | Path, *, stimuli: str | Path | None = None) -> PairTemplateSet:
    """Return the two-slot sentences of that name, or of a YAML file."""
    return _load(ref, PairTemplateSet, kind="pair", stimuli=stimuli)
