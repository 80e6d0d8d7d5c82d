"""One column of lengths of any JSONL or CSV file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scheduler_reader.errors import InputError


def read_column(path: str, name: str) -> Iterator[int]:
    """The token counts of one column, row by row.

    Raises `InputError` with the line where the column is missing or holds no whole number of at
    least 1, and where the file has no rows.
    """
    count = 0
    for line, row in _rows(path):
        if name not in row:
            raise InputError(f"{path}:{line}: no column {name}; there are {', '.join(row)}")
        try:
            tokens = int(row[name])
        except (TypeError, ValueError):
            tokens = 0
        if tokens < 1:
            raise InputError(f"{path}:{line}: {name} is {row[name]!r}, not a number of tokens")
        yield tokens
        count += 1
    if not count:
        raise InputError(f"{path}: no rows")


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            if Path(path).suffix.lower() == ".csv":
                yield from enumerate(csv.DictReader(file), 2)
                return
            for line, text in enumerate(file, 1):
                if text.strip():
                    yield line, _object(path, line, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


def _object(path: str, line: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise InputError(f"{path}:{line}: not a JSON object")
    return row
