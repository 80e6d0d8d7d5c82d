"""Which engine runs: V0 or V1, and for V1 which model runner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_reader.resolve.case import Blocked, Case, Range, table
from scheduler_reader.resolve.model_shape import has_recurrent_layers, is_pooling
from scheduler_reader.resolve.speculation import speculation_method, speculative_config
from scheduler_reader.value import Known, Origin, Value

OFF = ("0", "false", "False", "")


def resolve_engine(case: Case) -> Known[Any]:
    """`V0` or `V1`.  vllm/engine/arg_utils.py, create_engine_config and _is_v1_supported_oracle."""
    switch = case.variable("VLLM_USE_V1") if case.follows("v1_switch_read") else None
    if switch is not None:
        return Known("V0" if switch.value in OFF else "V1", switch.origin)
    if not case.follows("v1_by_default"):
        return case.by_default("V0", "the V0 engine, V1 is not yet the default")
    if not case.follows("v0_engine_exists"):
        return case.by_default("V1", "the only engine")
    reason = fallback_reason(case)
    if reason is not None:
        return case.decided("V0", f"V1 does not support {reason}, so V0 runs")
    return case.by_default("V1", "the V1 engine")


def resolve_model_runner(case: Case) -> Known[Any]:
    """`V1` or `V2`.  vllm/config/vllm.py, use_v2_model_runner."""
    data = table("model_runner")
    if not case.within(data["exists"]):
        return case.by_default("V1", "the only model runner")
    switch = case.variable("VLLM_USE_V2_MODEL_RUNNER")
    if switch is not None:
        return Known("V1" if switch.value in OFF else "V2", switch.origin)
    selection = case.pick(data["selection"])
    if selection is None:
        return case.by_default("V1", "model runner V2 is opt-in")
    if any(case.within(entry) and _is_needed(case, entry) for entry in data["needs_v2"]):
        return case.decided("V2", "a feature that only model runner V2 has")
    if not _is_selected(case, selection):
        return case.by_default("V1", f"model runner of {case.architecture}")
    missing = _missing_in_v2(case)
    if missing is not None:
        return case.decided("V1", f"model runner V2 does not support {missing}")
    return case.by_default("V2", "model runner of this model")


def asks_for_v0(case: Case) -> bool:
    """Whether VLLM_USE_V1=0 is set or something makes vLLM fall back, whichever engine then runs."""
    switch = case.variable("VLLM_USE_V1")
    return switch.value in OFF if switch is not None else fallback_reason(case) is not None


def unsupported_by_forced(case: Case) -> Value[str | None]:
    """What the engine or the model runner that a variable forces does not support; vLLM refuses it.

    VLLM_USE_V1=1 (_raise_or_fallback) and VLLM_USE_V2_MODEL_RUNNER=1 (_validate_v2_model_runner).
    """
    try:
        return Known(_unsupported_by_forced(case), Origin("derived", "forced by a variable"))
    except Blocked as blocked:
        return blocked.unknown


def _unsupported_by_forced(case: Case) -> str | None:
    switch = case.variable("VLLM_USE_V1") if case.follows("v1_switch_is_strict") else None
    if switch is not None and switch.value not in OFF:
        return fallback_reason(case, is_forced=True)
    switch = case.variable("VLLM_USE_V2_MODEL_RUNNER")
    if switch is None or switch.value in OFF or not case.follows("v2_runner_is_strict"):
        return None
    return _missing_in_v2(case)


def fallback_reason(case: Case, *, is_forced: bool = False) -> str | None:
    """The first thing that V1 does not support in this release, in words.

    `is_forced`: with VLLM_USE_V1=1, where what V1 only tries out passes with a warning.
    """
    data = table("v1_fallback")
    for row in data["settings"]:
        if is_forced and row.get("tried_out"):
            continue
        if case.within(row) and _is_changed(case, row):
            return f"{row['setting']}={case.argument(row['setting'])}"
    least = case.pick(data["least_capability"])
    if least and case.gpu.capability[0] < least["value"]:
        return f"compute capability {case.gpu.compute_capability}"
    reason = (
        _attention_backend(case, data)
        or _speculation(case, data["speculation_forced" if is_forced else "speculation"])
        or _pipeline(case, data)
        or _kv_cache_dtype(case, data)
        or _model(case, data)
    )
    if reason is None and not is_forced and case.within(data["recurrent_layers"]):
        return "models with recurrent layers" if has_recurrent_layers(case) else None
    return reason


def _is_changed(case: Case, row: Range) -> bool:
    written = case.written(row["setting"])
    if written is None:
        return False
    if "values" in row:
        return written.value in row["values"]
    if "unless" in row:
        return written.value not in row["unless"]
    flag = case.flags.argument(row["setting"])
    return flag is not None and written.value != flag.default


def _attention_backend(case: Case, data: Range) -> str | None:
    backend = case.variable("VLLM_ATTENTION_BACKEND")
    supported = case.pick(data["attention_backends"])
    if backend is None or supported is None or backend.value in supported["value"]:
        return None
    return f"VLLM_ATTENTION_BACKEND={backend.value}"


def _speculation(case: Case, rows: Sequence[Range]) -> str | None:
    config = speculative_config(case)
    supported = case.pick(rows)
    if not config or supported is None:
        return None
    method = config.get("method") or speculation_method(case)
    return None if method in supported["value"] else f"speculation by {method}"


def _pipeline(case: Case, data: Range) -> str | None:
    executors = case.pick(data["executors_with_pipeline"])
    if executors is None or (case.argument("pipeline_parallel_size") or 1) <= 1:
        return None
    executor = case.argument("distributed_executor_backend") or "default"
    if executor in executors["value"]:
        return None
    return f"pipeline parallelism with the {executor} executor"


def _kv_cache_dtype(case: Case, data: Range) -> str | None:
    written = case.written("kv_cache_dtype")
    if written is None or written.value == "auto":
        return None
    if case.within(data["no_fp8_kv_cache"]):
        return f"kv_cache_dtype={written.value}"
    kernels = case.pick(data["fp8_kv_cache"])
    if kernels is None or not str(written.value).startswith("fp8"):
        return None
    backend = case.variable("VLLM_ATTENTION_BACKEND")
    own_kernel = backend is None or backend.value in kernels["backends"]
    if case.gpu.capability[0] in kernels["value"] and own_kernel:
        return None
    return f"kv_cache_dtype={written.value} on {case.gpu.title}"


def _model(case: Case, data: Range) -> str | None:
    for name, rows in (("dtype", "dtypes_without"), ("quantization", "quantizations_without")):
        unsupported = case.pick(data[rows])
        if unsupported is None or not (case.is_model_known or case.written(name)):
            continue
        if case.get(name) in unsupported["value"]:
            return f"{name} {case.get(name)}"
    architectures = case.pick(data["architectures"])
    if architectures is not None and case.architecture in architectures["value"]:
        return case.architecture
    if case.within(data["pooling"]) and is_pooling(case):
        return "pooling models"
    return None


def _is_needed(case: Case, entry: Range) -> bool:
    if "speculation" in entry:
        return speculation_method(case) in entry["speculation"]
    return bool((case.argument(entry["setting"]) or 0) > entry["above"])


def _is_selected(case: Case, selection: Range) -> bool:
    if selection["unlisted"] == "all":
        return True
    facts = case.facts
    if is_pooling(case):
        return False
    listed = facts.architecture in selection["architectures"]
    if selection["plain_only"]:
        return listed and not facts.is_moe and case.get("quantization") is None
    if listed or selection["unlisted"] == "none":
        return listed
    return not facts.is_moe and not facts.is_hybrid


def _missing_in_v2(case: Case) -> str | None:
    data = table("model_runner")
    method = speculation_method(case)
    methods = case.pick(data["unsupported_speculation"])
    if method is not None and methods is not None:
        unsupported = (
            method in methods["only"] if "only" in methods else method not in methods["except"]
        )
        if unsupported:
            return f"speculation by {method}"
    for row in data["unsupported_settings"]:
        if case.within(row) and case.argument(row["setting"]):
            return str(row["setting"])
    if case.within(data["recurrent_layers_unsupported"]) and has_recurrent_layers(case):
        return "models with recurrent layers"
    return None
