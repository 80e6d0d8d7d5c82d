"""Edits of a text that leave everything beside them as it stands: comments, layout, line ends.

An option stands in a file as a word (`--max-num-seqs 64`, also in a YAML list or a JSON array) or
as the key of a mapping (`max-num-seqs: 64`).  Both are found by the place that the parser noted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scheduler_reader.value import Origin

_WORD = re.compile(r"""["']?(?P<name>--?[A-Za-z][\w.-]*)""")
_KEY = re.compile(r"""["']?(?P<name>[A-Za-z][\w.-]*)["']?[ \t]*:""")
_PLAIN_VALUE = re.compile(r"""[ \t]+(?P<value>[^\s#"'{}\[\],&*|>]+)(?=[ \t]*(#|$))""")
_LONE_WORD = re.compile(r"[ \t]*(?P<option>--?[\w.-]+)(=\S+|[ \t]+[^\s\\-]\S*)?[ \t]*\\")
_LIST_ITEM = re.compile(
    r"""[ \t]*-[ \t]+["']?(?P<option>--?[\w.-]+)(?P<inline>=[^\s"']*)?["']?[ \t]*"""
)
_LIST_VALUE = re.compile(r"""[ \t]*-[ \t]+(?!["']?-)\S+[ \t]*""")

_TRUTH = re.compile(r"""(=|[ \t]+)(true|false)\b""", re.IGNORECASE)
_LIST_TRUTH = re.compile(r"""[ \t]*-[ \t]+["']?(true|false)["']?[ \t]*""", re.IGNORECASE)


class NotEditable(Exception):  # noqa: N818 - an answer, not an error
    """The place cannot be edited safely; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text by lines, each with its own line end."""

    lines: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Text:
        return cls(tuple(re.split(r"(?<=\n)", text)))

    def __str__(self) -> str:
        return "".join(self.lines)

    def replaced(self, line: int, start: int, end: int, new: str) -> Text:
        """The text with columns `start` to `end` (from 0) of a line (from 1) replaced."""
        old = self.lines[line - 1]
        return self.with_line(line, old[:start] + new + old[end:])

    def with_line(self, line: int, new: str) -> Text:
        return Text((*self.lines[: line - 1], new, *self.lines[line:]))

    def without(self, line: int, count: int = 1) -> Text:
        return Text((*self.lines[: line - 1], *self.lines[line - 1 + count :]))


@dataclass(frozen=True, slots=True)
class Place:
    """Where an option's name stands in a text, and whether as the key of a mapping."""

    text: Text
    line: int
    start: int
    name: str
    is_key: bool

    @property
    def end(self) -> int:
        return self.start + len(self.name)

    @property
    def rest(self) -> str:
        """What follows the name on its line, without the line end."""
        return self.text.lines[self.line - 1][self.end :].rstrip("\r\n")


def find(text: Text, origin: Origin, option: str) -> Place:
    """The place of an option whose name is `option` (`--swap-space`).

    A word that comes out of a variable is looked for in the whole text.  Raises `NotEditable`
    where the file does not have it in these words: a chart's own key, a name cut short.
    """
    if origin.line is None or origin.column is None or origin.line > len(text.lines):
        raise NotEditable("its place in the file is not known; change it by hand")
    line = text.lines[origin.line - 1]
    for pattern, is_key in ((_WORD, False), (_KEY, True)):
        match = pattern.match(line, origin.column - 1)
        if match and _plain(match["name"]) == _plain(option):
            return Place(text, origin.line, match.start("name"), match["name"], is_key)
    return _only_place(text, option)


def _only_place(text: Text, option: str) -> Place:
    """Where the option's word stands, if it stands in the file once: `ARGS="--swap-space 4"`."""
    name = re.escape(_plain(option)).replace("\\-", "[-_]")
    word = re.compile(rf"(?<![\w-])--{name}(?![\w-])")
    places = [
        Place(text, number, match.start(), match[0], is_key=False)
        for number, line in enumerate(text.lines, 1)
        if not line.lstrip().startswith("#")
        for match in word.finditer(line)
    ]
    if len(places) == 1:
        return places[0]
    raise NotEditable("the file does not have it in these words; change it where it comes from")


def rename(place: Place, option: str) -> Text:
    """The text with the option's name replaced, spelled with underscores where it was."""
    head, dot, tail = option.partition(".")
    if place.is_key:
        head = head.lstrip("-")
    if "_" in place.name:
        prefix = "--" if head.startswith("--") else ""
        head = prefix + head.removeprefix("--").replace("-", "_")
    return place.text.replaced(place.line, place.start, place.end, head + dot + tail)


def set_value(place: Place, option: str, value: str) -> Text:
    """The text with another option that has a value of its own: `--mm-processor-cache-gb=0`."""
    renamed = rename(place, option)
    if not place.is_key:
        at = place.start + len(_new_name(renamed, place))
        old = re.match(r"=[^\s\"'\\]*", place.rest)
        return renamed.replaced(place.line, at, at + (old.end() if old else 0), f"={value}")
    found = _PLAIN_VALUE.match(place.rest, place.rest.index(":") + 1)
    if found is None:
        raise NotEditable("its value is not plain text on the same line; change it by hand")
    at = place.start + len(_new_name(renamed, place))
    return renamed.replaced(place.line, at + found.start("value"), at + found.end("value"), value)


