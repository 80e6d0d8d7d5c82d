"""Settings that an upgrade moves although the file stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.assessment import Assessment
from scheduler_reader.data import documents
from scheduler_reader.resolve.engine import ResolvedEngine, Setting
from scheduler_reader.upgrade.changes import SettingChange
from scheduler_reader.upgrade.effects import effect_of
from scheduler_reader.value import Known, Origin, Unknown, Value

UNSET = (None, False)  # a switch that nobody turned on: releases write its default either way


def setting_changes(before: Assessment, after: Assessment) -> tuple[SettingChange, ...]:
    """Every setting we describe whose resolved value differs, with what that one move does."""
    changes = [*_engine_changes(before.engine, after.engine)]
    for name, setting in after.engine.settings.items():
        earlier = _earlier(before.engine, name)
        if earlier is None or not setting.controls or _is_same(earlier, setting.value):
            continue
        changes.append(_change(after, name, setting, earlier))
    return tuple(changes)


def _change(after: Assessment, name: str, setting: Setting, earlier: Value[Any]) -> SettingChange:
    is_known = isinstance(earlier, Known) and isinstance(setting.value, Known)
    return SettingChange(
        name=name,
        before=earlier,
        after=setting.value,
        is_set=setting.is_set,
        controls=setting.controls,
        effect=effect_of(after, name, earlier.value)
        if is_known and isinstance(earlier, Known)
        else {},
    )


def _engine_changes(before: ResolvedEngine, after: ResolvedEngine) -> list[SettingChange]:
    """The engine and the model runner, which are chosen rather than set."""
    pairs: dict[str, tuple[str, Value[Any], Value[Any]]] = {
        "engine": (
            "Which engine runs; V0 has a scheduler of its own.",
            Known(before.engine, before.engine_origin),
            Known(after.engine, after.engine_origin),
        ),
        "model_runner": (
            "Which model runner prepares the batches.",
            before.model_runner,
            after.model_runner,
        ),
    }
    return [
        SettingChange(name, old, new, is_set=False, controls=controls, effect={})
        for name, (controls, old, new) in pairs.items()
        if not _is_same(old, new)
    ]


def _earlier(engine: ResolvedEngine, name: str) -> Value[Any] | None:
    """The value in the earlier release; where it has no such setting, what that meant."""
    setting = engine.settings.get(name)
    if setting is not None:
        return setting.value
    absent: Mapping[str, Any] = documents("compat_matrix")["upgrade.yaml"]["absent_means"]
    if name not in absent:
        return None
    detail = f"vLLM {engine.release.name} has no {name}"
    return Known(absent[name], Origin("vllm default", detail))


def _is_same(one: Value[Any], other: Value[Any]) -> bool:
    if isinstance(one, Unknown) or isinstance(other, Unknown):
        return isinstance(one, Unknown) and isinstance(other, Unknown)
    return bool(one.value == other.value) or (one.value in UNSET and other.value in UNSET)
