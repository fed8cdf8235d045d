"""What a stimulus file may say: concepts, tests and where they come from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)*$")]
Word = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class Strict(BaseModel):
    """A key that the file may not have is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Strict):
    """Where a list was printed: the paper's key and the place in it."""

    paper: str
    place: str
    note: str = ""


class Described(Strict):
    """What a set of sentences or categories says about itself."""

    name: Name
    version: int = 1
    title: str = ""
    source: Source | None = None
    licence: str = ""
    note: str = ""


class Picture(Strict):
    """An image file of a concept: the word that stands for it, where it is, the sha256 of its bytes."""

    word: str
    path: str
    sha256: str
    licence: str = ""


class Concept(Strict):
    """A named list of stimuli.

    ``as_printed`` maps a corrected word to the form that the source prints. ``fallbacks`` maps a word to other
    spellings, tried in order when a model lacks it. ``properties`` gives a number per word (WEFAT's per cent women).
    ``part`` says how templates treat the words (``thing``, ``person``, ``adjective`` …: the keys of
    ``stimuli/lexica/grammar.yaml``), ``parts`` the exceptions; left out, that file decides.

    A concept of kind ``images`` has a ``folder``, or a ``manifest``: a CSV file with the columns path, label, licence
    and sha256, whose paths start in the folder. ``asset`` names the entry of `harness fetch` that tells where the
    images come from. ``home`` is where the concept's file is; ``pictures`` are the images as they were found
    (``harness.stimuli.images.with_pictures``), in the order of ``words``.
    """

    name: Name
    version: int = 1
    kind: Literal["words", "names", "phrases", "images"] = "words"
    words: tuple[Word, ...]
    source: Source | None = None
    licence: str = ""
    note: str = ""
    as_printed: dict[str, str] = Field(default_factory=dict)
    fallbacks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    properties: dict[str, float] = Field(default_factory=dict)
    part: str = ""
    parts: dict[str, str] = Field(default_factory=dict)
    folder: str = ""
    manifest: str = ""
    asset: str = ""
    home: str = Field(default="", exclude=True)
    pictures: tuple[Picture, ...] = Field(default=(), exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _images_come_from_files(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = [key for key in ("folder", "manifest") if data.get(key)]
        if data.get("kind") == "images":
            if not given:
                raise ValueError("images need a folder, or a manifest with the columns path, label, licence, sha256")
            return {"words": (), **data}
        if given:
            raise ValueError(f"{given[0]} belongs to images: add `kind: images`")
        return data

    @field_validator("words", mode="before")
    @classmethod
    def _quoted(cls, words: object) -> object:
        if isinstance(words, list | tuple):
            for word in words:
                if not isinstance(word, str):
                    raise ValueError(f"{word!r} is not a text: put the word in quotes, YAML reads it as something else")
        return words

    @model_validator(mode="after")
    def _keys_are_words(self) -> Concept:
        for field in ("as_printed", "fallbacks", "properties", "parts"):
            strangers = sorted(set(getattr(self, field)) - set(self.words))
            if strangers:
                raise ValueError(f"{field} names {', '.join(strangers)}, which the list of words does not hold")
        return self


class AssociationTest(Strict):
    """Targets X, Y and attributes A, B, each a concept; a variant swaps some of them."""

    kind: Literal["association"] = "association"
    name: Name
    version: int = 1
    title: str
    X: Concept
    Y: Concept
    A: Concept
    B: Concept
    family: str = ""
    source: Source | None = None
    note: str = ""


class SingleTargetTest(Strict):
    """WEFAT: words W with a property each, and attributes A, B."""

    kind: Literal["single"] = "single"
    name: Name
    version: int = 1
    title: str
    W: Concept
    A: Concept
    B: Concept
    property_name: str
    family: str = ""
    source: Source | None = None
    note: str = ""


class DetectionTask(Strict):
    """IBD and EIBD: groups of names, what each group is made of, and the attributes to be found.

    ``constituents`` maps a group and a category (``race``, ``gender``) to the groups whose names are united there;
    that union is compared with every other union of the category.
    ``positives`` maps a task (``intersectional`` or ``emergent``) and a group to the attributes that belong to it;
    ``universe`` is all the words that are classified.
    """

    kind: Literal["detection"] = "detection"
    name: Name
    version: int = 1
    title: str
    groups: dict[str, Concept]
    constituents: dict[str, dict[str, tuple[str, ...]]] = Field(default_factory=dict)
    positives: dict[str, dict[str, Concept]]
    universe: Concept
    family: str = ""
    source: Source | None = None
    note: str = ""


class ValenceTest(Strict):
    """Words W that stand in many contexts, and the poles A and B of the dimension that they are projected on."""

    kind: Literal["valence"] = "valence"
    name: Name
    version: int = 1
    title: str
    W: Concept
    A: Concept
    B: Concept
    family: str = ""
    source: Source | None = None
    note: str = ""


Test = AssociationTest | SingleTargetTest | DetectionTask | ValenceTest
