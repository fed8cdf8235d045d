"""Where the texts come from that hold a stimulus: the group ``context``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from pydantic import ValidationError

from harness.contexts.context import Context, Contexts
from harness.contexts.corpus import corpus_source, corpus_stamp
from harness.contexts.pairs import PairSource
from harness.contexts.pairs_corpus import pair_corpus_source
from harness.errors import HarnessError
from harness.options import one_of
from harness.stimuli.categories import CategorySet, IntersectionalContext, category_path, load_category_set
from harness.stimuli.grammar import part_of
from harness.stimuli.render import Article
from harness.stimuli.schema import Concept
from harness.stimuli.templates import (
    Number,
    PairTemplateSet,
    TemplateSet,
    load_pair_templates,
    load_template_set,
    template_path,
)

_Templates = TypeVar("_Templates", TemplateSet, PairTemplateSet)

KEPT_WORDS = 20_000
"""Filled sentences are kept for so many words of a source; the words of all shipped tests fit."""

KEPT_INTERSECTIONAL = 64
"""The same for intersectional sentences, of which a word has thousands."""


class ContextSource(Protocol):
    """Gives the texts of a stimulus.

    ``label`` names the source as a factor of the cell; what identifies it is the texts that it gives
    (``harness.contexts.texts.texts_digest``). What it gives for a stimulus should be the same object every time,
    because that object knows its digest.
    """

    @property
    def label(self) -> str:
        """The source and the options that differ from its defaults."""

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the texts of one stimulus of a concept, each with the span that it takes."""


class BareSource:
    """The stimulus alone; an encoder adds what its tokenizer adds to every text."""

    label = "bare"

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the stimulus as a text of its own."""
        return Contexts((Context(word, 0, len(word)),))


class TemplateSource:
    """Sentences with a slot, in the agreement that the stimulus needs."""

    def __init__(self, templates: TemplateSet, *, label: str, number: Number, article: Article) -> None:
        self.label = label
        self._templates = templates
        self._number: Number = number
        self._article: Article = article
        self._filled = lru_cache(maxsize=KEPT_WORDS)(self._fill)

    def _fill(self, word: str, part: str, concept: str) -> Contexts:
        return Contexts(
            self._templates.fill(word, part=part, concept=concept, number=self._number, article=self._article)
        )

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the sentences of one stimulus."""
        return self._filled(word, part_of(word, concept), concept.name)


def gives_one_text(source: ContextSource, concepts: Iterable[Concept]) -> bool:
    """Tell whether a source writes a single text for every stimulus; what a corpus holds is not asked."""
    return isinstance(source, BareSource | TemplateSource) and all(
        len(source.contexts(concept, word)) == 1 for concept in concepts for word in concept.words[:1]
    )


class IntersectionalSource:
    """One sentence for every combination of social categories, with the stimulus for the person (omrani2023)."""

    def __init__(
        self,
        categories: CategorySet,
        *,
        label: str,
        orders: str,
        article: Article,
        shuffles: int = 0,
        shuffle_size: int = 0,
        shuffle_seed: int = 0,
    ) -> None:
        self.label = label
        self.categories = categories
        self.shuffles = shuffles
        self._shuffle_size = shuffle_size
        self._shuffle_seed = shuffle_seed
        self._orders = orders
        self._article: Article = article
        self._written = lru_cache(maxsize=KEPT_INTERSECTIONAL)(self._write)
        self._texts = lru_cache(maxsize=KEPT_INTERSECTIONAL)(self._as_texts)

    def _write(self, word: str) -> tuple[IntersectionalContext, ...]:
        about = self.categories.model_copy(update={"word": word})
        every = about.permutations if self._orders == "all" else about.combinations
        shuffled = (
            sentence
            for number, order in enumerate(about.drawn_orders(self.shuffles, seed=self._shuffle_seed))
            for sentence in about.combinations(article=self._article, order=order, size=self._shuffle_size, seed=number)
        )
        return (*every(article=self._article), *shuffled)

    def sentences(self, word: str) -> tuple[IntersectionalContext, ...]:
        """Return the sentences about ``word``, with the terms that each uses and their order."""
        return self._written(word)

    def contexts(self, concept: Concept, word: str) -> Contexts:
        """Return the same sentences as texts with a span."""
        return self._texts(word)

    def _as_texts(self, word: str) -> Contexts:
        return Contexts(sentence.context for sentence in self.sentences(word))


