"""One module a format: its name is the name of the format, `render` its text of a `Report`.

A module is found by its name in this folder.  Beside `render` it may have `summary`, what a CI
system shows of a run beside its log, and `SUMMARY_VARIABLE`, which names the file that takes it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from scheduler_reader.report.report import Report


class Format(Protocol):
    """What every module of this folder has."""

    def render(self, report: Report) -> str: ...


@runtime_checkable
class Summarized(Protocol):
    """A format with a page of the job beside its text."""

    SUMMARY_VARIABLE: str

    def summary(self, report: Report) -> str: ...


@cache
def names() -> tuple[str, ...]:
    """The formats there are, in the order of their names."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


def load(name: str) -> Format:
    """The format of that name; loading one does not load the others."""
    return cast(Format, import_module(f"{__name__}.{name}"))
