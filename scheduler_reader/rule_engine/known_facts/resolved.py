"""Facts about what the release makes of the settings: model runner, CUDA graphs, defaults."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown


def model_runner(sources: Sources) -> str | Unknown:
    """Which model runner of the V1 engine runs: V1 or V2."""
    runner = sources.engine.model_runner
    return runner if isinstance(runner, Unknown) else runner.value


def unsupported_when_forced(sources: Sources) -> str | Unknown | None:
    """What the engine or model runner that a variable forces does not support; None: nothing."""
    unsupported = sources.engine.unsupported
    return unsupported if isinstance(unsupported, Unknown) else unsupported.value


def is_chunked_by_default(sources: Sources) -> bool:
    """Prefill would be chunked had the user not written enable_chunked_prefill."""
    return bool(sources.engine.settings["enable_chunked_prefill"].default)


def is_cached_by_default(sources: Sources) -> bool:
    """Prefixes would be cached had the user not written enable_prefix_caching."""
    return bool(sources.engine.settings["enable_prefix_caching"].default)


def cudagraph_mode(sources: Sources) -> str | Unknown:
    """Which steps replay CUDA graphs: NONE, PIECEWISE, FULL, FULL_DECODE_ONLY, FULL_AND_PIECEWISE."""
    mode = sources.engine.value("cudagraph_mode")
    return mode if isinstance(mode, Unknown) else str(mode.value)


def cudagraph_mode_reason(sources: Sources) -> str:
    """Why that mode, in words."""
    mode = sources.engine.value("cudagraph_mode")
    return mode.reason if isinstance(mode, Unknown) else mode.origin.detail


def largest_stated_capture(sources: Sources) -> int | Unknown | None:
    """The largest batch among the CUDA-graph sizes that are written, as a flag or a JSON key."""
    for name in ("cudagraph_capture_sizes", "compilation_config"):
        given = sources.engine.flags.settings.get(name)
        if isinstance(given, Unknown):
            return given
        value = None if given is None else given.value
        sizes = value.get("cudagraph_capture_sizes") if isinstance(value, Mapping) else value
        if isinstance(sizes, list) and sizes and all(type(size) is int for size in sizes):
            return int(max(sizes))
    return None
