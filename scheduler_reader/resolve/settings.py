"""Every setting of an engine: the rules in their order, then the plain defaults of the release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_reader.resolve.batching import (
    resolve_budget,
    resolve_chunked_prefill,
    resolve_seqs,
    resolve_threshold,
)
from scheduler_reader.resolve.caching import resolve_block_size, resolve_prefix_caching
from scheduler_reader.resolve.capture_sizes import resolve_capture_sizes, resolve_largest_capture
from scheduler_reader.resolve.case import Blocked, Case, table
from scheduler_reader.resolve.cuda_graphs import (
    compilation_config,
    resolve_cudagraph_mode,
    resolve_enforce_eager,
    resolve_optimization_level,
)
from scheduler_reader.resolve.draft_budget import resolve_active_seqs, resolve_scheduled_tokens
from scheduler_reader.resolve.engine import Setting
from scheduler_reader.resolve.engine_choice import resolve_engine, resolve_model_runner
from scheduler_reader.resolve.length import resolve_max_model_len
from scheduler_reader.resolve.overlap import resolve_async_scheduling
from scheduler_reader.resolve.precision import (
    resolve_dtype,
    resolve_kv_cache_dtype,
    resolve_quantization,
)
from scheduler_reader.resolve.speculation import (
    resolve_draft_tokens,
    resolve_method,
    speculative_config,
)
from scheduler_reader.value import Known, Unknown, Value

Rule = Callable[[Case], Known[Any]]

# A rule may read what stands above it.
ORDER: Mapping[str, Rule] = {
    "dtype": resolve_dtype,
    "quantization": resolve_quantization,
    "kv_cache_dtype": resolve_kv_cache_dtype,
    "max_model_len": resolve_max_model_len,
    "speculative_method": resolve_method,
    "num_speculative_tokens": resolve_draft_tokens,
    "engine": resolve_engine,
    "model_runner": resolve_model_runner,
    "enable_chunked_prefill": resolve_chunked_prefill,
    "enable_prefix_caching": resolve_prefix_caching,
    "max_num_batched_tokens": resolve_budget,
    "max_num_seqs": resolve_seqs,
    "max_num_scheduled_tokens": resolve_scheduled_tokens,
    "max_num_active_seqs": resolve_active_seqs,
    "long_prefill_token_threshold": resolve_threshold,
    "block_size": resolve_block_size,
    "async_scheduling": resolve_async_scheduling,
    "enforce_eager": resolve_enforce_eager,
    "optimization_level": resolve_optimization_level,
    "cudagraph_mode": resolve_cudagraph_mode,
    "cudagraph_capture_sizes": resolve_capture_sizes,
    "max_cudagraph_capture_size": resolve_largest_capture,
}
NOT_SETTINGS = ("engine", "model_runner")
# Shown in every release, though not (always) an option of its own.
WITHOUT_FLAG = (
    "speculative_method",
    "num_speculative_tokens",
    "cudagraph_mode",
    "cudagraph_capture_sizes",
    "max_cudagraph_capture_size",
)


def settle(case: Case) -> None:
    """Run all rules in order; what a rule cannot know becomes `Unknown` in `case.settled`."""
    for name, rule in ORDER.items():
        case.settled[name] = _apply(rule, case)


def settings_of(case: Case) -> dict[str, Setting]:
    """The settings of a settled case: those with a rule, those we describe, those the user wrote."""
    controls: Mapping[str, str] = table("controls")["controls"]
    settings = {}
    for name in dict.fromkeys((*ORDER, *controls, *case.given)):
        if name in NOT_SETTINGS:
            continue
        if name in WITHOUT_FLAG or name in case.given or case.flags.argument(name) is not None:
            settings[name] = _setting(case, name, controls.get(name, ""))
    return settings


def _setting(case: Case, name: str, controls: str) -> Setting:
    is_set = _is_set(case, name)
    if name not in ORDER:
        default = _plain(case.without(name), name)
        return Setting(case.given.get(name, default), is_set, _bare(default), controls)
    value = case.settled[name]
    default = _apply(ORDER[name], case.without(name)) if name in case.given else value
    return Setting(value, is_set, _bare(default), controls)


def _plain(case: Case, name: str) -> Value[Any]:
    """The default of an option that vLLM takes as it is."""
    flag = case.flags.argument(name)
    default = None if flag is None else flag.default
    if isinstance(default, dict) and "dynamic" in default:
        return Unknown(f"the default of {name} depends on where vLLM runs: {default['dynamic']}")
    return case.by_default(default, flag.field or flag.name if flag is not None else name)


def _is_set(case: Case, name: str) -> bool:
    """Whether the user gave it, by its own option or inside a JSON option."""
    if name in case.given:
        return True
    try:
        if name in ("speculative_method", "num_speculative_tokens"):
            return bool(speculative_config(case))
        return name in ORDER and name in compilation_config(case)
    except Blocked:
        return True


def _apply(rule: Rule, case: Case) -> Value[Any]:
    try:
        return rule(case)
    except Blocked as blocked:
        return blocked.unknown


def _bare(value: Value[Any]) -> Any:
    return None if isinstance(value, Unknown) else value.value
