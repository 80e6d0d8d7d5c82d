"""What lines of a vLLM server's log mean: `compat_matrix/log_lines.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.record import Record


class LogLine(Record):
    """A pattern with named groups, and which of several values of them counts."""

    pattern: re.Pattern[str]
    keep: str  # first, last, min, max


class Failure(Record):
    """What an error of the start means; `rules`: starts of the codes that foresee it.

    An aftermath is what other processes print when one has failed: a cause beside it counts more.
    """

    pattern: re.Pattern[str]
    component: str
    means: str
    change: str
    rules: tuple[str, ...]
    is_aftermath: bool


class LogLines(Record):
    """Everything known about the lines, compiled."""

    lines: tuple[LogLine, ...]
    statistics: tuple[re.Pattern[str], ...]
    config: Mapping[str, str]
    starting: re.Pattern[str]
    started: re.Pattern[str]
    stopping: re.Pattern[str]
    serving: re.Pattern[str]
    wrappers: re.Pattern[str]
    failures: tuple[Failure, ...]
    unknown_failure: str  # what is said of an error that is not known
    wrapped_failure: str  # and of one of `wrappers` that stands alone
    unread_files: frozenset[str]
    unread_texts: re.Pattern[str]


@cache
def log_lines() -> LogLines:
    """The data file as patterns."""
    known: Any = documents("compat_matrix", "log_lines.yaml")["log_lines.yaml"]
    return LogLines(
        lines=tuple(LogLine(re.compile(one["pattern"]), one["keep"]) for one in known["lines"]),
        statistics=tuple(re.compile(one["pattern"]) for one in known["statistics"]),
        config=known["config"],
        starting=_any(known["starting"]),
        started=_any(known["started"]),
        stopping=_any(known["stopping"]),
        serving=_any(known["serving"]),
        wrappers=_any(known["wrappers"]),
        failures=tuple(
            Failure(
                re.compile(one["pattern"]),
                one["component"],
                one["means"],
                one["change"],
                tuple(one["rules"]),
                one.get("aftermath", False),
            )
            for one in known["failures"]
        ),
        unknown_failure=known["unknown_failure"],
        wrapped_failure=known["wrapped_failure"],
        unread_files=frozenset(known["not_read"]["files"]),
        unread_texts=_any(known["not_read"]["texts"]),
    )


def _any(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
