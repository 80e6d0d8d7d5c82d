"""A systemd unit file: sections, settings, continuation lines, and the words of a command.

Source: systemd.syntax(7), systemd.service(5) "COMMAND LINES", systemd.exec(5) `Environment=`,
systemd.unit(5) "SPECIFIERS".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.record import Record

SPECIFIER = re.compile(r"%([%A-Za-z])")
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
ESCAPES = {"n": "\n", "t": "\t", "s": " ", "r": "\r"}


class Setting(Record):
    """`key=value` of a section; line ends inside the value are kept after a backslash's removal."""

    section: str
    key: str
    value: str
    line: int
    column: int  # where the value starts


def settings_of(file: InputFile) -> list[Setting]:
    """The settings of a unit file in order; comments between continued lines are dropped."""
    found: list[Setting] = []
    section = ""
    lines = file.text.split("\n")
    index = 0
    while index < len(lines):
        first, line = index, lines[index].strip()
        index += 1
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        parts = [lines[first]]
        while parts[-1].rstrip().endswith("\\") and index < len(lines):
            parts[-1] = parts[-1].rstrip()[:-1]
            while index < len(lines) and lines[index].lstrip()[:1] in {"#", ";"}:
                index += 1
            parts += lines[index : index + 1]
            index += 1
        key, equals, value = "\n".join(parts).partition("=")
        if equals:
            column = len(key) + 2 + len(value) - len(value.lstrip(" \t"))
            found.append(Setting(section, key.strip(), value.strip(), first + 1, column))
    return found


def unit_words(text: str) -> list[tuple[str, int]]:
    """Words with offsets: quotes at the start of a word, C-like escapes outside single quotes."""
    words: list[tuple[str, int]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        start, characters, quote = position, [], ""
        while position < len(text) and (quote or not text[position].isspace()):
            character = text[position]
            position += 1
            if character == quote:
                quote = ""
            elif not quote and character in "'\"":
                quote = character
            elif character == "\\" and position < len(text):
                characters.append(ESCAPES.get(text[position], text[position]))
                position += 1
            else:
                characters.append(character)
        words.append(("".join(characters), start))
    return words


def without_specifiers(text: str, hide: Callable[[str], str]) -> str:
    """The text with `%%` as `%`; `hide` stands in for a specifier such as `%i`."""
    return SPECIFIER.sub(lambda match: "%" if match[1] == "%" else hide(match[0]), text)
