"""The objects of JSON options: one definition for each config class, from vLLM's annotations."""

from __future__ import annotations

import ast
from typing import Any

from scheduler_reader.config_schema.forms import (
    ANY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Schema,
    any_of,
    array,
)
from scheduler_reader.knowledge.config_fields import (
    ConfigField,
    config_fields,
    refuses_other_keys,
)
from scheduler_reader.knowledge.versions import Release

PLAIN: dict[str, Schema] = {
    "bool": BOOLEAN,
    "int": INTEGER,
    "float": NUMBER,
    "str": STRING,
    "Path": STRING,
    "dict": OBJECT,
    "Counter": OBJECT,
    "list": array(ANY),
}


def class_definitions(names: set[str], release: Release) -> dict[str, Schema]:
    """The definitions of the classes and of those that their fields name."""
    definitions: dict[str, Schema] = {}
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        fields = config_fields(name, release)
        definitions[name] = _definition(fields, release) if fields else OBJECT
        waiting |= {used for field in fields for used in _classes(field, release)} - {*definitions}
    return dict(sorted(definitions.items()))


def _definition(fields: tuple[ConfigField, ...], release: Release) -> Schema:
    return {
        "type": "object",
        "properties": {field.name: _property(field, release) for field in fields},
        "additionalProperties": not refuses_other_keys(release),
    }


def _property(field: ConfigField, release: Release) -> Schema:
    value = _of(ast.parse(field.annotation, mode="eval").body, release)
    if field.default is None:  # also where the annotation does not say so
        return any_of(value, NULL)
    if isinstance(field.default, dict) and "dynamic" in field.default:
        return value
    if "$ref" in value:
        return value
    return value | {"default": field.default}


def _of(node: ast.expr, release: Release) -> Schema:
    match node:
        case ast.Constant(value=None):
            return NULL
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return any_of(_of(left, release), _of(right, release))
        case ast.Name(id=name):
            known = PLAIN.get(name)
            if known is not None:
                return known
            return {"$ref": f"#/definitions/{name}"} if config_fields(name, release) else ANY
        case ast.Subscript(value=ast.Name(id="Literal"), slice=words):
            return {"enum": _words(words)}
        case ast.Subscript(value=ast.Name(id="list" | "set"), slice=items):
            return array(_of(items, release))
        case ast.Subscript(value=ast.Name(id="tuple")):
            return array(ANY)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, value])):
            inside = _of(value, release)
            return {"type": "object", "additionalProperties": inside} if inside else OBJECT
    return ANY


def _words(node: ast.expr) -> list[Any]:
    words = ast.literal_eval(node)
    return list(words) if isinstance(words, tuple) else [words]


def _classes(field: ConfigField, release: Release) -> set[str]:
    names = {
        node.id
        for node in ast.walk(ast.parse(field.annotation, mode="eval"))
        if isinstance(node, ast.Name)
    }
    return {name for name in names if name not in PLAIN and config_fields(name, release)}
