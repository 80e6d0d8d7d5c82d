"""Evaluates expressions of the source tree over plain values, types and stand-ins.

Annotations become real `typing` objects over stand-in types, so that vLLM's own `get_kwargs` can be
followed statement by statement.  What cannot be known stays `Dynamic` with the text of the source.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from extractor import natives
from extractor.calls import call
from extractor.classes import Classes
from extractor.hints import type_hint
from extractor.modules import Imported, ModuleNames
from extractor.source import SourceTree
from extractor.values import (
    ABSENT,
    Dynamic,
    FieldDefault,
    Frame,
    Function,
    Member,
    ModuleRef,
    ParserStandIn,
    source_text,
    truth,
)


class Interpreter:
    """The names and expressions of one source tree."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.classes = Classes(self)
        self._names = ModuleNames(tree)
        self.module_value = cache(self._module_value)
        self.depth = 0

    def names_of(self, module: str) -> list[str]:
        """The top-level names of a module."""
        return list(self._names.of(module))

    def call(self, called: Any, values: tuple[Any, ...], named: dict[str, Any], text: str) -> Any:
        """The result of calling what the source names `text`."""
        return call(self, called, values, named, text)

    def _module_value(self, module: str, name: str) -> Any:
        """What a top-level name of a module stands for, or ABSENT."""
        bound = self._names.of(module).get(name)
        match bound:
            case None:
                inner = f"{module}.{name}"
                return ModuleRef(inner) if self.tree.module(inner) else ABSENT
            case Imported():
                return self.imported(bound)
            case ast.ClassDef():
                return self.classes.make(module, bound)
            case ast.FunctionDef():
                return Function(bound, Frame(module))
        return self.evaluate(bound, Frame(module))

    def imported(self, name: Imported) -> Any:
        if name.module in natives.MODULES:
            module = natives.MODULES[name.module]
            return module if name.name is None else getattr(module, name.name, ABSENT)
        if self.tree.module(name.module) is None:
            return ABSENT
        if name.name is None:
            return ModuleRef(name.module)
        return self.module_value(name.module, name.name)

    def import_into(self, statement: ast.ImportFrom, frame: Frame) -> None:
        """An import inside a function."""
        module = self._names.absolute(statement, frame.module)
        for alias in statement.names:
            value = self.imported(Imported(module, alias.name))
            name = alias.asname or alias.name
            frame.variables[name] = Dynamic(name) if value is ABSENT else value

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression; never fails, but may be `Dynamic`."""
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            return Dynamic(source_text(node))
        try:
            return method(node, frame)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, StopIteration):
            return Dynamic(source_text(node))

    def hint(self, node: ast.expr, frame: Frame) -> Any:
        """An annotation as a typing object; a name that is not in the tree becomes a stand-in."""
        return type_hint(self, node, frame)

    def _constant(self, node: ast.Constant, frame: Frame) -> Any:
        return node.value

    def _name(self, node: ast.Name, frame: Frame) -> Any:
        holder = frame.find(node.id)
        if holder is not None:
            return holder.variables[node.id]
        scope: Frame | None = frame
        while scope is not None:
            if scope.body_of is not None:
                value = self.classes.attribute(scope.body_of, node.id)
                if value is not ABSENT:
                    return value
            scope = scope.outer
        value = self.module_value(frame.module, node.id)
        if value is ABSENT:
            value = natives.BUILTINS.get(node.id, ABSENT)
        return Dynamic(node.id) if value is ABSENT else value

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        value = self.evaluate(node.value, frame)
        found = self.attribute(value, node.attr)
        if found is not ABSENT:
            return found
        return Dynamic(
            f"{value.text if isinstance(value, Dynamic) else source_text(node.value)}.{node.attr}"
        )

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute of a value, or ABSENT."""
        if isinstance(value, ModuleRef):
            return self.module_value(value.name, name)
        if isinstance(value, type) and name in {"__name__", "__module__", "__doc__"}:
            return getattr(value, name)
        if self.classes.is_known(value):
            return self.classes.attribute(value, name)
        if isinstance(value, FieldDefault | Member | ParserStandIn):
            return getattr(value, name, ABSENT)
        if isinstance(value, ModuleType):
            return getattr(value, name, ABSENT)
        if typing.get_origin(value) is not None and name == "__module__":
            return getattr(value, name)
        return natives.method(value, name) or ABSENT

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        value = self.evaluate(node.value, frame)
        if isinstance(value, list | tuple | dict | str) and not isinstance(node.slice, ast.Slice):
            return value[self.evaluate(node.slice, frame)]
        if isinstance(value, Dynamic) or not callable(value):
            return Dynamic(source_text(node))
        return self.hint(node, frame)

    def _binop(self, node: ast.BinOp, frame: Frame) -> Any:
        left, right = self.evaluate(node.left, frame), self.evaluate(node.right, frame)
        if isinstance(left, Dynamic) or isinstance(right, Dynamic):
            return Dynamic(source_text(node))
        return natives.OPERATORS[type(node.op)](left, right)

    def _unaryop(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.evaluate(node.operand, frame)
        if isinstance(value, Dynamic):
            return Dynamic(source_text(node))
        return not value if isinstance(node.op, ast.Not) else -value

    def _compare(self, node: ast.Compare, frame: Frame) -> Any:
        left, right = self.evaluate(node.left, frame), self.evaluate(node.comparators[0], frame)
        if len(node.ops) > 1 or isinstance(left, Dynamic) or isinstance(right, Dynamic):
            return Dynamic(source_text(node))
        return natives.OPERATORS[type(node.ops[0])](left, right)

    def _boolop(self, node: ast.BoolOp, frame: Frame) -> Any:
        decides = isinstance(node.op, ast.Or)
        values = [self.evaluate(value, frame) for value in node.values]
        for value in values:
            if truth(value) is decides:
                return value
        return Dynamic(source_text(node)) if None in map(truth, values) else values[-1]

    def _ifexp(self, node: ast.IfExp, frame: Frame) -> Any:
        """Where the test cannot be decided: a collection, as it is at its fullest, else unknown."""
        holds = truth(self.evaluate(node.test, frame))
        value = self.evaluate(node.orelse if holds is False else node.body, frame)
        undecided = holds is None and not isinstance(value, list | dict)
        return Dynamic(source_text(node)) if undecided else value

    def _list(self, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> list[Any]:
        values: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                values.extend(self.iterate(self.evaluate(element.value, frame)))
            else:
                values.append(self.evaluate(element, frame))
        return values

    def _tuple(self, node: ast.Tuple, frame: Frame) -> tuple[Any, ...]:
        return tuple(self._list(node, frame))

    def _set(self, node: ast.Set, frame: Frame) -> set[Any]:
        return set(self._list(node, frame))

    def _dict(self, node: ast.Dict, frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                made |= self.evaluate(value, frame)
            else:
                made[self.evaluate(key, frame)] = self.evaluate(value, frame)
        return made

    def _joinedstr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        parts = [
            self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part, frame)
            for part in node.values
        ]
        if any(isinstance(part, Dynamic) for part in parts):
            return Dynamic(source_text(node))
        return "".join(map(str, parts))

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Function:
        return Function(node, frame, frame.owner)

    def _namedexpr(self, node: ast.NamedExpr, frame: Frame) -> Any:
        frame.variables[node.target.id] = self.evaluate(node.value, frame)
        return frame.variables[node.target.id]

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Any:
        return [self.evaluate(node.elt, inner) for inner in self._loops(node.generators, frame)]

    _generatorexp = _listcomp

    def _setcomp(self, node: ast.SetComp, frame: Frame) -> set[Any]:
        return set(self._listcomp(node, frame))

    def _dictcomp(self, node: ast.DictComp, frame: Frame) -> dict[Any, Any]:
        return {
            self.evaluate(node.key, inner): self.evaluate(node.value, inner)
            for inner in self._loops(node.generators, frame)
        }

    def _loops(self, loops: list[ast.comprehension], frame: Frame) -> Iterator[Frame]:
        if not loops:
            yield frame
            return
        first, *rest = loops
        for value in self.iterate(self.evaluate(first.iter, frame)):
            inner = Frame(frame.module, outer=frame)
            self.assign(first.target, value, inner)
            if all(truth(self.evaluate(test, inner)) is not False for test in first.ifs):
                yield from self._loops(rest, inner)

    def iterate(self, value: Any) -> list[Any]:
        """The items of a value; none where they are not known."""
        if self.classes.is_known(value):
            return list(self.classes.members(value)) if self.classes.is_enum(value) else []
        if isinstance(value, set | frozenset):
            return sorted(value, key=str)  # any order is right; the same one in every run
        return [] if isinstance(value, Dynamic | Function) else list(value)

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Bind a name, unpack a tuple, or set an item of a dictionary or list."""
        match target:
            case ast.Name(id=name):
                frame.variables[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for inner, item in zip(targets, self.iterate(value), strict=False):
                    self.assign(inner, item, frame)
            case ast.Subscript(value=of, slice=key):
                holder = self.evaluate(of, frame)
                if isinstance(holder, dict | list):
                    holder[self.evaluate(key, frame)] = value

    def _call(self, node: ast.Call, frame: Frame) -> Any:
        text = source_text(node)
        if text == "super()":
            return self._super(frame)
        called = self.evaluate(node.func, frame)
        values: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                values.extend(self.iterate(self.evaluate(argument.value, frame)))
            else:
                values.append(self.evaluate(argument, frame))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, frame)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif isinstance(value, dict):
                named |= value
        return self.call(called, tuple(values), named, text)

    def _super(self, frame: Frame) -> Any:
        scope: Frame | None = frame
        while scope is not None and scope.owner is None:
            scope = scope.outer
        assert scope is not None and scope.owner is not None
        return self.classes.lineage(scope.owner)[1]
