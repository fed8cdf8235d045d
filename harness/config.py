"""The schema of the whole config: what Hydra composes, key by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.options import StatsOptions


@dataclass
class ModelConfig:
    """A model: ``kind`` picks the encoder, the other keys are that encoder's.

    ``case`` and ``phrase`` are those of static vectors, the keys from ``layers`` on those of models that read texts:
    ``layers`` is the number of the last layer, so that a sweep knows it before the model is opened (null: found out
    then), ``head`` likewise whether it gives probabilities of words as a ``masked`` or a ``causal`` language model, or
    ``none``, ``sentence`` the rule for the vector of a text, ``bos`` whether texts begin with that token,
    ``token_budget`` the size of a batch, ``postprocess`` (with ``components``) what is done against anisotropy.
    ``backend`` (``open_clip`` or ``transformers``), ``architecture`` and ``pretrained`` (names of open_clip) and
    ``batch_size`` are those of models of images and texts.
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
    layers: int | None = None
    head: str | None = None
    dtype: str = "float32"
    device: str = "auto"
    sentence: str = "auto"
    bos: str = "auto"
    max_length: int | None = None
    token_budget: int | None = None
    backend: str = "open_clip"
    architecture: str | None = None
    pretrained: str | None = None
    batch_size: int = 32
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
    (``fixed``). ``categories`` and ``orders`` (``given`` or ``all``) are those of intersectional sentences; beside the
    given order, ``shuffles`` others are drawn with ``shuffle_seed``, to see what word order does, with all sentences of
    each or a balanced part of ``shuffle_size``. ``corpus`` is a built corpus in ``folder``, ``window`` the words on
    each side of the stimulus (0: the sentence, null: as the corpus was built), ``contexts`` how many a stimulus has at
    most (null: all that are stored). ``gap`` is how many words at most stand between a target and an attribute in a
    sentence that holds both (null: 18). In a test that holds images, ``slots`` says which texts are put in context:
    ``attributes`` (wolfe2024) or ``all``.
    """

    name: str = "bare"
    templates: str | None = None
    template: str | None = None
    number: str = "both"
    article: str = "agree"
    categories: str | None = None
    orders: str = "given"
    shuffles: int = 0
    shuffle_size: int = 0
    shuffle_seed: int = 0
    corpus: str | None = None
    window: int | None = None
    contexts: int | None = None
    gap: int | None = None
    folder: str | None = None
    slots: str = "attributes"
    description: str = ""


@dataclass
class StoreConfig:
    """How the vectors of contextual models are kept: ``float32`` or ``float16``, and in how many GB (null: any)."""

    dtype: str = "float32"
    cap_gb: float | None = None


@dataclass
class AssociationConfig:
    """How near two vectors are: by ``cosine``, or by ``projection`` on the subspace between two poles.

    ``poles`` names two concepts (null: the test's attributes A and B); they are read alone, without context. The other
    keys say how the subspace is found: see ``harness.methods.projection.SubspaceOptions``.
    """

    name: str = "cosine"
    poles: list[str] | None = None
    subspace: str = "svc"
    C: float = 1.0
    loss: str = "hinge"
    scale: str = "none"
    dimensions: int = 1
    folds: int = 5
    permutations: int = 99
    description: str = ""


@dataclass
class LexiconConfig:
    """Words with human ratings, for ValNorm: an ``asset``, or a CSV file at ``path`` with two named columns.

    ``limit`` is the number of words of a seeded draw beside the pole words (null: every word).
    """

    name: str = "vader"
    asset: str | None = "vader"
    path: str | None = None
    word: str = "word"
    rating: str = "rating"
    limit: int | None = 500
    description: str = ""


@dataclass
class TrackingConfig:
    """Where runs are logged. ``uri`` null: ``MLFLOW_TRACKING_URI`` or a database under the folder of runs."""

    name: str = "mlflow"
    uri: str | None = None
    experiment: str = "eat-harness"


@dataclass
class PathsConfig:
    """Folders: where runs go, a user's own stimuli, and the images that image concepts name."""

    runs: str = "${oc.env:HARNESS_RUNS,runs}"
    stimuli: str | None = None
    images: str | None = None


@dataclass
class Config:
    """One cell, and how to run it."""

    model: ModelConfig = field(default_factory=ModelConfig)
    test: dict[str, Any] = field(default_factory=dict)
    method: MethodConfig = field(default_factory=MethodConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    association: AssociationConfig = field(default_factory=AssociationConfig)
    lexicon: LexiconConfig = field(default_factory=LexiconConfig)
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
    tag: str | None = None
    plan: str | None = None
