"""Calls: a few functions that are answered here, those of Python itself, and those of the tree."""

from __future__ import annotations

import ast
import dataclasses
import typing
from typing import TYPE_CHECKING, Any

from extractor import natives
from extractor.statements import run
from extractor.values import ABSENT, ORIGIN, Dynamic, Factory, FieldDefault, Frame, Function

if TYPE_CHECKING:
    from extractor.interpreter import Interpreter

DEEPEST = 30


def call(
    reader: Interpreter, called: Any, values: tuple[Any, ...], named: dict[str, Any], text: str
) -> Any:
    """The result of a call; `Dynamic` where it is not one that can be followed."""
    if isinstance(called, Function):
        return _function(reader, called, values, named, text)
    if isinstance(called, Factory):
        return called.make()
    if reader.classes.is_known(called):
        return _instance(reader, called, values, text)
    answered = _answered(reader, called, values)
    if answered is not ABSENT:
        return answered
    owner = getattr(called, "__self__", None)
    if type(owner) in natives.METHODS or type(owner).__name__ == "ParserStandIn":
        return called(*values, **named)
    if not callable(called) or called not in natives.CALLABLE or _unknown(called, values):
        return Dynamic(text if text.endswith(")") else f"{text}()")
    if called is next:
        return next(iter(values[0]), *values[1:])
    return called(*values, **named)


def _unknown(called: Any, values: tuple[Any, ...]) -> bool:
    """Whether the answer depends on a value that is not known."""
    if called in {any, all, sorted, min, max, sum}:
        return any(isinstance(item, Dynamic) for item in values[0])
    return any(isinstance(value, Dynamic) for value in values)


def _answered(reader: Interpreter, called: Any, values: tuple[Any, ...]) -> Any:
    """Questions about classes and values of the tree."""
    if called is dataclasses.fields:
        return reader.classes.fields(values[0])
    if called is dataclasses.is_dataclass:
        return reader.classes.is_dataclass(values[0])
    if called is isinstance:
        kinds = values[1] if isinstance(values[1], tuple) else (values[1],)
        return any(isinstance(kind, type) and isinstance(values[0], kind) for kind in kinds)
    if called in {getattr, hasattr} and not isinstance(values[0], Dynamic):
        found = reader.attribute(values[0], values[1])
        if called is hasattr:
            return found is not ABSENT
        return values[2] if found is ABSENT and len(values) > 2 else found
    return values[1] if called is typing.cast else ABSENT


def _instance(reader: Interpreter, cls: type, values: tuple[Any, ...], text: str) -> Any:
    if reader.classes.is_enum(cls) and values:
        return next(member for member in reader.classes.members(cls) if member.value == values[0])
    if issubclass(cls, dict | list | set) and not values:
        return next(kind for kind in (dict, list, set) if issubclass(cls, kind))()
    return Dynamic(text if text.endswith(")") else f"{text}()")


def _function(
    reader: Interpreter,
    function: Function,
    values: tuple[Any, ...],
    named: dict[str, Any],
    text: str,
) -> Any:
    if function.name == "get_field":
        return reader.classes.attribute(*values)
    if function.name == "get_attr_docs":
        return {field.name: field.doc for field in reader.classes.fields(values[0])}
    if reader.depth > DEEPEST:
        return Dynamic(text)
    reader.depth += 1
    try:
        frame = Frame(function.frame.module, outer=function.frame, owner=function.owner)
        _bind(reader, function, (*function.bound, *values), named, frame)
        if isinstance(function.node, ast.Lambda):
            return reader.evaluate(function.node.body, frame)
        result = run(reader, function.node.body, frame)
    finally:
        reader.depth -= 1
    if function.name.endswith("_kwargs") and values and reader.classes.is_dataclass(values[0]):
        _tag(reader, values[0], result)
    return None if result is ABSENT else result


def _bind(
    reader: Interpreter,
    function: Function,
    values: tuple[Any, ...],
    named: dict[str, Any],
    frame: Frame,
) -> None:
    arguments = function.node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    for name, default in zip(names[::-1], arguments.defaults[::-1], strict=False):
        frame.variables[name] = reader.evaluate(default, function.frame)
    for argument, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if keyword_default is not None:
            frame.variables[argument.arg] = reader.evaluate(keyword_default, function.frame)
    frame.variables |= dict(zip(names, values, strict=False)) | named


def _tag(reader: Interpreter, cls: type, keywords: Any) -> None:
    """Note in the keywords of each option which field of which class they come from."""
    if not isinstance(keywords, dict):
        return
    fields: dict[str, FieldDefault] = {field.name: field for field in reader.classes.fields(cls)}
    for name, given in keywords.items():
        if isinstance(given, dict) and name in fields:
            given[ORIGIN] = (cls.__name__, name, fields[name])
