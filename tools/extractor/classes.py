"""Classes of the source tree: a stand-in type for each, its attributes and its dataclass fields."""

from __future__ import annotations

import ast
import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from extractor.values import (
    ABSENT,
    Dynamic,
    Factory,
    FieldDefault,
    Frame,
    Function,
    Member,
    source_text,
)

if TYPE_CHECKING:
    from extractor.interpreter import Interpreter

MISSING = dataclasses.MISSING
FIELD_CALLS = ("field", "Field", "PydanticField")
REAL_BASES = (dict, str, int, float, list, tuple, set)
NO_FIELDS = ("ClassVar", "InitVar")


@dataclass(frozen=True, slots=True)
class ClassSource:
    """Where a stand-in type comes from."""

    module: str
    node: ast.ClassDef
    bases: tuple[type, ...]


class Classes:
    """Makes stand-in types and answers what a class of the source tree has."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._sources: dict[type, ClassSource] = {}
        self.fields = cache(self._fields)

    def make(self, module: str, node: ast.ClassDef) -> type:
        """A type with the class's name that stands for it in annotations."""
        frame = Frame(module)
        bases = [self._interpreter.evaluate(base, frame) for base in node.bases]
        plain = [typing.get_origin(base) or base for base in bases]
        known = tuple(base for base in plain if isinstance(base, type))
        real = tuple(base for base in known if base in REAL_BASES)[:1]
        text = tuple(source_text(base).split(".")[-1] for base in node.bases)
        made: type = type(
            node.name, real, {"__module__": module, "__doc__": ast.get_docstring(node)}
        )
        self._sources[made] = ClassSource(module, node, known)
        if any("Enum" in name for name in text):
            made.__is_enum__ = True  # type: ignore[attr-defined]
        return made

    def is_known(self, cls: object) -> bool:
        return isinstance(cls, type) and cls in self._sources

    def is_enum(self, cls: type) -> bool:
        return any(hasattr(base, "__is_enum__") for base in self.lineage(cls))

    def is_action(self, cls: object) -> bool:
        """Whether the class is an argparse action of vLLM's own."""
        return isinstance(cls, type) and any(
            "Action" in source_text(base)
            for known in self.lineage(cls)
            for base in self._sources[known].node.bases
        )

    def is_dataclass(self, cls: object) -> bool:
        """Whether the class or a base is decorated by `dataclass`, or by vLLM's `config`."""
        return isinstance(cls, type) and any(self._is_decorated(base) for base in self.lineage(cls))

    def _is_decorated(self, cls: type) -> bool:
        for decorator in self._sources[cls].node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if source_text(called).split(".")[-1] in {"dataclass", "config"}:
                return True
        return False

    def lineage(self, cls: type) -> list[type]:
        """The class and its bases in the source tree, nearest first."""
        found: list[type] = []
        for known in (cls, *self._sources[cls].bases) if cls in self._sources else ():
            new = [known] if known is cls else self.lineage(known)
            found.extend(base for base in new if base not in found)
        return found

    def attribute(self, cls: type, name: str, bound_to: type | None = None) -> Any:
        """A class attribute (for a field: its default), or ABSENT."""
        for known in self.lineage(cls):
            source = self._sources[known]
            for statement in reversed(source.node.body):
                match statement:
                    case ast.FunctionDef(name=defined) if defined == name:
                        return self._method(statement, known, bound_to or cls)
                    case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                        bound = target
                    case ast.Assign(targets=[ast.Name(id=target)], value=value):
                        bound = target
                    case _:
                        continue
                if bound == name:
                    return self._value(known, name, value)
        return ABSENT

    def _value(self, cls: type, name: str, node: ast.expr) -> Any:
        frame = Frame(self._sources[cls].module, body_of=cls)
        if self.is_enum(cls):
            return Member(cls, name, self._interpreter.evaluate(node, frame))
        default, factory = self._default(node, frame)
        return factory.make() if isinstance(factory, Factory) else default

    def _method(self, node: ast.FunctionDef, owner: type, bound_to: type) -> Function:
        function = Function(node, Frame(self._sources[owner].module, owner=owner), owner)
        kinds = {source_text(decorator) for decorator in node.decorator_list}
        if "staticmethod" not in kinds:
            function.bound = (bound_to if "classmethod" in kinds else Dynamic("self"),)
        return function

    def members(self, cls: type) -> list[Member]:
        """The members of an enumeration in the order of the source."""
        names = [
            statement.targets[0].id
            for statement in self._sources[cls].node.body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        ]
        return [self.attribute(cls, name) for name in names]

    def _fields(self, cls: type) -> list[FieldDefault]:
        """The dataclass fields, those of bases first, with defaults that can be known."""
        found: dict[str, FieldDefault] = {}
        for known in reversed(self.lineage(cls)):
            if self._is_decorated(known) or known is cls:
                found |= {field.name: field for field in self._own_fields(known)}
        return list(found.values())

    def _own_fields(self, cls: type) -> Iterator[FieldDefault]:
        source = self._sources[cls]
        frame = Frame(source.module, body_of=cls)
        for statement, after in zip(source.node.body, [*source.node.body[1:], None], strict=True):
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    pass
                case _:
                    continue
            if source_text(annotation).split("[")[0].split(".")[-1] in NO_FIELDS:
                continue
            default, factory = self._default(value, frame) if value else (MISSING, MISSING)
            doc = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                doc = str(after.value.value)
            hint = self._interpreter.hint(annotation, frame)
            yield FieldDefault(name, hint, default, factory, doc)

    def _default(self, node: ast.expr, frame: Frame) -> tuple[Any, Any]:
        """Default and factory of a field; MISSING where there is none."""
        if not (
            isinstance(node, ast.Call) and source_text(node.func).split(".")[-1] in FIELD_CALLS
        ):
            return self._interpreter.evaluate(node, frame), MISSING
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default_factory" in given:
            factory = given["default_factory"]
            return MISSING, Factory(
                lambda: self._interpreter.call(
                    self._interpreter.evaluate(factory, frame), (), {}, source_text(factory)
                )
            )
        default = given.get("default", node.args[0] if node.args else None)
        if default is None or source_text(default) == "...":
            return MISSING, MISSING
        return self._interpreter.evaluate(default, frame), MISSING
