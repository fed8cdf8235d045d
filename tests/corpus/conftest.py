from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.corpus.build import Settings, build
from harness.corpus.manifest import Manifest
from harness.corpus.patterns import Pattern, compile_patterns
from harness.stimuli import Concept

NAMES = Concept(name="own/names", kind="names", words=("Will", "Frank", "José", "Emily"))
WORDS = Concept(
    name="own/words",
    words=("rose", "male", "he", "short", "short-term", "frank", "love", "red-neck", "NASA"),
    fallbacks={"red-neck": ("redneck", "peasant")},
)
PHRASES = Concept(name="own/phrases", kind="phrases", words=("African American", "a person with epilepsy"))


@pytest.fixture(scope="session")
def patterns() -> tuple[Pattern, ...]:
    return compile_patterns([NAMES, WORDS, PHRASES])


@pytest.fixture
def made(tmp_path: Path, patterns: tuple[Pattern, ...]) -> Callable[..., Manifest]:
    """Build a corpus of some files in a folder of its own."""

    def make(*sources: Path, name: str = "own", settings: Settings | None = None, workers: int = 1) -> Manifest:
        return build(name, sources, patterns, tmp_path / "corpora", settings=settings, workers=workers)

    return make
