"""Read an engine's arguments as one vLLM release's own parser reads them, or as they are written.

There is one reader.  With the table of a release it does what that release does, and every
argument it does not simply take becomes a `FlagIssue`.  With the table of all releases it says
what the file says: a spelling that some release refuses still has its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from scheduler_reader.knowledge.flags import FlagTable
from scheduler_reader.knowledge.parser_behaviour import parser_behaves
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.value import Known, Origin, Unknown, Value

IssueKind = Literal[
    "unknown",  # no release knows this flag
    "removed",  # gone since an earlier release: `until` is the last that had it
    "not_yet",  # comes with a later release: `since` is the first that has it
    "ambiguous",  # a prefix of several options
    "wrong_type",  # the value does not convert
    "bad_choice",  # the value is not one of the choices
    "out_of_range",  # the value converts, and the config class refuses it
    "missing_value",  # an option that needs a value has none
    "unexpected_value",  # a switch that is given a value: --enforce-eager=false
    "stray",  # a word that belongs to no option
    "dropped",  # read and thrown away without a word: `enforce-eager: false` in a config file
    "deprecated",  # still works and says so
    "repeated",  # given twice; the last one wins
]


@dataclass(frozen=True, slots=True)
class FlagIssue:
    """What a release's parser makes of one argument that it does not simply take."""

    kind: IssueKind
    flag: str  # as written
    message: str  # what that release does with it, in one sentence
    origin: Origin
    fatal: bool  # vLLM exits
    since: str | None = None
    until: str | None = None
    suggestion: str | None = None  # did you mean, or the replacement


@dataclass(frozen=True, slots=True)
class FlagReading:
    """The arguments as a release reads them: argument name in snake_case → typed value.

    `unresolved` holds what no single setting can: `*extra_args` for a splice of arguments that
    the file does not say, `*invalid_arg` for an option and its value in one word.
    """

    release: str
    model: Value[str] | None
    settings: Mapping[str, Value[Any]]
    issues: tuple[FlagIssue, ...]
    unresolved: Mapping[str, str] = field(default_factory=dict)


def read_arguments(engine: ParsedEngine, table: FlagTable) -> FlagReading:
    """Read the arguments of an engine with the parser of `table.release`.

    With `any_release_table()` the reading is faithful to the file instead: nothing is dropped,
    no choice is checked, and options of plugins keep their own names.
    """
    from scheduler_reader.parse.argument_reader import ArgumentReader
    from scheduler_reader.parse.command_issues import model_place, unread_config
    from scheduler_reader.parse.config_words import (
        words_as_written,
        words_of_keywords,
        words_of_release,
    )

    reader = ArgumentReader(engine.entrypoint, table)
    if table.release is None:
        config = words_as_written((*engine.keywords, *engine.config))
        reader.read((*config.words, *engine.words), dotted=True)
        return reader.reading()
    lost = unread_config(engine.words, table.release)
    entries = () if lost else engine.config
    config = words_of_release(entries, table, table.release, engine.entrypoint)
    reader.issues += lost
    for entry, what in config.dropped:
        reader.issue("dropped", entry.key, what, entry.origin, fatal=False)
    dotted = parser_behaves(table.release, "dotted_keys")
    reader.read(engine.implied, dotted)
    reader.read(words_of_keywords(engine.keywords, table), dotted)
    reader.read(config.words, dotted)
    if engine.entrypoint == "serve":
        reader.issues += model_place(engine.words, table.release)
    reader.read(engine.words, dotted)
    return _checked(reader.reading())


def _checked(reading: FlagReading) -> FlagReading:
    """The reading with an issue for every value outside its limits; a refused one is unknown."""
    if all(is_plain_size(v.value) for v in reading.settings.values() if isinstance(v, Known)):
        return reading
    from scheduler_reader.parse.serve_flags import serve_flags

    _, issues = serve_flags(reading)
    beyond = {
        issue.flag.lstrip("-").replace("-", "_"): Unknown(issue.message, issue.origin)
        for issue in issues
        if issue.fatal
    }
    settings = {**reading.settings, **beyond}
    return replace(reading, settings=settings, issues=(*reading.issues, *issues))


def is_plain_size(value: object) -> bool:
    """Whether `ServeFlags`, which is slow to load, cannot refuse it: a count, or a share below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return value >= 1 if isinstance(value, int) else 0 < value < 1
