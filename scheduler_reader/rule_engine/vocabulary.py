"""The words of the rule language: every fact and function, with its type and its meaning."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from scheduler_reader.parse.reading import FlagIssue
from scheduler_reader.record import Record
from scheduler_reader.resolve.no_effect import OverriddenSetting, UnreadVariable
from scheduler_reader.rule_engine import known_facts
from scheduler_reader.rule_engine.finding import SuppressionIssue
from scheduler_reader.rule_engine.settings import is_setting, setting_kind

KINDS = {"int": "number", "float": "number", "str": "text", "bool": "flag"}
ITEM_FIELDS = {
    item.__name__: item._fields
    for item in (FlagIssue, OverriddenSetting, SuppressionIssue, UnreadVariable)
}


class Fact(Record):
    """One fact: `kind` is number, text, flag, mapping, list:<item type>, or any."""

    name: str
    kind: str
    meaning: str
    compute: Callable[[Any], Any] | None = None  # None: an engine argument


class Function(Record):
    """A function that rules may call."""

    kind: str
    parameters: int
    meaning: str


FUNCTIONS = {
    "is_set": Function("flag", 1, "the user gave this argument"),
    "given": Function("any", 1, "what the user wrote for this argument, None where nothing"),
    "env": Function("text", 1, "an environment variable of the engine, empty where it is not set"),
    "option": Function("any", 2, "a key of a JSON argument, None where it is not written"),
    "policy": Function("any", 1, "a threshold of the policy, None where it is not stated"),
    "policy_place": Function("text", 1, "where a threshold of the policy is stated"),
    "is_within": Function("flag", 2, "a version is within a PEP 440 specifier, as in >=0.18"),
    "since": Function("flag", 1, "the release is this one or a later one"),
    "upper": Function("text", 1, "the value as text in capitals"),
    "floor": Function("number", 1, "the number without its fraction"),
    "min": Function("number", 2, "the smaller of two numbers"),
    "max": Function("number", 2, "the larger of two numbers"),
}


@cache
def computed_facts() -> dict[str, Fact]:
    """The facts of `known_facts`, by name."""
    found = {}
    for module_info in pkgutil.iter_modules(known_facts.__path__):
        module = import_module(f"{known_facts.__name__}.{module_info.name}")
        for name, function in vars(module).items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__:
                if name.startswith("_"):
                    continue
                kind = _kind(function.__annotations__["return"])
                found[name] = Fact(name, kind, str(function.__doc__), function)
    return found


@cache
def find_fact(name: str) -> Fact | None:
    """The fact of that name; None where neither a fact nor an engine argument has it."""
    fact = computed_facts().get(name)
    if fact is None and is_setting(name):
        return Fact(name, setting_kind(name), f"the engine argument {name}")
    return fact


def _kind(annotation: str) -> str:
    """`int | Unknown | None` → number; `list[FlagIssue]` → list:FlagIssue."""
    first = annotation.partition("|")[0].strip()
    if first.startswith("list["):
        return f"list:{first[5:-1]}"
    return KINDS[first]
