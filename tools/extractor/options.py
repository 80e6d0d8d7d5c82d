"""Options in the form of compat_matrix/flags.json, from the calls that register them."""

from __future__ import annotations

import argparse
import ast
import json
import re
import types
import typing
from typing import Any

from extractor.interpreter import Interpreter
from extractor.source import ExtractError, SourceTree
from extractor.values import (
    ABSENT,
    ORIGIN,
    Dynamic,
    FieldDefault,
    Function,
    Member,
    ParserStandIn,
    Registered,
)

SERVE = "vllm.entrypoints.cli.serve"
ENGINE = "vllm.engine.arg_utils"
ARGPARSE_MODULES = ("vllm.utils.argparse_utils", "vllm.utils")
CONVERTERS = {
    "human_readable_int": "human_int",
    "human_readable_int_or_auto": "human_int_or_auto",
    "union_dict_and_str": "json_or_str",
    "nullable_kvs": "kv_pairs",
    "from_cli": "from_cli",
    "from_json": "from_json",
    "nullable_str": "str",
}
WRAPPERS = ("_optional_type", "_parse_type")
DEPRECATED = re.compile(r"\b(?:is|are) deprecated\b|^\W*deprecated\b|\bdeprecated:", re.IGNORECASE)
ACTIONS = {"store_true": False, "store_false": True}


def read_options(tree: SourceTree) -> dict[str, dict[str, Any]]:
    """Every option of `vllm serve` in the release: name → attributes, as flags.json has them."""
    reader = Interpreter(tree)
    serve = reader.module_value(SERVE, "ServeSubcommand")
    if serve is ABSENT:
        raise ExtractError(f"{SERVE}: no class ServeSubcommand")
    parser = ParserStandIn()
    build = reader.classes.attribute(serve, "subparser_init")
    reader.call(build, (parser,), {}, "subparser_init")
    engine = reader.module_value(ENGINE, "AsyncEngineArgs")
    if not parser.registered or engine is ABSENT:
        raise ExtractError(f"{SERVE}: the parser could not be followed")
    describe = _Describer(reader, engine)
    options = [option for option in parser.registered if option.names[0].startswith("-")]
    return dict(sorted(describe.option(option) for option in options))


