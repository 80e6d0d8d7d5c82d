"""What a server's log says: release, arguments, memory, KV cache, statistics, and why it ended.

The lines of each generation of vLLM are data: `compat_matrix/log_lines.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.log_lines import log_lines
from scheduler_reader.observe.failed_start import (
    LoggedFailure,
    find_failure,
    outside_tracebacks,
)
from scheduler_reader.observe.log_arguments import logged_arguments
from scheduler_reader.observe.log_starts import read_start, start_s
from scheduler_reader.observe.log_statistics import is_statistics, statistics_measures
from scheduler_reader.observe.log_text import Line, read_lines
from scheduler_reader.observe.measures import MEASURES, Measures
from scheduler_reader.observe.text import read_recorded
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin, Unknown, Value

EXPECTED = "the log of a vLLM server"
WORDS = ("version", "attention_backend", "graph_profiling", "config", "arguments")
SETTINGS = ("max_num_batched_tokens",)


class LogWarning(Record):
    """A warning and how often it was printed; `line` is the first."""

    text: str
    line: int
    times: int


class StartupLog(Record):
    """Measures by names of `MEASURES`; `settings`: argument name → what the engine runs with.

    `arguments` are those that the log calls non-default; Unknown where it does not list them.
    """

    path: str
    measures: Measures
    version: Value[str]
    arguments: Value[Mapping[str, Any]]
    settings: Mapping[str, Value[Any]]
    attention_backend: Value[str]
    warnings: tuple[LogWarning, ...]
    failure: LoggedFailure | None
    is_up: bool  # whether the server came up
    starts: int  # in the file; the last that came up or failed is the one that is read
    not_understood: tuple[int, ...]  # numbers of lines that no pattern reads or passes over


def read_startup_log(path: str) -> StartupLog:
    """What is in a log file.

    Raises `InputError` where it cannot be read, is no log of vLLM, or holds several servers' logs.
    """
    text = read_recorded(path, EXPECTED)
    log = log_reading(text, path)
    is_failure = log.failure is not None and (log.failure.component or "vllm" in text.lower())
    if not (log.measures or log.settings or is_failure or log.starts):
        raise InputError(f"no line of vLLM in it; expected {EXPECTED}", Origin("file", path=path))
    return log


def log_reading(text: str, path: str) -> StartupLog:
    """The same for text that is at hand."""
    starts, lines = read_start(text, path)
    found = _found(lines, path)
    measures: dict[str, Value[float]] = {}
    settings: dict[str, Value[Any]] = {}
    for name, value in found.items():
        if name in MEASURES:
            measures[name] = Known(float(value.value), value.origin)
        elif name in SETTINGS:
            settings[name] = Known(int(value.value), value.origin)
    measures |= statistics_measures(lines, path)
    if "config" in found:
        settings = {**_config(found["config"]), **settings}
    arguments = logged_arguments(found.get("arguments"), found.get("version"))
    _derive(found, arguments, measures)
    took_s = start_s(lines)
    if took_s is not None:
        measures["start_s"] = Known(took_s, Origin("derived", "clocks of the log", path=path))
    started = log_lines().started
    return StartupLog(
        path,
        measures,
        found.get("version", Unknown("the log does not name a release")),
        arguments,
        settings,
        found.get("attention_backend", Unknown("the log does not name a backend")),
        _warnings(lines),
        find_failure(lines),
        any(started.search(line.text) for line in lines),
        starts,
        tuple(line.number for line in _unread(lines)),
    )


def unread_lines(text: str) -> tuple[Line, ...]:
    """The lines that neither a pattern reads nor the list of those with nothing in them holds.

    Lines of a traceback and warnings count as read: they are told as such.
    """
    return _unread(read_lines(text))


def _unread(lines: Iterable[Line]) -> tuple[Line, ...]:
    known = log_lines()
    left = []
    for line in outside_tracebacks(lines):
        is_read = is_statistics(line.text) or any(
            one.pattern.search(line.text) for one in known.lines
        )
        if is_read or line.level in ("WARNING", "ERROR", "CRITICAL"):
            continue
        if line.file in known.unread_files or known.unread_texts.search(line.text):
            continue
        left.append(line)
    return tuple(left)


def _found(lines: Sequence[Line], path: str) -> dict[str, Known[Any]]:
    """The value of each group of the patterns, the one of several that counts."""
    found: dict[str, Known[Any]] = {}
    known = log_lines().lines
    for line in lines:
        for pattern, keep in known:
            match = pattern.search(line.text)
            for name, word in match.groupdict().items() if match else ():
                value = None if word is None else _typed(name, word)
                if value is None:
                    continue
                if name not in found or _counts(value, found[name].value, keep):
                    found[name] = Known(value, Origin("file", path=path, line=line.number))
    return found


def _typed(name: str, word: str) -> Any:
    """A word as it is, a number as float; None where it is none after all."""
    if name in WORDS:
        return word.strip()
    try:
        return float(word.replace(",", "").rstrip("."))
    except ValueError:
        return None


def _counts(new: Any, old: Any, keep: str) -> bool:
    """Whether a further value takes the place of the one that is there."""
    if keep == "last":
        return True
    if keep in ("min", "max"):
        return bool(new < old if keep == "min" else new > old)
    return False


def _derive(
    found: Mapping[str, Known[Any]],
    arguments: Value[Mapping[str, Any]],
    measures: dict[str, Value[float]],
) -> None:
    """Measures that stand in several lines: the block size, and memory as one sum of two."""

    def put(name: str, value: float, origin: Origin) -> None:
        measures[name] = Known(round(value, 4), origin)

    if isinstance(arguments, Known) and isinstance(size := arguments.value.get("block_size"), int):
        measures.setdefault("block_size", Known(float(size), arguments.origin))
    consumed, weights = found.get("consumed_gib"), found.get("weights_gib")
    if consumed is None:
        return
    if weights is not None and "non_torch_gib" not in found and consumed.value >= weights.value:
        put("non_torch_gib", consumed.value - weights.value, consumed.origin)
    peak, graphs = found.get("activation_gib"), found.get("graph_estimate_gib")
    is_counted = "graph_profiling" in found and peak is not None and graphs is not None
    if is_counted and peak and graphs and 0 < graphs.value < peak.value:
        put("activation_gib", peak.value - graphs.value, peak.origin)


def _config(found: Known[Any]) -> dict[str, Value[Any]]:
    """The settings that the line with the engine's whole configuration states."""
    settings: dict[str, Value[Any]] = {}
    for name, argument in log_lines().config.items():
        match = re.search(rf"(?<![\w.]){name}=('[^']*'|[^,\s)]+)", found.value)
        if match:
            word = match[1].strip("'").removeprefix("torch.")
            plain = {"True": True, "False": False, "None": None}
            value: Any = plain.get(word, int(word) if word.isdigit() else word)
            settings[argument] = Known(value, found.origin)
    return settings


def _warnings(lines: Sequence[Line]) -> tuple[LogWarning, ...]:
    """Each warning once, in order."""
    found: dict[str, LogWarning] = {}
    for line in lines:
        if line.level == "WARNING" and line.text:
            seen = found.get(line.text)
            times = 1 if seen is None else seen.times + 1
            first = line.number if seen is None else seen.line
            found[line.text] = LogWarning(line.text, first, times)
    return tuple(found.values())
