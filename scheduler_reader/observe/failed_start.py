"""Why a server ended: the exception that is the cause, and what it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scheduler_reader.knowledge.log_lines import log_lines
from scheduler_reader.observe.log_text import Line

_EXCEPTION = re.compile(
    r"^(?:\[rank\d+\]: ?)?(?P<type>(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit))(?:: (?P<message>.*))?$"
)
_USAGE = re.compile(r"^(?P<type>[\w. ]+\.py|vllm(?: serve)?|usage): error: (?P<message>.*)$")
MOST_CHARACTERS = 600


class LoggedFailure(NamedTuple):
    """The error that ended a server.  `rules`: starts of the codes of ours that foresee it."""

    error: str  # its type
    message: str
    line: int
    is_start: bool  # before the server was up
    component: str | None = None
    means: str | None = None
    change: str | None = None
    rules: tuple[str, ...] = ()


def find_failure(lines: Sequence[Line]) -> LoggedFailure | None:
    """The cause of the end of the log, or None where the server went on, or was told to stop."""
    known = log_lines()
    is_up = False
    cause: LoggedFailure | None = None
    wrapper: LoggedFailure | None = None
    for index, line in enumerate(lines):
        if known.started.search(line.text):
            is_up, cause, wrapper = True, None, None
        if known.stopping.search(line.text):
            break
        found = _EXCEPTION.match(line.text) or _USAGE.match(line.text)
        if found is None:
            continue
        error, message = found["type"], _message(lines, index, found["message"] or "")
        failure = LoggedFailure(error, message, line.number, not is_up)
        if known.wrappers.search(f"{error}: {message}"):
            wrapper = wrapper or failure
        else:
            cause = failure
    ended = cause or wrapper
    return None if ended is None else _explained(ended)


def _message(lines: Sequence[Line], index: int, first: str) -> str:
    """The text after the type; pydantic puts its own on the next line."""
    if "validation error" in first and index + 1 < len(lines):
        first = lines[index + 1].text.strip().removeprefix("Value error, ")
        first = re.sub(r"\s*\[type=.*", "", first)
    return first[:MOST_CHARACTERS]


def _explained(failure: LoggedFailure) -> LoggedFailure:
    said = f"{failure.error}: {failure.message}"
    for known in log_lines().failures:
        if known.pattern.search(said):
            return failure._replace(
                component=known.component,
                means=known.means,
                change=known.change,
                rules=known.rules,
            )
    return failure


def outside_tracebacks(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines that are no part of a traceback: it goes up to the line that names the exception."""
    inside = False
    for line in lines:
        if line.text.startswith(("Traceback (most recent call last)", "Process EngineCore")):
            inside = True
        elif inside and line.text and not line.text.startswith(" "):
            inside = False
        elif not inside:
            yield line
