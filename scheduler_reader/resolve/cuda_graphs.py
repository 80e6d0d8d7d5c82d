"""CUDA graphs: eager mode, the optimization level and which batches replay a captured graph.

The sizes that are captured are in `capture_sizes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.resolve.case import Blocked, Case, Range, table
from scheduler_reader.resolve.engine_choice import OFF, asks_for_v0
from scheduler_reader.resolve.model_shape import (
    has_recurrent_layers,
    is_encoder_decoder,
    is_pooling,
)
from scheduler_reader.value import Known, Unknown

FULL_MODES = ("FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
PIECEWISE_MODES = ("PIECEWISE", "FULL_AND_PIECEWISE")
MODES = ("NONE", *FULL_MODES, *PIECEWISE_MODES)
COMPILED = ("3", "VLLM_COMPILE", "PIECEWISE")  # spellings of compilation mode 3


def resolve_enforce_eager(case: Case) -> Known[Any]:
    """`enforce_eager`: as written; data parallelism forced it for a while."""
    if case.follows("data_parallel_forces_eager") and (
        (case.argument("data_parallel_size") or 1) > 1
    ):
        return case.by_behaviour(True, "data_parallel_forces_eager")
    written = case.written("enforce_eager")
    if written is not None:
        return Known(bool(written.value), written.origin)
    return case.by_default(False, "CUDA graphs are on")


def resolve_optimization_level(case: Case) -> Known[Any]:
    """`optimization_level` 0-3; None in releases that have none."""
    data = table("cuda_graphs")
    default = data["optimization_level_default"]
    if not case.within(default):
        return case.by_default(None, "there are no optimization levels yet")
    if case.get("enforce_eager") and case.within(data["eager_sets_level_0"]):
        return case.decided(0, "enforce_eager sets level 0")
    written = case.written("optimization_level")
    if written is None or written.value is None:
        return case.by_default(default["value"], "level 2")
    text = str(written.value).removeprefix("O")
    if text not in data["optimization_levels"]:
        raise Blocked(Unknown(f"there is no optimization level {written.value}", written.origin))
    return Known(int(text), written.origin)


def resolve_cudagraph_mode(case: Case) -> Known[Any]:
    """`cudagraph_mode`: as given in the compilation config, else by level, then what is possible."""
    return _lowered(case, mode_at_capture(case), "lowered_after_capture")


def mode_at_capture(case: Case) -> Known[Any]:
    """The mode for which the capture sizes are worked out; some things lower it only afterwards."""
    if case.get("engine") == "V0":
        return case.by_default("NONE", "the V0 engine captures its own decode graphs")
    if case.get("enforce_eager"):
        return case.decided("NONE", "enforce_eager")
    if case.follows("fallback_turns_compilation_off") and asks_for_v0(case):
        return case.by_behaviour("NONE", "fallback_turns_compilation_off")
    mode = _given_mode(case) or _default_mode(case)
    return _lowered(case, _without_compilation(case, mode), "lowered")


def compilation_config(case: Case) -> Mapping[str, Any]:
    """`--compilation-config` as a mapping; a bare number (`-O3` of old) is its mode."""
    written = case.written("compilation_config")
    if written is None or written.value is None:
        return {}
    if isinstance(written.value, Mapping):
        return written.value
    return {"level": written.value, "mode": written.value}


def _given_mode(case: Case) -> Known[Any] | None:
    written = case.written("cudagraph_mode")
    if written is not None:
        return Known(_mode_name(written.value), written.origin)
    config = compilation_config(case)
    is_read = case.within(table("cuda_graphs")["mode_key_read"])
    if is_read and config.get("cudagraph_mode") is not None:
        mode = _mode_name(config["cudagraph_mode"])
        return case.decided(mode, "cudagraph_mode of the compilation config")
    if case.follows("old_graph_switches"):
        if config.get("use_cudagraph") is False:
            return case.decided("NONE", "use_cudagraph=false in the compilation config")
        if config.get("full_cuda_graph"):
            return case.decided("FULL", "full_cuda_graph in the compilation config")
    return None


def _mode_name(value: Any) -> str:
    name = str(value).upper()
    if name not in MODES:
        raise Blocked(Unknown(f"cudagraph_mode {value} is none that vLLM has"))
    return name


def _default_mode(case: Case) -> Known[Any]:
    data = table("cuda_graphs")
    recurrent = data["recurrent_layers_mode"]
    if (
        case.within(recurrent)
        and has_recurrent_layers(case)
        and case.architecture not in recurrent["except"]
    ):
        return case.decided(recurrent["value"], "for models with recurrent layers")
    level = case.get("optimization_level")
    if level is not None:
        mode = data["optimization_levels"][str(level)]["mode"]
        return case.by_default(mode, f"optimization level {level}")
    default = case.pick(data["default_mode"])
    if default is None or not _is_compiled(case):
        return case.by_default("NONE", "the model is not compiled")
    return case.by_default(default["value"], "compiled models")


def _is_compiled(case: Case) -> bool:
    """Whether vLLM compiles the model itself, which piecewise graphs need."""
    data = table("cuda_graphs")
    if case.within(data["compile_level_forced"]):
        return True
    config = compilation_config(case)
    given = config.get("mode", config.get("level"))
    if given is not None:
        return str(given).upper() in COMPILED
    level = case.get("optimization_level")
    return True if level is None else bool(data["optimization_levels"][str(level)]["compiled"])


def _without_compilation(case: Case, mode: Known[Any]) -> Known[Any]:
    """The mode that is left when piecewise graphs lack the compilation they need."""
    data = table("cuda_graphs")
    rule = case.pick(data["without_compilation"])
    if rule is None or mode.value == "NONE" or _is_compiled(case):
        return mode
    if "all" in rule:
        return case.decided(rule["all"], f"{mode.value} needs a compiled model")
    if mode.value not in PIECEWISE_MODES or _has_breakable_graphs(case, data):
        return mode
    return case.decided(rule[mode.value], f"{mode.value} needs a compiled model")


def _has_breakable_graphs(case: Case, data: Range) -> bool:
    switch = case.variable("VLLM_USE_BREAKABLE_CUDAGRAPH")
    if switch is not None:
        return switch.value not in OFF
    architectures = case.pick(data["breakable"])
    return architectures is not None and case.architecture in architectures["value"]


def _lowered(case: Case, mode: Known[Any], rules: str) -> Known[Any]:
    """The mode after what excludes full graphs (pooling, encoders, context parallelism)."""
    for rule in table("cuda_graphs")[rules]:
        if not case.within(rule) or mode.value == rule["value"] or mode.value == "NONE":
            continue
        concerns_all = rule["when"] in ("encoder_decoder", "deepep_high_throughput")
        if (concerns_all or mode.value in FULL_MODES) and _applies(case, rule["when"]):
            return case.decided(rule["value"], f"lowered because of {rule['when']}")
    return mode


def _applies(case: Case, condition: str) -> bool:
    if condition == "pooling":
        return is_pooling(case)
    if condition == "encoder_decoder":
        return is_encoder_decoder(case)
    if condition == "deepep_high_throughput":
        several = (case.argument("data_parallel_size") or 1) > 1
        return several and case.argument("all2all_backend") == condition
    return (case.argument(f"{condition}_size") or 1) > 1
