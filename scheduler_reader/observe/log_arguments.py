"""The arguments that a log calls non-default: a printed mapping, read and never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_reader.value import Known, Unknown, Value

_NAME = re.compile(r"\s*'(?P<name>\w+)':\s*")
OPENING, CLOSING = "([{<", ")]}>"


def logged_arguments(found: Known[Any] | None) -> Value[Mapping[str, Any]]:
    """Argument name → value; a value that prints as an object (`Config(…)`, `<…>`) is left out."""
    if found is None:
        return Unknown("the log does not list the arguments")
    text = str(found.value)
    content = _literal(text)
    if content is None:
        content = {}
        for name, word in _pairs(text):
            value = _literal(word)
            if value is not None or word == "None":
                content[name] = value
    if not isinstance(content, dict):
        return Unknown("the list of arguments in the log is no mapping", found.origin)
    return Known({str(name): value for name, value in content.items()}, found.origin)


def _literal(text: str) -> Any:
    """The value of plain Python text; None where it is none."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of the values of the outermost mapping; commas inside a value do not count."""
    for part in _parts(text.strip()[1:-1]):
        name = _NAME.match(part)
        if name:
            yield name["name"], part[name.end() :].strip()


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
