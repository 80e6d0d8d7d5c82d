"""An input that could not be read: reports list it beside what could."""

from __future__ import annotations

from scheduler_reader.record import Record


class Unreadable(Record):
    """`message` is one line: file:line:column, what is wrong, and what to do."""

    path: str
    message: str
