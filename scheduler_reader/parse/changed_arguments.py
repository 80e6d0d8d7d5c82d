"""An engine with some of its arguments changed, as if its file said so.

A change is read by the release's own parser and resolved anew, so that everything that follows
from it (CUDA-graph sizes, a raised budget, a refusal) follows here too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from scheduler_reader.knowledge.flags import Flag, FlagTable, Match
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, Word
from scheduler_reader.value import Known, Origin

# Argument → value, in the order of their axes; a dotted name is a key of a JSON argument.
Changes: TypeAlias = Mapping[str, Any]

CHANGED = Origin("derived", "what if")


def with_arguments(parsed: ParsedEngine, changes: Changes, table: FlagTable) -> ParsedEngine:
    """The engine with each argument of `changes` given, and not as it was given before.

    None takes an argument out.
    """
    if not changes:
        return parsed
    values = whole_values(parsed, changes, table)
    is_call = parsed.entrypoint == "llm"
    given = () if is_call else tuple(_words(values, table))
    called = [
        ConfigEntry(name, value, CHANGED)
        for name, value in values.items()
        if is_call and value is not None
    ]
    return parsed._replace(
        words=(*_words_without(parsed.words, values, table), *given),
        implied=tuple(_words_without(parsed.implied, values, table)),
        config=tuple(_entries_without(parsed.config, values, table)),
        keywords=(*_entries_without(parsed.keywords, values, table), *called),
    )


def whole_values(parsed: ParsedEngine, changes: Changes, table: FlagTable) -> dict[str, Any]:
    """Changes by whole arguments: a key of a JSON argument is set in what is given of it."""
    values: dict[str, Any] = {}
    for name, value in changes.items():
        base, dot, key = name.partition(".")
        if not dot:
            values[name] = value
            continue
        given = values.get(base)
        if given is None:
            said = read_arguments(parsed, table).settings.get(base)
            given = said.value if isinstance(said, Known) and isinstance(said.value, dict) else {}
        values[base] = {**given, key: value}
    return values


def option_words(name: str, value: Any, table: FlagTable) -> tuple[str, ...]:
    """An argument as that release's command line takes it.

    Empty for a plain switch that is off, and for None.
    """
    if value is None:
        return ()
    flag = table.argument(name)
    option = "--" + name.replace("_", "-") if flag is None else flag.name
    if isinstance(value, bool):
        if flag is None or not flag.is_switch:
            return (f"{option}={str(value).lower()}",)
        off = negative(flag)
        return (option,) if value else (off,) if off else ()
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return option, text


def negative(flag: Flag) -> str | None:
    """The word that switches the option off, where it is one of a pair."""
    off = flag.name.replace("--", "--no-", 1)
    return off if off in flag.aliases else None


def argument_of(word: str, table: FlagTable) -> Match | None:
    """The option behind a word of a command line, or behind a key with dashes put before it."""
    found = table.find(word.partition("=")[0].partition(".")[0])
    return found if isinstance(found, Match) else None


def _words(values: Changes, table: FlagTable) -> Iterator[Word]:
    for name, value in values.items():
        for text in option_words(name, value, table):
            yield Word(text, CHANGED)


def _words_without(words: Iterable[Word], values: Changes, table: FlagTable) -> Iterator[Word]:
    """The words without the options of `values` and the value that follows each."""
    is_value = False
    for word in words:
        is_option = word.text.startswith("-") and len(word.text) > 1
        if is_value and not is_option:
            is_value = False
            continue
        is_value = False
        found = argument_of(word.text, table) if is_option else None
        if found is not None and found.flag.argument in values:
            is_value = not found.flag.is_switch and "=" not in word.text
            continue
        yield word


def _entries_without(
    entries: Iterable[ConfigEntry], values: Changes, table: FlagTable
) -> Iterator[ConfigEntry]:
    for entry in entries:
        found = argument_of("--" + entry.key.lstrip("-"), table)
        if found is None or found.flag.argument not in values:
            yield entry
