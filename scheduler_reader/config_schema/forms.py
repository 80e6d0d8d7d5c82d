"""Pieces of JSON Schema that options and the keys of JSON options share."""

from __future__ import annotations

from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

BOOLEAN: Schema = {"type": "boolean"}
STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
OBJECT: Schema = {"type": "object"}
NULL: Schema = {"type": "null"}
ANY: Schema = {}


def any_of(*forms: Schema) -> Schema:
    """A value of any of the forms; anything, where one of them is anything."""
    distinct: list[Schema] = []
    for form in forms:
        if not form:
            return ANY
        distinct += [one for one in _alternatives(form) if one not in distinct]
    if len(distinct) == 1:
        return distinct[0]
    if all(set(form) == {"type"} for form in distinct):
        return {"type": [form["type"] for form in distinct]}
    return {"anyOf": distinct}


def _alternatives(form: Schema) -> list[Schema]:
    if set(form) == {"anyOf"}:
        alternatives: list[Schema] = form["anyOf"]
        return alternatives
    if set(form) == {"type"} and isinstance(form["type"], list):
        return [{"type": name} for name in form["type"]]
    return [form]


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items} if items else {"type": "array"}
