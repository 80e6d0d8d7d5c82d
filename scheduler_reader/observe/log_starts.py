"""Which lines of a file are of one start of one server, and how long that start took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.log_lines import log_lines
from scheduler_reader.observe.failed_start import find_failure
from scheduler_reader.observe.log_text import Line, read_lines
from scheduler_reader.value import Origin

LEAP_YEAR = 2000  # clocks of a log have no year


def read_start(text: str, path: str) -> tuple[int, list[Line]]:
    """How many starts of a server a log holds, and the lines of the one to read.

    That is the last one that came up or failed: a container that restarts again and again is often
    caught in the middle.  0 starts: no line is vLLM's, and all lines are given.  Raises
    `InputError` where several services or pods serve, whose lines cannot be told apart.
    """
    lines = list(read_lines(text))
    servers = sorted({line.source for line in lines if _is_engine(line)} - {""})
    if len(servers) > 1:
        raise InputError(
            f"holds the logs of several servers ({', '.join(servers)}); give that of one",
            Origin("file", path=path),
        )
    if servers:
        lines = [line for line in lines if line.source in ("", *servers)]
    starts = [[]] if not lines else _starts(lines)
    ended = [start for start in starts if _is_up(start) or find_failure(start)]
    is_vllm = any(line.file for line in lines)
    return len(starts) if is_vllm else 0, (ended or starts)[-1]


def start_s(lines: Sequence[Line]) -> float | None:
    """Seconds from the first clock of vLLM's logger to the last before the server was up."""
    clocks: list[str] = []
    for line in lines:
        if line.clock:
            clocks.append(line.clock)
        if clocks and log_lines().started.search(line.text):
            try:
                took_s = (_time(clocks[-1]) - _time(clocks[0])).total_seconds()
            except ValueError:  # no such day
                return None
            return took_s if took_s >= 0 else None  # over New Year's Eve
    return None


def _starts(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines from each line that names the server's release to the next one."""
    starts: list[list[Line]] = [[]]
    is_named = False
    for line in lines:
        if log_lines().starting.search(line.text):
            if is_named:
                starts.append([])
            is_named = True
        starts[-1].append(line)
    return starts


def _is_engine(line: Line) -> bool:
    return bool(line.source) and "LLM engine (v" in line.text


def _is_up(lines: Sequence[Line]) -> bool:
    return any(log_lines().started.search(line.text) for line in lines)


def _time(clock: str) -> datetime:
    return datetime.strptime(f"{LEAP_YEAR}-{clock}", "%Y-%m-%d %H:%M:%S")
