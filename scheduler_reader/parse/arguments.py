"""Read an engine's arguments as one vLLM release's own parser reads them (contract; see below)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scheduler_reader.value import Origin, Value

IssueKind = Literal[
    "unknown",  # no release knows this flag
    "removed",  # gone since an earlier release: `until` is the last that had it
    "not_yet",  # comes with a later release: `since` is the first that has it
    "ambiguous",  # a prefix of several options
    "wrong_type",  # the value does not convert
    "bad_choice",  # the value is not one of the choices
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
    """The arguments as a release reads them: argument name in snake_case → typed value."""

    release: str
    model: Value[str] | None
    settings: Mapping[str, Value[Any]]
    issues: tuple[FlagIssue, ...]
