"""The model: its id, and its facts from a local config.json or the catalogue, with overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scheduler_reader.knowledge.flags import FlagTable
from scheduler_reader.knowledge.models import ModelFacts, find_model
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.resolve.case import release_follows
from scheduler_reader.resolve.options import ResolveOptions
from scheduler_reader.value import Known, Origin, Unknown, Value


def choose_model_id(reading: FlagReading, table: FlagTable, assumptions: list[str]) -> Value[str]:
    """The model as written, else the one that release serves when none is named."""
    if reading.model is not None:
        return reading.model
    if "*extra_args" in reading.unresolved:
        return Unknown(f"no model is named: {reading.unresolved['*extra_args']}")
    flag = table.argument("model")
    if flag is None or not isinstance(flag.default, str):
        return Unknown("no model is named")
    assumptions.append(f"model {flag.default}, what vLLM serves when none is named")
    return Known(flag.default, Origin("vllm default", f"default of vLLM {reading.release}"))


def choose_facts(
    model_id: Value[str],
    reading: FlagReading,
    options: ResolveOptions,
    assumptions: list[str],
) -> Value[ModelFacts]:
    """The model's facts.  Raises `InputError` for a model config that cannot be read."""
    flag = _known_text(reading.settings.get("quantization"))
    if options.model_config is not None:
        facts = _with_quantization(_read(options.model_config), flag)
        stated = str(options.origin("model_config"))
        origin = Origin("option", stated, path=str(options.model_config))
        return Known(_with_overrides(facts, reading.settings, reading.release), origin)
    if isinstance(model_id, Unknown):
        return Unknown(f"the model is not known: {model_id.reason}", model_id.origin)
    folder = options.hub_models.get((model_id.value, _known_text(reading.settings.get("revision"))))
    if folder is not None:
        facts = _with_quantization(replace(_read(folder), id=model_id.value), flag)
        origin = Origin("option", "--hub", path=str(folder))
        return Known(_with_overrides(facts, reading.settings, reading.release), origin)
    found = find_model(model_id.value, flag)
    if isinstance(found, Unknown):
        return found
    if found.assumption is not None:
        assumptions.append(found.assumption)
    return Known(_with_overrides(found.facts, reading.settings, reading.release), found.origin)


def _read(path: Path) -> ModelFacts:
    from scheduler_reader.knowledge.model_config import read_model_config

    return read_model_config(path)


def _with_quantization(facts: ModelFacts, flag: str | None) -> ModelFacts:
    """`--quantization` of a checkpoint that is not quantized: vLLM does it while loading."""
    from scheduler_reader.knowledge.quantization import from_flag

    if not flag or facts.quantization is not None:
        return facts
    return replace(facts, quantization=from_flag(flag), weight_bytes=None)


def _with_overrides(
    facts: ModelFacts, settings: Mapping[str, Value[Any]], release: str
) -> ModelFacts:
    """`--hf-overrides` and `--rope-scaling`, as far as they change lengths."""
    changes: dict[str, Any] = {}
    overrides = settings.get("hf_overrides")
    if isinstance(overrides, Known) and isinstance(overrides.value, Mapping):
        text = overrides.value.get("text_config")
        for part in (overrides.value, text if isinstance(text, Mapping) else {}):
            for key in ("max_position_embeddings", "sliding_window"):
                if isinstance(part.get(key), int):
                    changes[key] = part[key]
            rope = part.get(_rope_key(release))
            if isinstance(rope, Mapping):
                changes["rope_scaling"] = dict(rope)
    rope = settings.get("rope_scaling")
    if isinstance(rope, Known) and isinstance(rope.value, Mapping):
        changes["rope_scaling"] = dict(rope.value)
    return replace(facts, **changes) if changes else facts


def _rope_key(release: str) -> str:
    """The override that a release reads; it takes the other one and does nothing with it."""
    reads_parameters = release_follows(release, "rope_parameters_override")
    return "rope_parameters" if reads_parameters else "rope_scaling"


def _known_text(value: Value[Any] | None) -> str | None:
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else None
