"""What an expression can be besides a plain value: not known before run time, a function, a parser."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

source_text = cache(ast.unparse)
ABSENT = object()  # no such name, attribute or result; never a value of the source
ORIGIN = "__config_field__"  # a key that get_kwargs never sets: where its keywords come from


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A value that only a running vLLM knows; `text` is how the source writes it."""

    text: str


def truth(value: Any) -> bool | None:
    """Whether a test holds; None when only a running vLLM knows."""
    return None if isinstance(value, Dynamic) else bool(value)


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the source tree."""

    name: str


@dataclass(eq=False, slots=True)
class Frame:
    """The names that an expression sees: its own, those around it, and its module's."""

    module: str
    variables: dict[str, Any] = field(default_factory=dict)
    outer: Frame | None = None
    body_of: type | None = None  # the class whose body the expression stands in
    owner: type | None = None  # the class whose method this is, for super()

    def find(self, name: str) -> Frame | None:
        """The innermost frame that binds the name."""
        frame: Frame | None = self
        while frame is not None and name not in frame.variables:
            frame = frame.outer
        return frame


@dataclass(eq=False, slots=True)
class Function:
    """A function or lambda of the source tree with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    owner: type | None = None
    bound: tuple[Any, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "" if isinstance(self.node, ast.Lambda) else self.node.name

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return self


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration of the source tree."""

    of: type
    name: str
    value: Any


@dataclass(eq=False, slots=True)
class Factory:
    """What makes the default of a field."""

    make: Callable[[], Any]


@dataclass(eq=False, slots=True)
class FieldDefault:
    """A dataclass field as `dataclasses.fields` shows it, and its docstring."""

    name: str
    type: Any
    default: Any
    default_factory: Callable[[], Any] | Any
    doc: str = ""


@dataclass(eq=False, slots=True)
class Registered:
    """One `add_argument` call."""

    names: tuple[str, ...]
    keywords: dict[str, Any]
    group: str | None


@dataclass(eq=False, slots=True)
class ParserStandIn:
    """Records what is added to a parser; a group of it records into the same list."""

    registered: list[Registered] = field(default_factory=list)
    title: str | None = None

    def add_argument(self, *names: str, **keywords: Any) -> None:
        self.registered.append(Registered(names, keywords, self.title))

    def add_argument_group(
        self, title: str | None = None, description: object = None, **_: Any
    ) -> ParserStandIn:
        return ParserStandIn(self.registered, title)

    def add_mutually_exclusive_group(self, **_: Any) -> ParserStandIn:
        return self

    def add_parser(self, *_: Any, **__: Any) -> ParserStandIn:
        return self
