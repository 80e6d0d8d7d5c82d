"""The arguments of a log that are not the default: printed Python, read and never run.

Since 0.8 a log lists them as a mapping; before, it prints all arguments as a `Namespace(…)`, and
the flag table of its release tells which of them are the default.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.flags import FlagTable, flag_table
from scheduler_reader.knowledge.versions import find_release
from scheduler_reader.value import Known, Unknown, Value

_NAME = re.compile(r"\s*(?:'(?P<name>\w+)':|(?P<keyword>\w+)=)\s*")
_NAMESPACE = "Namespace("
_MODEL = ("model", "model_tag")  # what is served has a default too, and always counts
OPENING, CLOSING = "([{<", ")]}>"


def logged_arguments(
    found: Known[Any] | None, version: Known[Any] | None
) -> Value[Mapping[str, Any]]:
    """Argument name → value; a value that prints as an object (`Config(…)`, `<…>`) is left out.

    `version` is the release that the log names.
    """
    if found is None:
        return Unknown("the log does not list the arguments")
    text = str(found.value)
    if text.startswith(_NAMESPACE):
        table = _table(version)
        if table is None:
            reason = "the log does not name the release whose defaults it lists"
            return Unknown(reason, found.origin)
        arguments = _plain(text.removeprefix(_NAMESPACE).removesuffix(")"))
        return Known(dict(_not_default(arguments, table)), found.origin)
    content = _literal(text)
    if content is None:
        content = _plain(text.strip()[1:-1])
    if not isinstance(content, dict):
        return Unknown("the list of arguments in the log is no mapping", found.origin)
    return Known({str(name): value for name, value in content.items()}, found.origin)


def _table(version: Known[Any] | None) -> FlagTable | None:
    """The options of the release that a log names, if it is one."""
    try:
        return None if version is None else flag_table(find_release(str(version.value)))
    except UsageError:
        return None


def _not_default(arguments: Mapping[str, Any], table: FlagTable) -> Iterator[tuple[str, Any]]:
    """The engine arguments among all of a namespace that differ from the release's own default."""
    for name, value in arguments.items():
        flag = table.argument(name)
        if name in _MODEL or (flag is not None and value is not None and value != flag.default):
            yield name, value


def _plain(inside: str) -> dict[str, Any]:
    """The values that are plain Python text, of what stands inside the outermost brackets."""
    read = ((name, word, _literal(word)) for name, word in _pairs(inside))
    return {name: value for name, word, value in read if value is not None or word == "None"}


def _literal(text: str) -> Any:
    """The value of plain Python text; None where it is none."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _pairs(inside: str) -> Iterator[tuple[str, str]]:
    """Name and text of each value; commas inside a value do not count."""
    for part in _parts(inside):
        name = _NAME.match(part)
        if name:
            yield name["name"] or name["keyword"], part[name.end() :].strip()


def _parts(text: str) -> Iterator[str]:
    """The text between commas that are in no brackets and no quotes."""
    depth, start, quote = 0, 0, ""
    is_escaped = False
    for position, character in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif quote:
            is_escaped = character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in OPENING:
            depth += 1
        elif character in CLOSING:
            depth -= 1
        elif character == "," and depth <= 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]
