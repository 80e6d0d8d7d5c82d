"""An input that could not be read: reports list it beside what could."""

from __future__ import annotations

from typing import NamedTuple


class Unreadable(NamedTuple):
    """`message` is one line: file:line:column, what is wrong, and what to do."""

    path: str
    message: str
