"""Runs the statements of a function.  A test that cannot be decided is taken to hold, unless what
it guards is an error."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from extractor.values import ABSENT, Dynamic, Frame, Function

if TYPE_CHECKING:
    from extractor.interpreter import Interpreter


def run(reader: Interpreter, body: list[ast.stmt], frame: Frame) -> Any:
    """The value that the statements return, or ABSENT when they return none."""
    for statement in body:
        returned = _statement(reader, statement, frame)
        if returned is not ABSENT:
            return returned
    return ABSENT


def _statement(reader: Interpreter, statement: ast.stmt, frame: Frame) -> Any:
    match statement:
        case ast.Return(value=value):
            return None if value is None else reader.evaluate(value, frame)
        case ast.Expr(value=value):
            reader.evaluate(value, frame)
        case ast.Assign(targets=targets, value=value):
            result = reader.evaluate(value, frame)
            for target in targets:
                reader.assign(target, result, frame)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            reader.assign(target, reader.evaluate(value, frame), frame)
        case ast.AugAssign():
            _add_to(reader, statement, frame)
        case ast.If(test=test, body=then, orelse=other):
            return run(reader, _branch(reader, test, then, other, frame), frame)
        case ast.For(target=target, iter=items, body=body):
            for value in reader.iterate(reader.evaluate(items, frame)):
                reader.assign(target, value, frame)
                returned = run(reader, body, frame)
                if returned is not ABSENT:
                    return returned
        case ast.With(body=body) | ast.Try(body=body):
            return run(reader, body, frame)
        case ast.Delete(targets=targets):
            for target in targets:
                _delete(reader, target, frame)
        case ast.FunctionDef(name=name):
            frame.variables[name] = _inner_function(reader, statement, frame)
        case ast.ImportFrom():
            reader.import_into(statement, frame)
    return ABSENT


def _inner_function(reader: Interpreter, node: ast.FunctionDef, frame: Frame) -> Function:
    """A function in a function; its defaults are those of this moment."""
    names = [argument.arg for argument in node.args.args]
    defaults = {
        name: reader.evaluate(default, frame)
        for name, default in zip(names[::-1], node.args.defaults[::-1], strict=False)
    }
    closed = Frame(frame.module, dict(frame.variables), frame.outer, frame.body_of, frame.owner)
    return Function(node, closed, frame.owner, defaults=defaults)


def _branch(
    reader: Interpreter, test: ast.expr, then: list[ast.stmt], other: list[ast.stmt], frame: Frame
) -> list[ast.stmt]:
    value = reader.evaluate(test, frame)
    if isinstance(value, Dynamic):
        return other if isinstance(then[-1], ast.Raise) else then
    return then if value else other


def _add_to(reader: Interpreter, statement: ast.AugAssign, frame: Frame) -> None:
    target = statement.target
    old, new = reader.evaluate(target, frame), reader.evaluate(statement.value, frame)
    if isinstance(old, str) and isinstance(new, Dynamic):
        return  # a help text keeps the part that is known
    if isinstance(old, list):
        old.extend(reader.iterate(new))
        return
    reader.assign(target, Dynamic("") if isinstance(old, Dynamic) else old + new, frame)


def _delete(reader: Interpreter, target: ast.expr, frame: Frame) -> None:
    if isinstance(target, ast.Subscript):
        holder = reader.evaluate(target.value, frame)
        if isinstance(holder, dict):
            holder.pop(reader.evaluate(target.slice, frame), None)
