"""Edits of a text that give an option another value, switch it, or take it out.

What was edited is read again: the arguments must be as wanted and every other one as it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.flags import Flag, flag_table
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.upgrade.text_edit import (
    NotEditable,
    Place,
    Text,
    find,
    remove,
    rename,
    set_value,
)
from scheduler_reader.value import Known, Origin, Unknown

_SAFE = re.compile(r"[\w./:+-]+")  # needs no quotes in a shell, in YAML or in JSON
_AFTER_SPACE = re.compile(r"[ \t]+(?P<value>[\w./:+-]+)(?=[ \t\r\n\"'\\]|$)")
_AFTER_COMMA = re.compile(r"""["']?[ \t]*,[ \t]*["']?(?P<value>[\w./:+-]+)(?=["']?[ \t]*[,\]])""")
_NEXT_ITEM = re.compile(r"""[ \t]*-[ \t]+["']?(?P<value>[\w./:+-]+)["']?[ \t]*(?:#.*)?""")


def with_arguments(
    text: str, path: str, engine: ParsedEngine, changes: Mapping[str, Any], release: Release
) -> str:
    """The text with the arguments of one of its engines changed; None takes an argument out.

    Raises `NotEditable` where an argument does not stand in the text, or not in words that can be
    edited safely.
    """
    changed = Text.of(text)
    settings = read_arguments(engine, flag_table(release)).settings
    for name, value in changes.items():
        flag, setting = flag_table(release).argument(name), settings.get(name)
        if flag is None or not isinstance(setting, Known):
            raise NotEditable(f"{name} does not stand in the file; add it by hand")
        origin = setting.origin
        if origin.path != path:
            raise NotEditable(f"{name} stands in another file; change it there")
        changed = _edited(_place(changed, origin, flag), flag, value)
    wanted = _readings(text, path, release)
    meant = wanted.get((engine.origin, engine.name), {})
    for name, value in changes.items():
        meant.pop(name, None) if value is None else meant.update({name: value})
    if _readings(str(changed), path, release) != wanted:
        raise NotEditable("other options would read differently; change it by hand")
    return str(changed)


def _place(text: Text, origin: Origin, flag: Flag) -> Place:
    """Where the option stands, by whichever of its names."""
    for name in (flag.name, *flag.aliases):
        try:
            return find(text, origin, name)
        except NotEditable:
            continue
    raise NotEditable(f"the file does not have {flag.name} in these words; change it by hand")


def _edited(place: Place, flag: Flag, value: Any) -> Text:
    if value is None:
        return remove(place, has_value=not flag.is_switch)
    if isinstance(value, bool):
        if place.is_key:
            return set_value(place, place.name, str(value).lower())
        if not flag.is_switch:
            raise NotEditable(f"{flag.name} is no switch in this release; change it by hand")
        return rename(place, flag.name if value else flag.name.replace("--", "--no-", 1))
    word = str(value)
    if not isinstance(value, int | float | str) or not _SAFE.fullmatch(word):
        raise NotEditable(f"{word} needs quotes; change it by hand")
    if place.is_key or place.rest.startswith("="):
        return set_value(place, place.name, word)
    for pattern in (_AFTER_SPACE, _AFTER_COMMA):
        match = pattern.match(place.rest)
        if match:
            at = place.end
            return place.text.replaced(
                place.line, at + match.start("value"), at + match.end("value"), word
            )
    return _next_item(place, word)


def _next_item(place: Place, word: str) -> Text:
    """The value is the next item of a YAML list."""
    if place.rest.strip("\"' \t") == "" and place.line < len(place.text.lines):
        match = _NEXT_ITEM.fullmatch(place.text.lines[place.line].rstrip("\r\n"))
        if match:
            return place.text.replaced(
                place.line + 1, match.start("value"), match.end("value"), word
            )
    raise NotEditable("its value does not stand beside it in plain text; change it by hand")


def _readings(text: str, path: str, release: Release) -> dict[tuple[Origin, str | None], Any]:
    """What every engine of a text is given: its place and name → argument → value."""
    try:
        engines = parse_text(text, path, Path(path).parent).engines
    except InputError as error:
        raise NotEditable(f"the file could not be read any more ({error.message})") from None
    return {
        (engine.origin, engine.name): {
            name: value.reason if isinstance(value, Unknown) else value.value
            for name, value in read_arguments(engine, flag_table(release)).settings.items()
        }
        for engine in engines
    }
