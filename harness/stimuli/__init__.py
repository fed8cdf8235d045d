"""Stimuli: concepts and tests as data with provenance."""

from harness.stimuli.load import (
    NoVariantError,
    all_words,
    concept_names,
    load_concept,
    load_test,
    read_test,
    stimuli_roots,
    test_files,
    test_names,
)
from harness.stimuli.schema import AssociationTest, Concept, DetectionTask, SingleTargetTest, Source, Test, ValenceTest

__all__ = [
    "AssociationTest",
    "Concept",
    "DetectionTask",
    "NoVariantError",
    "SingleTargetTest",
    "Source",
    "Test",
    "ValenceTest",
    "all_words",
    "concept_names",
    "load_concept",
    "load_test",
    "read_test",
    "stimuli_roots",
    "test_files",
    "test_names",
]
