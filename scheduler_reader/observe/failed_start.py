"""Why a server ended: the exception that is the cause, and what it means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from scheduler_reader.knowledge.log_lines import Failure, log_lines
from scheduler_reader.observe.log_text import Line
from scheduler_reader.record import Record

_EXCEPTION = re.compile(
    r"^(?:\[rank\d+\]: ?)?(?P<type>(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit))(?:\(\w+\))?"
    r"(?:: (?P<message>.*))?$"
)
_USAGE = re.compile(r"^(?P<type>[\w. ]+\.py|vllm(?: serve)?|usage): error: (?P<message>.*)$")
_SIGNAL = re.compile(
    r"^(?:\S+: line \d+: +\d+ )?(?P<type>Bus error|Killed|Segmentation fault)\b(?P<message>.*)$"
)
WAYS = (_EXCEPTION, _USAGE, _SIGNAL)
MOST_CHARACTERS = 600


class LoggedFailure(Record):
    """The error that ended a server.  `rules`: starts of the codes of ours that foresee it.

    An error that is not known has no component and nothing to change; `means` says so.
    """

    error: str  # its type
    message: str
    line: int
    is_start: bool  # before the server was up
    component: str | None = None
    means: str | None = None
    change: str | None = None
    rules: tuple[str, ...] = ()


def foreseen_by(failure: LoggedFailure, codes: Iterable[str]) -> tuple[str, ...]:
    """Those of the rule codes, found for the same engine, that foresee this failure."""
    return tuple(dict.fromkeys(code for code in codes if code.startswith(failure.rules)))


def find_failure(lines: Sequence[Line]) -> LoggedFailure | None:
    """The cause of the end of the log, or None where the server went on, or was told to stop.

    Of several errors the last that is known counts: what is raised while another is handled says
    more than the first, and what other processes print afterwards (an aftermath) says less.
    """
    known = log_lines()
    is_up = False
    errors: list[LoggedFailure] = []
    for index, line in enumerate(lines):
        if known.started.search(line.text):
            is_up = True
            errors.clear()
        if known.serving.search(line.text):  # an error of one request, which it survived
            errors.clear()
        if known.stopping.search(line.text) and (is_up or errors):
            break
        found = next((match for way in WAYS if (match := way.match(line.text))), None)
        if found is None or line.level == "WARNING":
            continue
        message = _message(lines, index, (found["message"] or "").strip())
        errors.append(_explained(LoggedFailure(found["type"], message, line.number, not is_up)))
    return max(reversed(errors), key=_weight, default=None)


def _weight(failure: LoggedFailure) -> int:
    """How much an error says about the cause: a known one, aftermath, an unknown one, a wrapper."""
    if _is_wrapper(failure):
        return 0
    explained = _known(failure)
    if explained is None:
        return 1
    return 2 if explained.is_aftermath else 3


def _message(lines: Sequence[Line], index: int, first: str) -> str:
    """The text after the type; pydantic puts its own on the next line."""
    if "validation error" in first and index + 1 < len(lines):
        first = lines[index + 1].text.strip().removeprefix("Value error, ")
        first = re.sub(r"\s*\[type=.*", "", first)
    return first[:MOST_CHARACTERS]


def _is_wrapper(failure: LoggedFailure) -> bool:
    return bool(log_lines().wrappers.search(f"{failure.error}: {failure.message}"))


def _known(failure: LoggedFailure) -> Failure | None:
    """What the data file says of an error; None where it is not known."""
    said = f"{failure.error}: {failure.message}"
    return next((known for known in log_lines().failures if known.pattern.search(said)), None)


def _explained(failure: LoggedFailure) -> LoggedFailure:
    if _is_wrapper(failure):
        return failure._replace(means=log_lines().wrapped_failure)
    known = _known(failure)
    if known is None:
        return failure._replace(means=log_lines().unknown_failure)
    return failure._replace(
        component=known.component, means=known.means, change=known.change, rules=known.rules
    )


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
