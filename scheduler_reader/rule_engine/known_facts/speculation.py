"""Facts about speculative decoding, from `speculative_config` or its older and shorter flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.knowledge.models import find_model
from scheduler_reader.performance.estimate import SpeculationEffect
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown

# The keys of speculative_config and the flags that say the same: those through 0.8.2, and the
# shortcuts since 0.22.0 (vllm/engine/arg_utils.py, EngineArgs).
SAME_AS_KEY = {
    "method": ("spec_method",),
    "model": ("speculative_model", "spec_model"),
    "num_speculative_tokens": ("num_speculative_tokens", "spec_tokens"),
    "draft_tensor_parallel_size": ("speculative_draft_tensor_parallel_size",),
    "prompt_lookup_max": ("ngram_prompt_lookup_max",),
    "prompt_lookup_min": ("ngram_prompt_lookup_min",),
}
METHODS_FILE = "speculative_methods.yaml"
STARTERS = (
    "speculative_config",
    "speculative_model",
    "num_speculative_tokens",
    "spec_method",
    "spec_model",
    "spec_tokens",
)
LAST_WITHOUT_METHOD = "0.10.2"  # until here a target with heads of its own drafts unasked


def uses_speculation(sources: Sources) -> bool | Unknown:
    """Speculative decoding is configured."""
    for name in STARTERS:
        given = sources.engine.flags.settings.get(name)
        if isinstance(given, Unknown):
            return given
        if given is not None and given.value:
            return True
    return False


def speculative_method(sources: Sources) -> str | Unknown | None:
    """How drafts are made: ngram, eagle, eagle3, mtp, draft_model, …; None without speculation."""
    if uses_speculation(sources) is False:
        return None
    method = _key(sources, "method")
    if method is not None:
        return method if isinstance(method, Unknown) else str(method)
    model = _key(sources, "model")
    if isinstance(model, Unknown):
        return model
    name = str(model or "").lower()
    if name in ("ngram", "[ngram]"):
        return "ngram"
    if "eagle3" in name:
        return "eagle3"
    if "eagle-" in name:
        return "eagle"
    return _method_by_model(sources, None if model is None else str(model))


def _method_by_model(sources: Sources, name: str | None) -> str | Unknown:
    """What vLLM tells from the draft's `config.json`, or without a draft from the target's."""
    target = sources.engine.model
    if name is None and sources.engine.release.within("0.0.0", LAST_WITHOUT_METHOD):
        if isinstance(target, Unknown):
            return target
        if target.value.mtp_layers > 0:
            return "mtp"
    if name is None:
        return Unknown("neither a method nor a draft model is written")
    draft = find_model(name)
    if not isinstance(draft, Unknown) and draft.facts.mtp_layers == 0:
        return "draft_model"
    return Unknown(f"the method is not written; vLLM reads it from the config.json of {name}")


def speculative_methods(sources: Sources) -> list[str]:
    """The speculative methods that the release has."""
    release = sources.engine.release
    ranges = documents("compat_matrix", METHODS_FILE)[METHODS_FILE]["methods"]
    return [method for method, (first, last) in ranges.items() if release.within(first, last)]


def speculative_model(sources: Sources) -> str | Unknown | None:
    """The draft model, or None."""
    model = _key(sources, "model")
    return model if model is None or isinstance(model, Unknown) else str(model)


def draft_vocab_size(sources: Sources) -> int | Unknown:
    """Entries of the vocabulary of a draft that is a model of its own."""
    name = speculative_model(sources)
    if isinstance(name, Unknown):
        return name
    found = find_model(str(name))
    return found if isinstance(found, Unknown) else found.facts.vocab_size


def num_speculative_tokens(sources: Sources) -> int | Unknown | None:
    """Draft tokens a step, or None where they are not written."""
    return _number(sources, "num_speculative_tokens")


def draft_tensor_parallel_size(sources: Sources) -> int | Unknown | None:
    """Tensor parallel size of the draft model, or None: that of the target."""
    return _number(sources, "draft_tensor_parallel_size")


def prompt_lookup_max(sources: Sources) -> int | Unknown | None:
    """Longest n-gram that is looked up in the prompt, or None."""
    return _number(sources, "prompt_lookup_max")


def prompt_lookup_min(sources: Sources) -> int | Unknown | None:
    """Shortest n-gram that is looked up in the prompt, or None."""
    return _number(sources, "prompt_lookup_min")


def speculation_speedup(sources: Sources) -> float | Unknown:
    """Predicted request rate with drafts over that without, with as many requests running."""
    effect = _effect(sources)
    return effect if isinstance(effect, Unknown) else effect.speedup


def speculation_speedup_most(sources: Sources) -> float | Unknown:
    """The same with the most that drafts are known to gain (acceptance, experts, cost of a pass)."""
    effect = _effect(sources)
    return effect if isinstance(effect, Unknown) else effect.speedup_range[1]


def acceptance_length(sources: Sources) -> float | Unknown:
    """Tokens that a step yields with drafts: stated, or as published for the method."""
    effect = _effect(sources)
    return effect if isinstance(effect, Unknown) else effect.acceptance_length[1]


def speculation_break_even_concurrency(sources: Sources) -> int | Unknown | None:
    """Running requests from which on drafts slow the engine down; None where they never do."""
    effect = _effect(sources)
    return effect if isinstance(effect, Unknown) else effect.break_even_concurrency


def _effect(sources: Sources) -> SpeculationEffect | Unknown:
    performance = sources.performance
    if isinstance(performance, Unknown):
        return performance
    return performance.value.speculation or Unknown("no drafts are modelled")


def _number(sources: Sources, key: str) -> int | Unknown | None:
    value = _key(sources, key)
    if value is None or isinstance(value, Unknown) or type(value) is int:
        return value
    return Unknown(f"{key} of the speculative configuration is no number: {value!r}")


def _key(sources: Sources, key: str) -> Any:
    """A key of the speculative configuration; None where it is not written."""
    settings = sources.engine.flags.settings
    config = settings.get("speculative_config")
    if isinstance(config, Unknown):
        return config
    if config is not None and isinstance(config.value, Mapping):
        value = config.value.get(key)
        if value is not None:
            return value
    for name in SAME_AS_KEY[key]:
        given = settings.get(name)
        if given is not None:
            return given if isinstance(given, Unknown) else given.value
    return None
