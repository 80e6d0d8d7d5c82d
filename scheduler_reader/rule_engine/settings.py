"""Engine arguments as facts: their names, their types, and their value in one release."""

from __future__ import annotations

from functools import cache
from typing import Any

from scheduler_reader.data import json_file
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Unknown

NUMBERS = ("int", "float", "human_int", "human_int_or_auto")
SWITCHES = ("flag", "bool", "bool-value")


def is_setting(name: str) -> bool:
    """Whether any release has an argument of this name."""
    return _ranges(name) is not None


@cache
def setting_kind(name: str) -> str:
    """`number`, `flag`, `text`, `mapping`, or `any` where releases differ."""
    kinds = {_kind(attributes) for attributes in _ranges(name) or ()}
    return kinds.pop() if len(kinds) == 1 else "any"


def setting_value(engine: ResolvedEngine, name: str) -> Any:
    """The resolved value, else the given one, else that release's default.

    None where the release has no such argument or leaves it open; `Unknown` where the default
    is an expression that is not modelled.
    """
    if name in engine.settings:
        value = engine.settings[name].value
        return value if isinstance(value, Unknown) else value.value
    if name in engine.flags.settings:
        given = engine.flags.settings[name]
        return given if isinstance(given, Unknown) else given.value
    return _default(engine, name)


def _default(engine: ResolvedEngine, name: str) -> Any:
    for attributes in _ranges(name) or ():
        if engine.release.within(attributes["from"], attributes["to"]):
            default = attributes.get("default")
            if isinstance(default, dict) and "dynamic" in default:
                return Unknown(f"the default of {name} depends on where vLLM runs")
            return default
    return None


def _kind(attributes: dict[str, Any]) -> str:
    type_name = str(attributes.get("type", ""))
    if attributes.get("nargs") in ("+", "*"):
        return "list"
    if type_name in NUMBERS:
        return "number"
    if type_name in SWITCHES:
        return "flag"
    if type_name == "str":
        return "text"
    return "mapping" if type_name.startswith("json:") or type_name == "json" else "any"


def _ranges(name: str) -> list[dict[str, Any]] | None:
    ranges: list[dict[str, Any]] | None = json_file("flags.json")["flags"].get(
        "--" + name.replace("_", "-")
    )
    return ranges
