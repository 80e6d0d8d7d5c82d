"""The memory constants of `compat_matrix/memory.yaml` for one release, and spreads of fitted terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from packaging.version import Version

from scheduler_reader.data import documents
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.versions import Release


@dataclass(frozen=True, slots=True)
class Spread:
    """A fitted quantity: the best value, and the ends between which observations lie."""

    low: float
    best: float
    high: float

    def __add__(self, other: Spread) -> Spread:
        return Spread(self.low + other.low, self.best + other.best, self.high + other.high)

    def scaled(self, factor: float) -> Spread:
        return Spread(self.low * factor, self.best * factor, self.high * factor)

    @classmethod
    def exact(cls, value: float) -> Spread:
        return cls(value, value, value)

    @classmethod
    def largest(cls, *terms: Spread) -> Spread:
        """The larger of several at each end: terms that do not occur at the same time."""
        return cls(
            max(t.low for t in terms), max(t.best for t in terms), max(t.high for t in terms)
        )


ZERO = Spread.exact(0)


def table() -> dict[str, Any]:
    """The whole of `memory.yaml`."""
    content: dict[str, Any] = documents("compat_matrix")["memory.yaml"]
    return content


@cache
def at(name: str, release: Release) -> Any:
    """The entry of the timeline `name` that applies to a release."""
    version = release.version
    return [e for e in table()[name] if Version(str(e["since"])) <= version][-1]


def value_at(name: str, release: Release) -> Any:
    """The `value` of the entry of the timeline `name` that applies to a release."""
    return at(name, release)["value"]


def spread(numbers: list[float]) -> Spread:
    """A `[low, best, high]` of the table."""
    low, best, high = numbers
    return Spread(low, best, high)


def gib_spread(name: str) -> Spread:
    """A `[low, best, high]` of the table given in GiB, in bytes."""
    return spread(table()[name]).scaled(GIB)
