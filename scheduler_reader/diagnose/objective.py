"""What is gained: goodput under an SLO, else throughput, else the worse latency tail."""

from __future__ import annotations

from typing import NamedTuple

from scheduler_reader.performance.estimate import PerformanceEstimate

WORTH_NAMING = 0.05  # the smallest gain that names a bottleneck
UNCHANGED = 0.01  # a tail that moves less than this does not count as touched
NOTHING = 0.01  # of the requests: a smaller goodput counts as this, so that gains stay finite


class Gain(NamedTuple):
    """One metric before and after; `gain` is relative and positive where after is better."""

    metric: str
    before: float
    after: float
    gain: float


def throughput_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """Output tokens a second; requests a second tell the same."""
    return _more("output_tokens_per_s", before.output_tokens_per_s, after.output_tokens_per_s, 0.0)


def goodput_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """Requests a second that meet their objectives."""
    return _more(
        "goodput_requests_per_s",
        before.goodput_requests_per_s,
        after.goodput_requests_per_s,
        NOTHING * before.requests_per_s,
    )


def capacity_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """The highest rate an open loop sustains."""
    capacity, lifted = before.capacity_requests_per_s, after.capacity_requests_per_s
    return _more("capacity_requests_per_s", capacity or 0.0, lifted or 0.0, 0.0)


def tail_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """The worse of the two latency tails: a change that helps one at the cost of the other is no
    gain, one that leaves the other alone is.
    """
    tails = [
        _less("ttft_p99_ms", before.ttft_ms.p99, after.ttft_ms.p99),
        _less("itl_p99_ms", before.itl_ms.p99, after.itl_ms.p99),
    ]
    touched = [tail for tail in tails if abs(tail.gain) >= UNCHANGED]
    return min(touched or tails, key=lambda tail: tail.gain)


def _more(metric: str, before: float, after: float, least: float) -> Gain:
    base = max(before, least)
    return Gain(metric, before, after, (after - before) / base if base > 0 else 0.0)


def _less(metric: str, before: float | None, after: float | None) -> Gain:
    if not before or not after:
        return Gain(metric, before or 0.0, after or 0.0, 0.0)
    return Gain(metric, before, after, before / after - 1)
