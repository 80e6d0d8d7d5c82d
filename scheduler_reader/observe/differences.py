"""What a running engine was started with, against what its file says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known

# Arguments of a log that say where and how it runs, not what the scheduler does.
UNCOMPARED = frozenset(
    {"model", "model_tag", "host", "port", "served_model_name", "api_key", "config", "tokenizer"}
)


def differing_arguments(engine: ResolvedEngine, logged: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on settings that the log and the file give different values.

    Both ways: what the log lists and the file does not say, and what the file sets and the log
    leaves out (a log lists every argument that is not the default).
    """
    for name, value in sorted(logged.items()):
        setting = engine.settings.get(name)
        if name in UNCOMPARED or setting is None or not isinstance(setting.value, Known):
            continue
        if not _is_same(setting.value.value, value):
            yield f"{name} is {value} in the log and {setting.value.value} by the file"
    for name, setting in sorted(engine.settings.items()):
        if name in UNCOMPARED or name in logged or not setting.is_set:
            continue
        value = setting.value.value if isinstance(setting.value, Known) else None
        if isinstance(value, int | float | str) and not _is_same(setting.default, value):
            yield f"{name} is {value} by the file and not among the log's arguments"


def _is_same(one: Any, other: Any) -> bool:
    return one == other or str(one).lower() == str(other).lower()
