"""Exact means and percentiles of values that are kept as runs, or as rising progressions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import floor, fsum

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.record import Record

FEW = 64  # values that are simply sorted


class Distribution(Record):
    """Values in rising order, each with how many values come up to and including it."""

    values: tuple[float, ...]
    up_to: tuple[int, ...]
    total: float

    @classmethod
    def of_runs(cls, runs: Iterable[tuple[float, int]]) -> Distribution:
        """From (value, count) pairs in any order; O(n log n) in the number of pairs."""
        ordered = sorted(runs)
        return cls(
            tuple(run[0] for run in ordered),
            tuple(accumulate(run[1] for run in ordered)),
            fsum(run[0] * run[1] for run in ordered),
        )

    @classmethod
    def of(cls, values: Iterable[float]) -> Distribution:
        """From single values."""
        return cls.of_runs((value, 1) for value in values)

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.up_to[-1] if self.up_to else 0

    def percentile(self, q: float) -> float:
        """The value below which a share `q` lies."""
        return _interpolated(q, self.size, self._at)

    def latency(self) -> Latency | None:
        """Mean, median and 99th percentile of seconds, in milliseconds; None without values."""
        return _latency(self.total, self.size, self._at)

    def _at(self, rank: int) -> float:
        return self.values[bisect_right(self.up_to, rank)]


class Progression(Record):
    """`steps` values, each `growth` (at least 0) above the one before, and each `weight` times."""

    first: float
    growth: float
    steps: int
    weight: int

    @property
    def last(self) -> float:
        return self.first + self.growth * (self.steps - 1)

    @property
    def total(self) -> float:
        """Their sum, each counted once."""
        return self.steps * self.first + self.growth * (self.steps * (self.steps - 1) / 2)

    def split(self, value: float) -> int:
        """How many of the steps are at most `value`."""
        if value < self.first:
            return 0
        if value >= self.last:
            return self.steps
        return min(floor((value - self.first) / self.growth) + 1, self.steps)


class Progressions(Record):
    """Values given as progressions: what is known of them costs their number, not their length."""

    parts: tuple[Progression, ...]

    def latency(self) -> Latency | None:
        """Mean, median and 99th percentile of seconds, in milliseconds; None without values."""
        total = fsum(p.weight * p.steps * (p.first + p.last) / 2 for p in self.parts)
        return _latency(total, sum(p.weight * p.steps for p in self.parts), self._at)

    def _at(self, rank: int) -> float:
        """The value of a rank: part the values at one of them, keeping the half that holds it."""
        parts = [part for part in self.parts if part.steps and part.weight]
        while sum([part.steps for part in parts]) > FEW:
            below, above = _parted(parts, _pivot(parts))
            if not below or not above:  # the pivot is at an end: part the range
                low, high = min(part.first for part in parts), max(part.last for part in parts)
                middle = (low + high) / 2
                if not low <= middle < high:
                    return low
                below, above = _parted(parts, middle)
            size = sum([part.steps * part.weight for part in below])
            parts = below if rank < size else above
            rank -= 0 if rank < size else size
        values = sorted((p.first + p.growth * i, p.weight) for p in parts for i in range(p.steps))
        for value, weight in values:
            if rank < weight:
                return value
            rank -= weight
        raise IndexError(rank)


def _pivot(parts: Sequence[Progression]) -> float:
    """About the median of the parts' middles, by a sample of them."""
    sample = parts[:: len(parts) // FEW + 1]
    middles = sorted([part.first + part.growth * (part.steps - 1) / 2 for part in sample])
    return middles[len(middles) // 2]


def _parted(
    parts: Sequence[Progression], value: float
) -> tuple[list[Progression], list[Progression]]:
    """The values that are at most `value`, and those above."""
    below, above = [], []
    for part in parts:
        first, growth, steps, weight = part
        if first > value:
            above.append(part)
            continue
        cut = steps if first + growth * (steps - 1) <= value else part.split(value)
        if cut == steps:
            below.append(part)
        else:
            below.append(Progression(first, growth, cut, weight))
            above.append(Progression(first + growth * cut, growth, steps - cut, weight))
    return below, above


def _interpolated(q: float, size: int, at: Callable[[int], float]) -> float:
    """Linear between neighbours, as numpy and vLLM's benchmark do it."""
    rank = q * (size - 1)
    below = floor(rank)
    low = at(below)
    return low + (rank - below) * (at(min(below + 1, size - 1)) - low)


def _latency(total: float, size: int, at: Callable[[int], float]) -> Latency | None:
    if not size:
        return None
    median, tail = (_interpolated(q, size, at) for q in (0.5, 0.99))
    return Latency(total / size * 1e3, median * 1e3, tail * 1e3)