class _Describer:
    """Puts one registered option into the stored form."""

    def __init__(self, reader: Interpreter, engine: type) -> None:
        self._reader = reader
        self._engine_fields = {field.name: field for field in reader.classes.fields(engine)}
        self._twins = _twins(reader)

    def option(self, registered: Registered) -> tuple[str, dict[str, Any]]:
        """The main name and the attributes of an option."""
        keywords = registered.keywords
        name = next(
            (name for name in registered.names if name.startswith("--")), registered.names[0]
        )
        action = keywords.get("action")
        shown: dict[str, Any] = {"type": self._type(keywords)}
        choices = keywords.get("choices")
        if choices == []:
            shown["choices"] = {"dynamic": "run-time plugin registry"}
        elif choices is not None:
            shown["choices"] = [None if word == "None" else word for word in plain(choices)]
        elif isinstance(keywords.get("metavar"), list):
            shown["suggested"] = plain(keywords["metavar"])
        shown["default"] = _default(keywords)
        for key in ("nargs", "const"):
            if keywords.get(key) is not None:
                shown[key] = plain(keywords[key])
        aliases = [other for other in registered.names if other != name]
        if action is argparse.BooleanOptionalAction:
            aliases += self._negatives(registered.names)
        if aliases:
            shown["aliases"] = sorted(aliases)
        if action == "append":
            shown["action"] = "append"
        elif self._reader.classes.is_action(action) and shown["type"] != "bool-value":
            shown["action"] = "custom"
        deprecated = _deprecated(keywords)
        if deprecated:
            shown["deprecated"] = deprecated
        if registered.group:
            shown["group"] = registered.group
        field = self._field(name, keywords)
        if field is not None:
            shown["field"] = f"{field[0]}.{field[1]}"
            if _accepts_none(field[2].type):
                shown["optional"] = True
        return name, shown

    def _field(self, name: str, keywords: dict[str, Any]) -> tuple[str, str, FieldDefault] | None:
        if ORIGIN in keywords:
            origin: tuple[str, str, FieldDefault] = keywords[ORIGIN]
            return origin
        argument = keywords.get("dest") or name.lstrip("-").replace("-", "_")
        if argument in self._engine_fields:
            return "EngineArgs", argument, self._engine_fields[argument]
        return None

    def _negatives(self, names: tuple[str, ...]) -> list[str]:
        long = [name for name in names if name.startswith("--")]
        twins = [
            twin + name.removeprefix(prefix)
            for name in long
            for prefix, twin in self._twins.items()
            if name.startswith(prefix)
        ]
        return [f"--no-{name.removeprefix('--')}" for name in long] + twins

    def _type(self, keywords: dict[str, Any]) -> str:
        action, kind = keywords.get("action"), keywords.get("type")
        if action is argparse.BooleanOptionalAction:
            return "bool"
        if isinstance(action, str) and action in ACTIONS:
            return "flag"
        if isinstance(action, type) and action.__name__ == "StoreBoolean":
            return "bool-value"
        return self._converter(kind)

    def _converter(self, kind: Any) -> str:
        if kind is None:
            return "str"
        if kind is json.loads:
            return "json"
        if kind in {int, float, str, bool}:
            return str(kind.__name__)
        if not isinstance(kind, Function):
            return "custom" if isinstance(kind, Dynamic) else "str"
        if kind.name in WRAPPERS:
            return self._converter(next(iter(kind.frame.variables.values())))
        if kind.name in CONVERTERS:
            return CONVERTERS[kind.name]
        if "cls" in kind.defaults:
            return f"json:{kind.defaults['cls'].__name__}"
        returns = None if isinstance(kind.node, ast.Lambda) else kind.node.returns
        return "str" if returns is not None and ast.unparse(returns) == "str" else "custom"


def _twins(reader: Interpreter) -> dict[str, str]:
    """Prefixes that an on/off pair exchanges besides `--no-`: `--enable-` and `--disable-`."""
    for module in ARGPARSE_MODULES:
        action = reader.module_value(module, "EnableDisableAction")
        if action is not ABSENT:
            prefixes: dict[str, str] = reader.classes.attribute(action, "_inverse_prefixes")
            return prefixes
    return {}


def _default(keywords: dict[str, Any]) -> Any:
    default = keywords.get("default", ACTIONS.get(str(keywords.get("action"))))
    if default == argparse.SUPPRESS:
        return {"dynamic": "suppressed-unless-given"}
    return plain(default)


def plain(value: Any) -> Any:
    """A value as JSON has it; what is not known keeps its text."""
    match value:
        case Dynamic(text=text):
            return {"dynamic": text}
        case Member(value=member):
            return plain(member)
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case bool() | int() | float() | str() | None:
            return value
    return {"dynamic": getattr(value, "__name__", str(value))}


def _deprecated(keywords: dict[str, Any]) -> dict[str, str | None] | None:
    """Whether the parser or the help text says that the option goes, and when it is to be gone."""
    texts = [keywords.get("help")]
    if ORIGIN in keywords:
        texts.append(keywords[ORIGIN][2].doc)
    text = " ".join(" ".join(text for text in texts if isinstance(text, str)).split())
    by_parser = keywords.get("deprecated") is True
    if not by_parser and not DEPRECATED.search(text):
        return None
    removal = re.search(r"removed in (?:version )?v?(\d+\.\d+(?:\.\d+)?)", text)
    return {"by": "parser" if by_parser else "text", "removal": removal[1] if removal else None}


def _accepts_none(hint: Any) -> bool:
    union = typing.get_origin(hint) in {typing.Union, types.UnionType}
    return hint is type(None) or (union and type(None) in typing.get_args(hint))
