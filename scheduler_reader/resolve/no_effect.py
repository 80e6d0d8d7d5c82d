"""What a user wrote and does not get: settings that vLLM overrides, variables it does not read."""

from __future__ import annotations

from typing import Any, Literal

from scheduler_reader.knowledge.environment import why_unread
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin

# Written as a wish that vLLM turns into a value: `dtype half`, `max_model_len auto`, `kv_cache_dtype fp8`.
WISHES = ("dtype", "kv_cache_dtype", "quantization", "max_model_len", "speculative_method")
OPEN = (None, "auto", -1, "-1")


class OverriddenSetting(Record):
    """An argument whose value in the configuration is not the one that runs."""

    name: str
    given: Any
    value: Any
    because: str
    origin: Origin


class UnreadVariable(Record):
    """An environment variable that the release does not read, and others do."""

    name: str
    value: str
    kind: Literal["gone", "not_yet"]
    release: str  # the last that reads it, or the first
    use: str | None
    origin: Origin


def overridden_settings(engine: ResolvedEngine) -> list[OverriddenSetting]:
    """The arguments that vLLM sets against what is written, in the order of settling."""
    found = []
    for name, setting in engine.settings.items():
        given = engine.flags.settings.get(name)
        if name in WISHES or not isinstance(given, Known) or not isinstance(setting.value, Known):
            continue
        if given.value in OPEN or _is_same(given.value, setting.value.value):
            continue
        decided = setting.value.origin.detail.removeprefix(f"vLLM {engine.release.name}: ")
        because = decided.partition(" (vllm/")[0]  # the file stands in the setting's origin
        found.append(
            OverriddenSetting(name, given.value, setting.value.value, because, given.origin)
        )
    return found


def unread_variables(engine: ResolvedEngine) -> list[UnreadVariable]:
    """The VLLM_ variables of the engine that its release does not read."""
    found = []
    for name, value in engine.parsed.env.items():
        reason = why_unread(name, engine.release) if name.startswith("VLLM_") else None
        if reason is None or not isinstance(value, Known):
            continue
        found.append(
            UnreadVariable(name, value.value, reason.kind, reason.release, reason.use, value.origin)
        )
    return found


def _is_same(given: Any, value: Any) -> bool:
    """Whether a value is the one that was given; of a list the order does not matter."""
    if isinstance(given, list) and isinstance(value, list):
        return sorted(map(str, given)) == sorted(map(str, value))
    return bool(given == value)
