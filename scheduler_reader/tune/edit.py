"""The user's file with settings changed: comments and layout stay, and the result is read again.

An edit is an attempt.  It stays only if the file then reads as the engine with the change, and
every other engine of the file as before; so a guess about a form can fail, but not go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.flags import FlagTable, flag_table
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.changed_arguments import argument_of, negative, with_arguments
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.record import Record
from scheduler_reader.tune.insert import appended_words, inserted_option, inserted_words
from scheduler_reader.upgrade.text_edit import (
    NotEditable,
    Place,
    Text,
    find,
    remove,
    rename,
    set_switch,
)
from scheduler_reader.upgrade.text_value import replace_at, replace_number, replace_value
from scheduler_reader.value import Known, Origin

MOST_ANCHORS = 8
NOT_PLAIN = "its value is not plain text in the file; change it where it comes from"
NO_PLACE = "the file has no place for it that can be edited safely; change it by hand"


class Edited(Record):
    """The new text, and what could not be changed in it: the settings and the reason."""

    text: str
    left: tuple[tuple[Mapping[str, Any], str], ...]


class _Wish(Record):
    """One argument to set, as a release takes it, or to take out (None)."""

    name: str
    value: Any
    table: FlagTable

    @property
    def base(self) -> str:
        """The whole argument, where the name is a key of a JSON one."""
        return self.name.partition(".")[0]

    @property
    def change(self) -> dict[str, Any]:
        return {self.name: self.value}


def edited(
    text: str, path: str, number: int, changes: Sequence[Mapping[str, Any]], release: Release
) -> Edited:
    """The text of a file with changes made to its engine `number`, each whole or not at all."""
    table = flag_table(release)
    left = []
    for change in changes:
        try:
            text = _with_change(text, path, number, change, table)
        except NotEditable as why:
            left.append((change, str(why)))
    return Edited(text, tuple(left))


def _with_change(
    text: str, path: str, number: int, change: Mapping[str, Any], table: FlagTable
) -> str:
    for name, value in change.items():
        engine = parse_text(text, path).engines[number]
        wish = _Wish(name, value, table)
        for attempt in _attempts(Text.of(text), path, engine, wish):
            if _reads_right((text, attempt), path, number, wish):
                text = attempt
                break
        else:
            raise NotEditable(NOT_PLAIN if _given(engine, wish) else NO_PLACE)
    return text


def _attempts(text: Text, path: str, engine: ParsedEngine, wish: _Wish) -> Iterator[str]:
    """Texts that may be right, the most natural one first."""
    value, table = wish.value, wish.table
    key = wish.name.partition(".")[2]
    if key:
        yield from _tried(replace_number, text, key, value)
        return
    given = _given(engine, wish)
    for origin, written in given:
        if origin.path == path:
            yield from _replaced(text, origin, written, wish)
    said = read_arguments(engine, table).settings.get(wish.base)
    is_plain = value is not None and not isinstance(value, bool)
    if isinstance(said, Known) and said.origin.path == path and is_plain:
        yield from _tried(replace_at, text, said.origin, said.value, str(value))
    if given or value is None:
        return
    for place in _anchors(text, path, engine):
        if not place.is_key:
            yield from _tried(inserted_words, place, wish.base, value, table)
            continue
        for key_name, shown in _as_keys(wish):
            yield from _tried(inserted_option, place, key_name, shown)
    for word in reversed(engine.words):
        if word.origin.path == path:
            yield from _tried(appended_words, text, word, wish.base, value, table)
            return


def _replaced(text: Text, origin: Origin, written: str, wish: _Wish) -> Iterator[str]:
    """The option where it stands with another value, or the other word of its pair."""
    try:
        place = find(text, origin, written)
    except NotEditable:
        return
    flag = wish.table.argument(wish.name)
    if wish.value is None:
        yield from _tried(remove, place, flag is None or not flag.is_switch)
        return
    if not isinstance(wish.value, bool):
        yield from _tried(replace_value, place, str(wish.value))
        return
    if place.is_key:
        yield from _tried(replace_value, place, str(wish.value).lower())
    if flag is None:
        return
    word = flag.name if wish.value else negative(flag)
    if word is not None:
        yield from _tried(set_switch, place, word)
        yield from _tried(rename, place, word)
    elif not wish.value:
        yield from _tried(remove, place, False)


def _given(engine: ParsedEngine, wish: _Wish) -> list[tuple[Origin, str]]:
    """Where the argument is given, and its option or key as written; what wins comes first."""
    written = [(entry.origin, entry.key) for entry in (*engine.keywords, *engine.config)]
    written += _options(engine)
    found = []
    for origin, name in written:
        match = argument_of("--" + name.lstrip("-") if name[:1] != "-" else name, wish.table)
        if match is not None and match.flag.argument == wish.base:
            found.append((origin, name))
    return found[::-1]


def _anchors(text: Text, path: str, engine: ParsedEngine) -> list[Place]:
    """Options of the engine that the file has in so many words, the last ones first."""
    written = [(entry.origin, entry.key) for entry in (*engine.keywords, *engine.config)]
    places: list[Place] = []
    for origin, name in reversed([*written, *_options(engine)]):
        if origin.path != path or len(places) >= MOST_ANCHORS:
            continue
        try:
            places.append(find(text, origin, name))
        except NotEditable:
            continue
    return places


def _options(engine: ParsedEngine) -> list[tuple[Origin, str]]:
    """The options of the command line, each with its place."""
    return [
        (word.origin, word.text.partition("=")[0])
        for word in engine.words
        if word.text.startswith("-") and len(word.text) > 1
    ]


def _as_keys(wish: _Wish) -> list[tuple[str, str]]:
    """Key and value for a mapping; a `false` that a release drops also as the other of a pair."""
    base, value = wish.base, wish.value
    if not isinstance(value, bool):
        return [(base, str(value))]
    flag = wish.table.argument(base)
    off = negative(flag) if flag is not None and not value else None
    keys = [(base, str(value).lower())]
    return [*keys, (off.lstrip("-").replace("-", "_"), "true")] if off else keys


def _tried(attempt: Callable[..., Text], *arguments: Any) -> Iterator[str]:
    """The text of an attempt, or nothing where it cannot be made."""
    try:
        yield str(attempt(*arguments))
    except NotEditable:
        return


def _reads_right(texts: tuple[str, str], path: str, number: int, wish: _Wish) -> bool:
    """Whether the second text reads as the first one with the wish, and nothing else."""
    before, after = texts
    if after == before:
        return False
    try:
        old, new = parse_text(before, path).engines, parse_text(after, path).engines
    except InputError:
        return False
    if len(old) != len(new):
        return False
    return all(
        _said(two, wish.table)
        == _said(with_arguments(one, wish.change, wish.table) if at == number else one, wish.table)
        for at, (one, two) in enumerate(zip(old, new, strict=True))
    )


def _said(engine: ParsedEngine, table: FlagTable) -> tuple[object, ...]:
    """Everything an engine says, without the places."""
    reading = read_arguments(engine, table)
    settings = {
        name: value.value if isinstance(value, Known) else value.reason
        for name, value in reading.settings.items()
    }
    fatal = sorted((issue.flag, issue.kind) for issue in reading.issues if issue.fatal)
    model = reading.model
    return settings, fatal, model.value if isinstance(model, Known) else None
