"""What one release's parser makes of an engine's arguments: typed values, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from scheduler_reader.record import Record
from scheduler_reader.value import Origin, Value

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


class FlagIssue(Record):
    """What a release's parser makes of one argument that it does not simply take."""

    kind: IssueKind
    flag: str  # as written
    message: str  # what that release does with it, in one sentence
    origin: Origin
    fatal: bool  # vLLM exits
    since: str | None = None
    until: str | None = None
    suggestion: str | None = None  # did you mean, or the replacement


class FlagReading(Record):
    """The arguments as a release reads them: argument name in snake_case → typed value.

    `unresolved` holds what no single setting can: `*extra_args` for a splice of arguments that
    the file does not say, `*invalid_arg` for an option and its value in one word.
    """

    release: str
    model: Value[str] | None
    settings: Mapping[str, Value[Any]]
    issues: tuple[FlagIssue, ...]
    unresolved: Mapping[str, str] = {}
