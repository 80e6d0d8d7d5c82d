"""Values that know where they come from, and values that are not known.

Every stage shares these types.  A value is either `Known`, with its `Origin`, or `Unknown`, with
the reason in words a user can act on.  What is computed from an unknown value is unknown too, for
the same reason; nothing in between is ever guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from scheduler_reader.record import Record

T = TypeVar("T")
R = TypeVar("R")

OriginKind = Literal[
    "file",  # written in a file that was read: path, line and column are set
    "command line",  # an argument after `--` of our own command line
    "option",  # an option of sched-reader itself, or its settings file
    "environment",  # an environment variable of the engine's process
    "vllm default",  # what that vLLM release takes when nobody says anything
    "derived",  # computed by vLLM, or by us, from other values
    "catalogue",  # compat_matrix/: a GPU or model fact
    "assumed",  # nobody says it: assumed, and reported as an assumption
]


class Origin(Record):
    """Where a value comes from.  `line` and `column` count from 1."""

    kind: OriginKind
    detail: str = ""
    path: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """`serve.yaml:12:3`, or a phrase such as `default of vLLM 0.18.0`."""
        place = self.place
        if place and self.detail:
            return f"{place} ({self.detail})"
        return place or self.detail or self.kind

    @property
    def place(self) -> str:
        """`path:line:column` as far as it is known, or an empty string."""
        if self.path is None:
            return ""
        parts = [self.path]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A value and its origin."""

    value: T
    origin: Origin

    def __reduce__(self) -> tuple[type, tuple[T, Origin]]:
        # Hundreds of an engine travel from a process of `check --jobs`: the way of dataclasses is slower.
        return Known, (self.value, self.origin)


@dataclass(frozen=True, slots=True)
class Unknown:
    """No value, and why: `$TP is not set in the file`."""

    reason: str
    origin: Origin | None = None


Value: TypeAlias = Known[T] | Unknown


def derive(
    function: Callable[..., R], *values: Known[Any] | Unknown, detail: str = ""
) -> Known[R] | Unknown:
    """Apply `function` to the values behind `values`; the first unknown one wins instead."""
    arguments = []
    for value in values:
        if isinstance(value, Unknown):
            return value
        arguments.append(value.value)
    return Known(function(*arguments), Origin("derived", detail))
