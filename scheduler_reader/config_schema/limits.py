"""The limits that a release checks a number against, as JSON Schema writes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from scheduler_reader.config_schema.forms import Schema
from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import Release, releases
from scheduler_reader.parse.serve_flags import ServeFlags

SIDES = {
    "minimum": "too_small",
    "exclusiveMinimum": "too_small",
    "maximum": "too_large",
    "exclusiveMaximum": "too_large",
}
UNDATED = "0.11.1"  # vLLM's config classes state their limits since then


def limits(argument: str, release: str) -> Schema:
    """`minimum` and the like; empty where the release takes any number."""
    dated = documents("compat_matrix")["value_limits.yaml"]["limits"].get(argument, {})
    newest = releases()[-1]
    return {
        key: bound
        for key, bound in _stated(argument).items()
        if Release(release).within(dated.get(SIDES[key], UNDATED), newest)
    }


def _stated(argument: str) -> dict[str, Any]:
    field = _settings().get(argument, {})
    forms = field.get("anyOf", [field])
    return {key: bound for key, bound in forms[0].items() if key in SIDES}


@cache
def _settings() -> dict[str, Any]:
    properties: dict[str, Any] = ServeFlags.model_json_schema()["properties"]
    return properties
