"""Facts about the interfaces that the model class of a release lacks."""

from __future__ import annotations

from scheduler_reader.data import documents
from scheduler_reader.rule_engine.known_facts.model import architecture
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown

FILE = "model_support.yaml"


def lacks_pipeline_parallel(sources: Sources) -> bool | Unknown:
    """The model class cannot be split into pipeline stages, as far as is known."""
    return _lacks(sources, "without_pipeline_parallel")


def lacks_lora(sources: Sources) -> bool | Unknown:
    """The model class takes no LoRA adapters, as far as is known."""
    return _lacks(sources, "without_lora")


def _lacks(sources: Sources, table: str) -> bool | Unknown:
    name = architecture(sources)
    if isinstance(name, Unknown):
        return name
    releases = documents("compat_matrix", FILE)[FILE][table].get(name)
    return releases is not None and sources.engine.release.within(*releases)
