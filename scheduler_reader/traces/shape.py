"""What a trace is like on the whole: how many requests, how fast, how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import sqrt

from scheduler_reader.traces.read import TraceRow


@dataclass(slots=True)
class Moments:
    """Mean and standard deviation of values seen once (Welford's recurrence)."""

    count: int = 0
    mean: float = 0.0
    _squares: float = field(default=0.0, repr=False)

    def add(self, value: float) -> None:
        self.count += 1
        away = value - self.mean
        self.mean += away / self.count
        self._squares += away * (value - self.mean)

    @property
    def std(self) -> float:
        return sqrt(self._squares / self.count) if self.count else 0.0


@dataclass(frozen=True, slots=True)
class TraceShape:
    """Lengths in tokens; `rate` in requests/s, None when the trace has no times or no duration."""

    requests: int
    rate: float | None
    prompt: Moments
    output: Moments
    hit_rate: float  # share of prompt tokens that an infinite prefix cache would have


def measure(rows: Iterable[TraceRow]) -> TraceShape:
    """Read all rows once; they are not kept."""
    prompt, output = Moments(), Moments()
    longest: dict[int, int] = {}  # prefix group -> tokens of it seen
    hits = 0
    last_s: float | None = None
    for row in rows:
        prompt.add(row.prompt_tokens)
        output.add(row.output_tokens)
        last_s = row.time_s
        if row.prefix_group is not None:
            seen = longest.get(row.prefix_group, 0)
            hits += min(seen, row.prefix_tokens)
            longest[row.prefix_group] = max(seen, row.prefix_tokens)
    rate = (prompt.count - 1) / last_s if last_s else None
    return TraceShape(prompt.count, rate, prompt, output, hits / (prompt.mean * prompt.count))