def set_switch(place: Place, option: str) -> Text:
    """The text with `option` alone in place of an option and its `true` or `false`.

    As the key of a mapping it says `true`: `no-enable-chunked-prefill: true`.
    """
    if place.is_key:
        return set_value(place, option, "true")
    renamed = rename(place, option)
    at = place.start + len(_new_name(renamed, place))
    value = _TRUTH.match(place.rest)
    if value is not None:
        return renamed.replaced(place.line, at, at + value.end(), "")
    if place.line < len(renamed.lines) and _LIST_TRUTH.fullmatch(
        renamed.lines[place.line].rstrip("\r\n")
    ):
        return renamed.without(place.line + 1)
    raise NotEditable("its value does not stand beside it; change it by hand")


def remove(place: Place, has_value: bool) -> Text:
    """The text without the option: its lines, where they hold nothing else.

    Raises `NotEditable` for an option that shares its line with others.
    """
    line = place.text.lines[place.line - 1].rstrip("\r\n")
    if place.is_key:
        alone = not line[: place.start].strip(" \t'\"") and _PLAIN_VALUE.search(place.rest)
        if alone and not line.rstrip().endswith((",", "{")):
            return place.text.without(place.line)
        raise NotEditable("it does not stand on a line of its own; take it out by hand")
    if _LONE_WORD.fullmatch(line):
        return place.text.without(place.line)
    item = _LIST_ITEM.fullmatch(line)
    if item is not None:
        if not has_value or item["inline"]:
            return place.text.without(place.line)
        following = place.text.lines[place.line].rstrip("\r\n")
        if _LIST_VALUE.fullmatch(following):
            return place.text.without(place.line, 2)
    return _cut_items(place, has_value) or _cut_words(place, has_value)


def _cut_items(place: Place, has_value: bool) -> Text | None:
    """Cut `"--option", "value"` out of a list in brackets; None where it is no item of one."""
    line = place.text.lines[place.line - 1]
    quote = line[place.start - 1] if place.start and line[place.start - 1] in "\"'" else ""
    start = place.start - len(quote)
    value = r"""[ \t]*,[ \t]*("[^"]*"|'[^']*'|[^\s,\]"']+)""" if has_value else ""
    item = re.compile(rf"{quote}[\w-]+(=[^\"',\]]*{quote}|{quote}{value})")
    match, before = item.match(line, start), re.search(r"[\[,][ \t]*$", line[:start])
    if match is None or before is None:
        return None
    after = re.compile(r"[ \t]*(,[ \t]*|(?=\]))").match(line, match.end())
    if after is None:
        return None
    if not after[1] and before[0].startswith(","):
        return place.text.replaced(place.line, before.start(), match.end(), "")
    return place.text.replaced(place.line, start, after.end(), "")


def _cut_words(place: Place, has_value: bool) -> Text:
    """Cut `--option value` out of a command line, at its end with what continued the line."""
    value = r"(=[^\s\"'\\$]+|[ \t]+[^\s\"'\\$-][^\s\"'\\$]*)" if has_value else ""
    line = place.text.lines[place.line - 1]
    before = line[: place.start]
    found = re.compile(rf"{value}(?P<gap>[ \t]*)(?P<next>\S?)").match(line, place.end)
    if found is None or (before and not before.endswith((" ", "\t"))):
        raise NotEditable("it cannot be cut out of its line safely; take it out by hand")
    if found["next"] and found["gap"] and before:
        return place.text.replaced(place.line, place.start, found.end("gap"), "")
    kept = before.rstrip(" \t")
    if found["next"] not in ("", "'", '"') or found["gap"]:
        raise NotEditable("it cannot be cut out of its line safely; take it out by hand")
    if kept:
        return place.text.replaced(place.line, len(kept), found.end("gap"), "")
    return _without_last_line(place)


def _without_last_line(place: Place) -> Text:
    """The text without a line that ends a command, and without the backslash before it."""
    if place.line < 2 or place.rest.rstrip().endswith(("'", '"')):
        raise NotEditable("it cannot be cut out of its line safely; take it out by hand")
    previous = place.text.lines[place.line - 2]
    continued = re.fullmatch(r"(?s)(.*\S)[ \t]*\\([\r\n]*)", previous)
    if continued is None:
        raise NotEditable("it cannot be cut out of its line safely; take it out by hand")
    shortened = place.text.with_line(place.line - 1, continued[1] + continued[2])
    return shortened.without(place.line)


def _new_name(text: Text, place: Place) -> str:
    match = (_KEY if place.is_key else _WORD).match(text.lines[place.line - 1], place.start)
    return match["name"] if match else ""


def _plain(name: str) -> str:
    return name.lstrip("-").replace("_", "-")
