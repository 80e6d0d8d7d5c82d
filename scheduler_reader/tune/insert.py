"""A new option beside one that a file has, in the way that one is written."""

from __future__ import annotations

import re
from typing import Any

from scheduler_reader.knowledge.flags import FlagTable
from scheduler_reader.parse.changed_arguments import option_words
from scheduler_reader.parse.source import Word
from scheduler_reader.upgrade.text_edit import NotEditable, Place, Text

_ITEM = re.compile(r"""(?P<indent>[ \t]*)-[ \t]+(?P<quote>["']?)""")
_ARRAY_LINE = re.compile(r"""(?P<indent>[ \t]*)(?P<quote>["'])""")
_PLAIN_KEY = re.compile(r"""(?P<indent>[ \t]*(-[ \t]+)?)(?P<quote>["']?)""")
_KEY_VALUE = re.compile(r"""["']?[ \t]*:[ \t]*("[^"]*"|'[^']*'|[^\s#"'{}\[\],&*|>]+)[ \t]*(#.*)?""")


def inserted_words(place: Place, name: str, value: Any, table: FlagTable) -> Text:
    """The text with an option before that of `place`: on a line of its own where that one has."""
    words = option_words(name, value, table)
    if not words or any(re.search(r"[\s\"'$\\]", word) for word in words):
        raise NotEditable("it has no plain value; give it by hand")
    line = place.text.lines[place.line - 1]
    before = line[: place.start]
    end = re.search(r"\r?\n$", line)
    newline = end[0] if end else "\n"
    is_joined = place.rest.startswith("=") or len(words) == 1
    item = _ITEM.fullmatch(before)
    if item is not None:
        return _lines(place, _items(item["indent"], item["quote"], words, is_joined), newline)
    if before.rstrip(" \t\"'").endswith(("[", ",")) and before.endswith(('"', "'")):
        quote = before[-1]
        listed = ", ".join(f"{quote}{word}{quote}" for word in _joined(words, is_joined))
        start = place.start - 1
        return place.text.replaced(place.line, start, start, f"{listed}, ")
    array = _ARRAY_LINE.fullmatch(before)
    if array is not None and "," in _last_line(place) + place.rest:
        quote = array["quote"]
        listed = ", ".join(f"{quote}{word}{quote}" for word in _joined(words, is_joined))
        return _lines(place, [f"{array['indent']}{listed},"], newline)
    if not before.strip() and place.line > 1:
        continued = re.search(r"[ \t]*\\$", _last_line(place))
        text = ("=" if place.rest.startswith("=") else " ").join(words)
        return _lines(place, [f"{before}{text}{continued[0] if continued else ''}"], newline)
    text = ("=" if place.rest.startswith("=") else " ").join(words)
    return place.text.replaced(place.line, place.start, place.start, f"{text} ")


def appended_words(text: Text, word: Word, name: str, value: Any, table: FlagTable) -> Text:
    """The text with an option after a word that stands in it as it is, such as the model."""
    words = option_words(name, value, table)
    line, column = word.origin.line, word.origin.column
    if not words or line is None or column is None or line > len(text.lines):
        raise NotEditable("its place in the file is not known; give it by hand")
    shown = text.lines[line - 1]
    end = column - 1 + len(word.text)
    if shown[column - 1 : end] != word.text or not re.match(r"[ \t]*([\r\n\\]|$)", shown[end:]):
        raise NotEditable("the last word does not stand at the end of its line; give it by hand")
    item = _ITEM.fullmatch(shown[: column - 1])
    if item is None:
        return text.replaced(line, end, end, " " + " ".join(words))
    ended = re.search(r"\r?\n$", shown)
    newline = ended[0] if ended else ""
    new = f"{shown if ended else shown + chr(10)}{item['indent']}- {'='.join(words)}{newline}"
    return text.with_line(line, new)


def inserted_option(place: Place, name: str, value: str) -> Text:
    """The text with a key after the one of `place`, in the same mapping and spelling."""
    line = place.text.lines[place.line - 1]
    spelled = name if "_" in place.name else name.replace("_", "-")
    before = _PLAIN_KEY.fullmatch(line[: place.start])
    if before is None or _KEY_VALUE.fullmatch(place.rest) is None:
        raise NotEditable(
            "the keys beside it do not stand on lines of their own; change it by hand"
        )
    indent, quote = before["indent"].replace("-", " "), before["quote"]
    end = re.search(r"\r?\n$", line)
    newline = end[0] if end else "\n"
    whole = line if end else line + newline
    return place.text.with_line(
        place.line, f"{whole}{indent}{quote}{spelled}{quote}: {value}{newline if end else ''}"
    )


def _items(indent: str, quote: str, words: tuple[str, ...], is_joined: bool) -> list[str]:
    """List items; a value of its own is quoted, as a number there would be no text."""
    listed = _joined(words, is_joined)
    items = [f"{indent}- {quote}{listed[0]}{quote}"]
    return items + [f"{indent}- {quote or chr(34)}{word}{quote or chr(34)}" for word in listed[1:]]


def _joined(words: tuple[str, ...], is_joined: bool) -> tuple[str, ...]:
    return ("=".join(words),) if is_joined else words


def _last_line(place: Place) -> str:
    return place.text.lines[place.line - 2].rstrip("\r\n") if place.line > 1 else ""


def _lines(place: Place, new: list[str], newline: str) -> Text:
    """The text with lines before that of `place`."""
    old = place.text.lines[place.line - 1]
    return place.text.with_line(place.line, "".join(f"{each}{newline}" for each in new) + old)
