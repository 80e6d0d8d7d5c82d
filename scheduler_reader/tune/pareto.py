"""The Pareto front of throughput against the 99th percentiles of TTFT and ITL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from scheduler_reader.tune.objective import Figures

T = TypeVar("T")

CLOSE = 0.01  # figures that differ by less are one place on the front
_NONE_MS = float("inf")


def front(points: Iterable[tuple[T, Figures]]) -> list[tuple[T, Figures]]:
    """The points that none is better than, the one with the highest throughput first.

    One point is better than another where it is as good in all three figures, within one per
    cent, and better by more than that in one of them; of points that are alike the earliest is
    kept, so give those with fewer changes first.
    """
    kept: list[tuple[T, Figures]] = []
    for entry in points:
        if any(_covers(other[1], entry[1]) for other in kept):
            continue
        kept = [other for other in kept if not _covers(entry[1], other[1])]
        kept.append(entry)
    return sorted(kept, key=lambda entry: costs(entry[1]))


def thinned(entries: Sequence[T], most: int) -> list[T]:
    """At most `most` of the entries, the ends among them, evenly in between."""
    if len(entries) <= most:
        return list(entries)
    last = len(entries) - 1
    return [entries[round(i * last / (most - 1))] for i in range(most)]


def _covers(one: Figures, other: Figures) -> bool:
    return all(
        a <= b * (1 + CLOSE) if b > 0 else a <= b * (1 - CLOSE)
        for a, b in zip(costs(one), costs(other), strict=True)
    )


def costs(figures: Figures) -> tuple[float, float, float]:
    """Smaller is better in each."""
    ttft, itl = figures.get("ttft_p99_ms"), figures.get("itl_p99_ms")
    return (
        -(figures.get("output_tokens_per_s") or 0.0),
        _NONE_MS if ttft is None else ttft,
        _NONE_MS if itl is None else itl,
    )
