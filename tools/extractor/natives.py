"""What of Python itself the interpreter may use: pure functions, types, and methods of plain values."""

from __future__ import annotations

import argparse
import ast
import builtins
import collections.abc
import copy
import dataclasses
import itertools
import json
import operator
import ssl
import types
import typing
from collections.abc import Callable
from typing import Any

BUILTIN_NAMES = (
    "all",
    "any",
    "bool",
    "bytes",
    "dict",
    "Ellipsis",
    "enumerate",
    "float",
    "frozenset",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "issubclass",
    "len",
    "list",
    "max",
    "min",
    "next",
    "object",
    "range",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "ValueError",
    "zip",
)
NO_ENVIRONMENT = types.ModuleType("os")  # vLLM is read as if no environment variable were set
NO_ENVIRONMENT.environ = {}  # type: ignore[attr-defined]
MODULES: dict[str, Any] = {
    "argparse": argparse,
    "collections.abc": collections.abc,
    "copy": copy,
    "dataclasses": dataclasses,
    "itertools": itertools,
    "json": json,
    "os": NO_ENVIRONMENT,
    "ssl": ssl,
    "types": types,
    "typing": typing,
    "typing_extensions": typing,
}
BUILTINS = {name: getattr(builtins, name) for name in BUILTIN_NAMES}
CALLABLE = {
    *(
        value
        for name, value in BUILTINS.items()
        if name not in {"getattr", "hasattr", "isinstance"}
    ),
    copy.deepcopy,
    itertools.permutations,
    typing.get_args,
    typing.get_origin,
    typing.is_typeddict,
}
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
METHODS = {
    str: "endswith format join lower removeprefix removesuffix replace split startswith strip upper",
    list: "append copy extend index insert pop remove sort",
    dict: "copy get items keys pop setdefault update values",
    set: "add copy discard remove union update",
    tuple: "index",
}


def method(value: object, name: str) -> Any:
    """A permitted method of a plain value, or None."""
    for kind, names in METHODS.items():
        if isinstance(value, kind) and name in names.split():
            return getattr(value, name)
    return None
