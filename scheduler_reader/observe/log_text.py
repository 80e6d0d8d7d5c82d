"""A log's lines without what container runtimes, process names and loggers put before the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 20_000  # characters of a line; the longest real one is the engine's configuration

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RUNTIME = re.compile(
    r"^(?:"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s+(?:(?:stdout|stderr) [FP] )?"
    r"|[A-Za-z][\w.-]*\s+\|\s"  # docker compose
    r"|\[(?:pod|rank)[^\]\s]*\]:?\s"  # kubectl logs --prefix, torchrun
    r"|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \S+ [\w.@-]+\[\d+\]: "  # journald
    r")"
)
_PROCESS = re.compile(r"^\((?:\w[\w@.-]*(?: pid=\d+)?(?:, ip=[\d.]+)?)\)\s?")
_LOGGER = re.compile(
    r"^(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)"
    r"(?: +\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? +\[?(?:[\w./-]*/)?(?P<file>\w+\.py):\d+\]"
    r"|:\s+)"
    r" ?"
)


class Line(NamedTuple):
    """One line: its number from 1, the level and file of vLLM's logger where it has them."""

    number: int
    text: str
    level: str = ""
    file: str = ""


def read_lines(text: str) -> Iterator[Line]:
    """Every line of a log, in order."""
    for number, raw in enumerate(text.split("\n"), start=1):
        yield _line(number, _COLOUR.sub("", raw[:LONGEST]).rpartition("\r")[2])


def _line(number: int, text: str) -> Line:
    while found := _RUNTIME.match(text) or _PROCESS.match(text):
        if not found.end():
            break
        text = text[found.end() :]
    logger = _LOGGER.match(text)
    if logger is None:
        return Line(number, text.rstrip())
    return Line(number, text[logger.end() :].rstrip(), logger["level"], logger["file"] or "")
