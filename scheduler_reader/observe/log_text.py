"""A log's lines without what container runtimes, process names and loggers put before the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_reader.record import Record

LONGEST = 20_000  # characters of a line; the longest real one is the engine's configuration

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RUNTIME = re.compile(
    r"^(?:"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s+(?:(?:stdout|stderr) [FP] )?"
    r"|(?P<service>[A-Za-z][\w.-]*)\s+\|\s"  # docker compose
    r"|\[(?P<pod>pod/[^\]\s]*)\]\s|\[rank\d+\]:?\s"  # kubectl logs --prefix, torchrun
    r"|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \S+ [\w.@-]+\[\d+\]: "  # journald
    r")"
)
_PROCESS = re.compile(r"^\((?:\w[\w@.-]*(?: pid=\d+)?(?:, ip=[\d.]+)?)\)\s?")
_BEHIND_PROGRESS = re.compile(r"\](?=\(\w[\w@.-]* pid=\d+\) )")
_LOGGER = re.compile(
    r"^(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)"
    r"(?: +(?P<clock>\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? +\[?(?:[\w./-]*/)?(?P<file>\w+\.py):\d+\]"
    r"|:\s+)"
    r" ?"
)


class Line(Record):
    """One line: its number from 1; level, file and clock (`11-29 19:22:59`) of vLLM's logger.

    `source` is the service or pod that a container runtime names before it.
    """

    number: int
    text: str
    level: str = ""
    file: str = ""
    clock: str = ""
    source: str = ""


def read_lines(text: str) -> Iterator[Line]:
    """Every line of a log, in order."""
    for number, raw in enumerate(text.split("\n"), start=1):
        yield _line(number, _COLOUR.sub("", raw[:LONGEST]).rpartition("\r")[2])


def _line(number: int, text: str) -> Line:
    source = ""
    while found := _RUNTIME.match(text) or _PROCESS.match(text):
        if not found.end():
            break
        names = found.groupdict()
        source = source or names.get("service") or names.get("pod") or ""
        text = text[found.end() :]
    text = _behind_progress(text)
    logger = _LOGGER.match(text)
    if logger is None:
        return Line(number, text.rstrip(), source=source)
    level, file, clock = logger["level"], logger["file"] or "", logger["clock"] or ""
    return Line(number, text[logger.end() :].rstrip(), level, file, clock, source)


def _behind_progress(text: str) -> str:
    """What another process prints behind a bar of progress, which has no line end of its own."""
    bar = text.find("%|")
    found = None if bar < 0 else _BEHIND_PROGRESS.search(text, bar)
    return text if found is None else _PROCESS.sub("", text[found.end() :], count=1)
