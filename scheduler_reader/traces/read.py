"""Read a trace row by row: JSONL or CSV, in any of the known layouts.

Rows are checked as they are read and never held, so a trace of any length takes the same memory
(but for the ids of prefix blocks, where the layout has them).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from scheduler_reader.errors import InputError
from scheduler_reader.record import Record
from scheduler_reader.traces.layouts import HASH_IDS, Layout, expected_columns, layout_of
from scheduler_reader.traces.prefixes import HashChains


class TraceRow(Record):
    """One request.  `time_s` counts from the first row; None: the trace has no times."""

    time_s: float | None
    prompt_tokens: int
    output_tokens: int
    prefix_group: int | None = None
    prefix_tokens: int = 0
    priority: int = 0


def read_trace(path: str) -> Iterator[TraceRow]:
    """The requests of a trace in order of arrival.

    Raises `InputError` with the line when a row is wrong, out of order, or there is none.
    """
    times = _Clock()
    chains = HashChains()
    count = 0
    for line, layout, fields in _rows(path):
        try:
            row = _row(layout, fields, chains, times)
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}:{line}: {error}") from None
        if row is not None:
            count += 1
            yield row
    if not count:
        raise InputError(f"{path}: no request in this trace")


class _Clock:
    """Checks that all rows have a time or none, and that time does not run backwards."""

    def __init__(self) -> None:
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._has_rows = False

    def since_start(self, time_s: float | None) -> float | None:
        if self._has_rows and (time_s is None) != (self._first_s is None):
            raise ValueError("some rows have a time and some have none")
        if not self._has_rows:
            self._first_s = self._last_s = time_s
            self._has_rows = True
        if time_s is None or self._first_s is None or self._last_s is None:
            return None
        if time_s < self._last_s:
            late_s = self._last_s - time_s
            raise ValueError(
                f"arrives {late_s:g} s before the row ahead of it; sort the trace by time"
            )
        self._last_s = time_s
        return time_s - self._first_s


def _rows(path: str) -> Iterator[tuple[int, Layout, Mapping[str, Any]]]:
    """(line, layout, fields by lower-case column) of every row; the first one tells the layout."""
    records = _csv_records if path.lower().endswith(".csv") else _json_records
    layout: Layout | None = None
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            for line, fields in records(path, file):
                if layout is None:
                    layout = layout_of(fields.keys())
                    if layout is None:
                        raise InputError(
                            f"{path}:{line}: no known trace columns; {expected_columns()}"
                        )
                yield line, layout, fields
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a trace: {error}") from None


def _csv_records(path: str, file: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv.reader(file)
    header = [name.strip().lower() for name in next(rows, [])]
    for row in rows:
        if not row:
            continue
        if len(row) != len(header):
            raise InputError(
                f"{path}:{rows.line_num}: {len(row)} columns where the header has {len(header)}"
            )
        yield rows.line_num, dict(zip(header, row, strict=True))


def _json_records(path: str, file: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(file, start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except ValueError as error:
            raise InputError(f"{path}:{line}: no JSON: {error}") from None
        if not isinstance(record, dict):
            raise InputError(f'{path}:{line}: a row is an object such as {{"input_tokens": 5, …}}')
        yield line, {str(name).lower(): value for name, value in record.items()}


def _row(
    layout: Layout, fields: Mapping[str, Any], chains: HashChains, times: _Clock
) -> TraceRow | None:
    """The request of one row; None: left out.  `ValueError` says what is wrong."""
    prompt = _count(fields, layout.prompt, least=1)
    output = _count(fields, layout.output, least=0 if layout.skips_unanswered else 1)
    if output == 0:
        return None
    time_s = times.since_start(_time(layout, fields))
    if fields.get(HASH_IDS):
        return TraceRow(time_s, prompt, output, *chains.place(fields[HASH_IDS], prompt))
    group, shared = _prefix(fields, prompt)
    return TraceRow(time_s, prompt, output, group, shared, int(fields.get("priority") or 0))


def _prefix(fields: Mapping[str, Any], prompt: int) -> tuple[int | None, int]:
    """Prefix group and shared tokens of our own columns."""
    if fields.get("prefix_group") in (None, ""):
        return None, 0
    group = _count(fields, "prefix_group", least=0)
    shared = _count(fields, "prefix_tokens", least=0)
    if shared > prompt:
        raise ValueError(f"prefix_tokens ({shared}) is more than the prompt has ({prompt})")
    return group, shared


def _count(fields: Mapping[str, Any], column: str, least: int) -> int:
    value = fields.get(column)
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if type(value) is not int:
        value = _whole(column, value)
    if value < least:
        raise ValueError(f"{column} is {value}, it must be at least {least}")
    return value


def _whole(column: str, value: Any) -> int:
    """A number that is not written as a plain integer."""
    if value in (None, ""):
        raise ValueError(f"no {column}")
    if isinstance(value, bool):
        raise ValueError(f"{column} is {value}, not a number of tokens")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{column} is {value!r}, not a number of tokens") from None
    if not isfinite(number) or number != int(number):
        raise ValueError(f"{column} is {value}, not a whole number")
    return int(number)


def _time(layout: Layout, fields: Mapping[str, Any]) -> float | None:
    """Seconds on the trace's own clock; None where the layout can do without and does."""
    value = fields.get(layout.time)
    if value in (None, ""):
        if layout.time_is_optional:
            return None
        raise ValueError(f"no {layout.time}")
    try:
        time_s = layout.time_s(value)
    except (TypeError, ValueError):
        raise ValueError(f"{layout.time} is {value!r}, not a time") from None
    if not isfinite(time_s):
        raise ValueError(f"{layout.time} is {value}, not a time")
    return time_s
