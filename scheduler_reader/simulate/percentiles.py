"""Exact means and percentiles of values that are kept as (value, count) runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from math import floor
from typing import NamedTuple

from scheduler_reader.performance.estimate import Latency


class Distribution(NamedTuple):
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
            sum(run[0] * run[1] for run in ordered),
        )

    @classmethod
    def of(cls, values: Iterable[float]) -> Distribution:
        """From single values."""
        return cls.of_runs((value, 1) for value in values)

    @property
    def count(self) -> int:  # type: ignore[override]
        return self.up_to[-1] if self.up_to else 0

    @property
    def mean(self) -> float:
        return self.total / self.count

    def percentile(self, q: float) -> float:
        """The value below which a share `q` lies, linear between neighbours (as numpy and vLLM's
        benchmark do it).
        """
        rank = q * (self.count - 1)
        below = floor(rank)
        low = self._at(below)
        return low + (rank - below) * (self._at(min(below + 1, self.count - 1)) - low)

    def latency(self) -> Latency | None:
        """Mean, median and 99th percentile of seconds, in milliseconds; None without values."""
        if not self.count:
            return None
        return Latency(self.mean * 1e3, self.percentile(0.5) * 1e3, self.percentile(0.99) * 1e3)

    def _at(self, rank: int) -> float:
        return self.values[bisect_right(self.up_to, rank)]