def _choice(config: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = config.get(key) or allowed[0]
    one_of(f"context.{key}", value, allowed)
    return str(value)


def _label(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def _unless(value: str, default: str) -> str:
    return "" if value == default else value


def _template_source(config: Mapping[str, Any], stimuli: str | Path | None) -> ContextSource:
    name = str(config["name"])
    number = _choice(config, "number", ("both", "singular", "plural"))
    article = _choice(config, "article", ("agree", "fixed"))
    templates, shown = _sentences(config, TemplateSet, load_template_set, stimuli)
    return TemplateSource(
        templates,
        label=_label(name, shown, _unless(number, "both"), _unless(article, "agree")),
        number=cast(Number, number),
        article=cast(Article, article),
    )


def _sentences(
    config: Mapping[str, Any], kind: type[_Templates], load: Callable[..., _Templates], stimuli: str | Path | None
) -> tuple[_Templates, str]:
    """Return the sentence that stands in a config, or the set that it names, and what to call it in a label."""
    if config.get("template"):
        shown = str(config["template"])
        try:
            return kind.model_validate({"name": "inline", "templates": [shown]}), shown
        except ValidationError as error:
            complaint = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise HarnessError(f"context.template: {complaint}.") from None
    if not config.get("templates"):
        name = config["name"]
        raise HarnessError(f"context={name} has no sentences: set context.templates to a name or a YAML file.")
    templates = load(str(config["templates"]), stimuli=stimuli)
    return templates, templates.name


def _intersectional_source(config: Mapping[str, Any], stimuli: str | Path | None) -> ContextSource:
    if not config.get("categories"):
        raise HarnessError("context=intersectional has no categories: set context.categories to a name or a YAML file.")
    categories = load_category_set(str(config["categories"]), stimuli=stimuli)
    orders = _choice(config, "orders", ("given", "all"))
    article = _choice(config, "article", ("agree", "fixed"))
    # Where every order is written out, there is none left to draw.
    shuffles = int(config.get("shuffles") or 0) if orders == "given" else 0
    size = int(config.get("shuffle_size") or 0) if shuffles else 0
    drawn = f"{shuffles} shuffles" + (f" of {size}" if size else "") if shuffles else ""
    return IntersectionalSource(
        categories,
        label=_label("intersectional", categories.name, _unless(orders, "given"), _unless(article, "agree"), drawn),
        orders=orders,
        article=cast(Article, article),
        shuffles=shuffles,
        shuffle_size=size,
        shuffle_seed=int(config.get("shuffle_seed") or 0),
    )


def _pair_source(config: Mapping[str, Any], stimuli: str | Path | None) -> ContextSource:
    article = _choice(config, "article", ("agree", "fixed"))
    templates, shown = _sentences(config, PairTemplateSet, load_pair_templates, stimuli)
    label = _label("pairs", shown, _unless(article, "agree"))
    return PairSource(templates, label=label, article=cast(Article, article))


def _bare_source(config: Mapping[str, Any], stimuli: str | Path | None) -> ContextSource:
    return BareSource()


SOURCES: dict[str, Callable[[Mapping[str, Any], str | Path | None], ContextSource]] = {
    "bare": _bare_source,
    "templates": _template_source,
    "prompt": _template_source,
    "intersectional": _intersectional_source,
    "pairs": _pair_source,
    "corpus": corpus_source,
    "pairs_corpus": pair_corpus_source,
}
"""How the source of each name is made from its config and a folder of stimuli."""


def context_source(config: Mapping[str, Any], *, stimuli: str | Path | None = None) -> ContextSource:
    """Return the source that a config of the group ``context`` means; the same object as long as its file is the same.

    Parameters
    ----------
    config
        ``name``, and what that source reads: ``templates`` (a name or a YAML file), ``template`` (one sentence with
        ``{word}``), ``number``, ``article``, ``categories``, ``orders``, ``corpus``, ``window``, ``contexts``, ``gap``.
    stimuli
        A folder of one's own stimuli, searched before the shipped ones.
    """
    one_of("context", config["name"], tuple(SOURCES))
    return _made(json.dumps(dict(config), sort_keys=True), stimuli, _stamp(config, stimuli))


@lru_cache(maxsize=64)
def _made(config: str, stimuli: str | Path | None, stamp: tuple[int, ...]) -> ContextSource:
    data = json.loads(config)
    return SOURCES[data["name"]](data, stimuli)


def _stamp(config: Mapping[str, Any], stimuli: str | Path | None) -> tuple[int, ...]:
    """Return when the file behind a source was changed, so that an edit of it is seen at once."""
    paths = [
        find(str(config[key]), stimuli=stimuli)
        for key, find in (("templates", template_path), ("categories", category_path))
        if config.get(key)
    ]
    stamps = tuple(path.stat().st_mtime_ns for path in paths if path.is_file())
    return (*stamps, corpus_stamp(config)) if config["name"] in ("corpus", "pairs_corpus") else stamps
