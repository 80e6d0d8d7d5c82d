"""Histograms of Prometheus: means, and quantiles with the width of the bucket they fall into."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite, isnan

from scheduler_reader.observe.exposition import Page
from scheduler_reader.record import Record
from scheduler_reader.value import Unknown


class Quantile(Record):
    """A value interpolated within its bucket; it lies anywhere in the bucket's `width`."""

    value: float
    width: float


class Histogram(Record):
    """Cumulative counts by upper bound (the last one infinite), and the sum of the values."""

    bounds: tuple[float, ...]
    up_to: tuple[float, ...]
    total: float

    @property
    def size(self) -> float:
        return self.up_to[-1] if self.up_to else 0.0

    @property
    def mean(self) -> float | Unknown:
        return self.total / self.size if self.size > 0 else _EMPTY

    def since(self, before: Histogram) -> Histogram | Unknown:
        """What was added after an earlier look at the same histogram."""
        if before.bounds != self.bounds:
            return Unknown("the buckets of the two pages differ: not of one server")
        added = tuple(now - then for now, then in zip(self.up_to, before.up_to, strict=True))
        if min(added, default=0.0) < 0:
            return Unknown("counts fall from the first page to the second: the server restarted")
        return Histogram(self.bounds, added, self.total - before.total)

    def quantile(self, share: float) -> Quantile | Unknown:
        """Interpolated linearly within its bucket, as PromQL's `histogram_quantile` does it."""
        if self.size <= 0:
            return _EMPTY
        rank, below, low = share * self.size, 0.0, 0.0
        for bound, up_to in zip(self.bounds, self.up_to, strict=True):
            if up_to >= rank and up_to > below:
                if not isfinite(bound):
                    return Unknown(f"lies above the largest bucket of the histogram ({low:g})")
                part = (rank - below) / (up_to - below)
                return Quantile(low + (bound - low) * part, bound - low)
            below, low = up_to, bound
        return _EMPTY


_EMPTY = Unknown("no value was recorded in it")


def histogram(page: Page, name: str) -> Histogram | None:
    """The histogram of that name, all engines together; None where the page has none."""
    counts: dict[float, float] = {}
    for sample in page.samples.get(f"{name}_bucket", ()):
        try:
            bound = float(sample.labels.get("le", "nan"))
        except ValueError:
            continue
        counts[bound] = counts.get(bound, 0.0) + sample.value
    bounds = sorted(bound for bound in counts if not isnan(bound))
    if not bounds or bounds[-1] != inf:
        return None
    return Histogram(
        tuple(bounds),
        tuple(counts[bound] for bound in bounds),
        total(page.samples.get(f"{name}_sum", ())),
    )


def total(samples: Iterable[tuple[object, float]]) -> float:
    """The sum of the samples' finite values."""
    return sum(value for _, value in samples if isfinite(value))
