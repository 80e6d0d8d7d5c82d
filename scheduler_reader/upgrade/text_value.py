"""Another value for an option that a text has, where its value stands in plain words."""

from __future__ import annotations

import re
from typing import Any

from scheduler_reader.upgrade.text_edit import NotEditable, Place, Text
from scheduler_reader.value import Origin

_TOKEN = r"""(?P<quote>\\?["']?)(?P<value>(?!-)[\w.+-]+)(?P=quote)"""
_AFTER_KEY = re.compile(rf"""["']?[ \t]*[:=][ \t]*{_TOKEN}(?=[ \t]*([,}}#)]|$))""")
_AFTER_WORD = re.compile(rf"""(=|[ \t]+|\\?["'][ \t]*,[ \t]*){_TOKEN}(?=[\s"',\]\\)]|$)""")
_NOTHING = re.compile(r"""["']?[ \t]*,?[ \t]*\\?[ \t]*(#.*)?""")
_NEXT_LINE = re.compile(rf"""[ \t]*(-[ \t]+)?{_TOKEN}[ \t]*,?[ \t]*\\?[ \t]*([#\]].*)?""")
_UNSURE = "its value is not plain text beside it; change it by hand"


def replace_value(place: Place, value: str) -> Text:
    """The text with another value for the option: beside it, or the item of a list after it.

    Raises `NotEditable` for a value that is a reference, or text with spaces.
    """
    pattern = _AFTER_KEY if place.is_key else _AFTER_WORD
    match = pattern.match(place.rest)
    if match is not None:
        at = place.end
        start, end = at + match.start("value"), at + match.end("value")
        return place.text.replaced(place.line, start, end, value)
    if place.is_key or not _NOTHING.fullmatch(place.rest) or place.line >= len(place.text.lines):
        raise NotEditable(_UNSURE)
    following = _NEXT_LINE.fullmatch(place.text.lines[place.line].rstrip("\r\n"))
    if following is None:
        raise NotEditable(_UNSURE)
    return place.text.replaced(
        place.line + 1, following.start("value"), following.end("value"), value
    )


def replace_at(text: Text, origin: Origin, old: Any, value: str) -> Text:
    """The text with the value that stands at `origin`, or after a key there, replaced."""
    if origin.line is None or origin.column is None or origin.line > len(text.lines):
        raise NotEditable(_UNSURE)
    line, at = text.lines[origin.line - 1], origin.column - 1
    key = re.compile(r"""["']?[\w.-]+["']?[ \t]*[:=][ \t]*""").match(line, at)
    for start in (at, key.end() if key else at):
        match = re.compile(_TOKEN).match(line, start)
        if match is not None and match["value"].lower() == str(old).lower():
            return text.replaced(origin.line, match.start("value"), match.end("value"), value)
    raise NotEditable(_UNSURE)


def replace_number(text: Text, key: str, value: int) -> Text:
    """The text with another number for a key of a JSON option, which it has once."""
    pattern = re.compile(rf"""(?<!\w){re.escape(key)}[\\"']*\s*[:=\s]\s*[\\"']*(?P<number>\d+)""")
    found = [
        (number, match)
        for number, line in enumerate(text.lines, 1)
        if not line.lstrip().startswith("#")
        for match in pattern.finditer(line)
    ]
    if len(found) != 1:
        raise NotEditable(f"{key} does not stand in the file exactly once; change it by hand")
    number, match = found[0]
    return text.replaced(number, match.start("number"), match.end("number"), str(value))
