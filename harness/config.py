"""The schema of the whole config: what Hydra composes, key by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.options import StatsOptions


@dataclass
class ModelConfig:
    """A model: ``kind`` picks the encoder, the other keys are that encoder's.

    ``case`` and ``phrase`` are those of static vectors, the keys from ``dtype`` on those of models that read texts:
    ``sentence`` is the rule for the vector of a text, ``bos`` whether texts begin with that token, ``token_budget`` the
    size of a batch, ``postprocess`` (with ``components``) what is done against anisotropy.
    """

    name: str = "???"
    kind: str = "static"
    format: str = "auto"
    path: str | None = None
    asset: str | None = None
    id: str | None = None
    revision: str | None = None
    case: str = "auto"
    phrase: list[str] = field(default_factory=lambda: ["underscore", "hyphen", "mean"])
    dtype: str = "float32"
    device: str = "auto"
    sentence: str = "auto"
    bos: str = "auto"
    max_length: int | None = None
    token_budget: int | None = None
    postprocess: str = "none"
    components: int = 1
    description: str = ""
    source: str = ""
    licence: str = ""


@dataclass
class MethodConfig:
    """A method by its name in the registry."""

    name: str = "weat"


@dataclass
class ContextConfig:
    """Where the texts come from that hold a stimulus; no effect on static vectors.

    ``templates`` is a set of sentences by name or file, ``template`` one sentence with ``{word}``; ``number`` keeps
    singular or plural sentences of count nouns; ``article`` is *a* or *an* by sound (``agree``) or always *a*
    (``fixed``). ``categories`` and ``orders`` (``given`` or ``all``) are those of intersectional sentences.
    """

    name: str = "bare"
    templates: str | None = None
    template: str | None = None
    number: str = "both"
    article: str = "agree"
    categories: str | None = None
    orders: str = "given"
    description: str = ""


@dataclass
class StoreConfig:
    """How the vectors of contextual models are kept: ``float32`` or ``float16``, and in how many GB (null: any)."""

    dtype: str = "float32"
    cap_gb: float | None = None


@dataclass
class AssociationConfig:
    """How near two vectors are."""

    name: str = "cosine"


@dataclass
class TrackingConfig:
    """Where runs are logged. ``uri`` null: ``MLFLOW_TRACKING_URI`` or a database under the folder of runs."""

    name: str = "mlflow"
    uri: str | None = None
    experiment: str = "eat-harness"


@dataclass
class PathsConfig:
    """Folders: where runs go, and a user's own stimuli."""

    runs: str = "${oc.env:HARNESS_RUNS,runs}"
    stimuli: str | None = None


@dataclass
class Config:
    """One cell, and how to run it."""

    model: ModelConfig = field(default_factory=ModelConfig)
    test: dict[str, Any] = field(default_factory=dict)
    method: MethodConfig = field(default_factory=MethodConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    association: AssociationConfig = field(default_factory=AssociationConfig)
    stats: StatsOptions = field(default_factory=StatsOptions)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    target: str | None = None
    encoding: str = "word"
    pooling: str = "mean"
    layer: Any = "last"
    unit: str = "item"
    missing: str = "drop"
    unequal: str = "error"
    seed: int = 0
    overwrite: str = "missing"
    figures: str = "auto"
    published: str | None = None
    plan: str | None = None
