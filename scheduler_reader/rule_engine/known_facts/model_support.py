"""Facts about the interfaces that the model class of a release lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.rule_engine.known_facts.model import architecture
from scheduler_reader.rule_engine.known_facts.speculation import (
    speculative_method,
    speculative_model,
)
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown

FILE = "model_support.yaml"


def lacks_pipeline_parallel(sources: Sources) -> bool | Unknown:
    """The model class cannot be split into pipeline stages, as far as is known."""
    return _lacks(sources, "without_pipeline_parallel")


def lacks_lora(sources: Sources) -> bool | Unknown:
    """The model class takes no LoRA adapters, as far as is known."""
    return _lacks(sources, "without_lora")


def draft_lacks_pipeline_parallel(sources: Sources) -> bool | Unknown:
    """The model drafts with its own weights, and they cannot run on the stages that it has."""
    method, model = speculative_method(sources), speculative_model(sources)
    for value in (method, model):
        if isinstance(value, Unknown):
            return value
    if method is None or model is not None:
        return False
    family = "mtp" if str(method).endswith("mtp") else str(method)
    targets = _table("drafts_without_pipeline_parallel").get(family)
    return targets is not None and _listed(sources, targets)


def _lacks(sources: Sources, table: str) -> bool | Unknown:
    return _listed(sources, _table(table))


def _listed(sources: Sources, releases: Mapping[str, Any]) -> bool | Unknown:
    name = architecture(sources)
    if isinstance(name, Unknown):
        return name
    within = releases.get(name)
    return within is not None and sources.engine.release.within(*within)


def _table(name: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = documents("compat_matrix", FILE)[FILE][name]
    return table
