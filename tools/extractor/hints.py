"""Annotations as real `typing` objects over stand-in types, as vLLM sees them when it runs."""

from __future__ import annotations

import ast
import operator
import typing
from typing import TYPE_CHECKING, Any

from extractor.values import Dynamic, Frame, source_text

if TYPE_CHECKING:
    from extractor.interpreter import Interpreter

WRAPPERS = ("SkipValidation", "Annotated", "Required", "NotRequired")


def type_hint(reader: Interpreter, node: ast.expr, frame: Frame) -> Any:
    """An annotation as a typing object; a name that is not in the tree becomes a stand-in."""
    match node:
        case ast.Constant(value=str() as text):  # stays a reference when vLLM looks at it
            return _outside(text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = type_hint(reader, left, frame), type_hint(reader, right, frame)
            try:
                return operator.or_(*sides)
            except TypeError:
                return typing.Union[sides]  # noqa: UP007 - a reference cannot be on a side of |
        case ast.Subscript(value=of, slice=inside):
            return _generic(reader, of, inside, frame)
    value = reader.evaluate(node, frame)
    return _outside(value.text) if isinstance(value, Dynamic) else value


def _generic(reader: Interpreter, of: ast.expr, inside: ast.expr, frame: Frame) -> Any:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if source_text(of).split(".")[-1] in WRAPPERS:
        return type_hint(reader, parts[0], frame)
    generic = type_hint(reader, of, frame)
    if generic is typing.Literal:
        return typing.Literal[tuple(reader.evaluate(part, frame) for part in parts)]
    if isinstance(inside, ast.List):
        return generic
    hints = [type_hint(reader, part, frame) for part in parts]
    try:
        return generic[hints[0] if len(hints) == 1 else tuple(hints)]
    except TypeError:
        return generic


def _outside(text: str) -> type:
    """A stand-in for a type that is not in the source tree."""
    return type(text.rsplit(".", maxsplit=1)[-1], (), {"__module__": "outside"})
