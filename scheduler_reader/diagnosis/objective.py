"""What is gained: goodput under an SLO, else throughput, else the worse latency tail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record

WORTH_NAMING = 0.05  # the smallest gain that names a bottleneck
UNCHANGED = 0.01  # a smaller change of throughput leaves the word to the tails
GOODPUT = "goodput_requests_per_s"
FACTOR_APART = 2.0  # between the goodput of closed form and run: neither carries over to the other
NOTHING = 0.01  # of the requests: a smaller goodput counts as this, so that gains stay finite


class Gain(Record):
    """One metric before and after; `gain` is relative and positive where after is better."""

    metric: str
    before: float
    after: float
    gain: float


Measure: TypeAlias = Callable[[PerformanceEstimate, PerformanceEstimate], Gain]


def throughput_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """Output tokens a second; requests a second tell the same."""
    return _more("output_tokens_per_s", before.output_tokens_per_s, after.output_tokens_per_s, 0.0)


def goodput_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """Requests a second that meet their objectives."""
    return _more(
        GOODPUT,
        before.goodput_requests_per_s,
        after.goodput_requests_per_s,
        NOTHING * before.requests_per_s,
    )


def is_met(estimate: PerformanceEstimate) -> bool:
    """Whether more than next to nothing of the requests meets the objectives."""
    return estimate.goodput_requests_per_s > NOTHING * estimate.requests_per_s


def capacity_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """The highest rate an open loop sustains."""
    capacity, lifted = before.capacity_requests_per_s, after.capacity_requests_per_s
    return _more("capacity_requests_per_s", capacity or 0.0, lifted or 0.0, 0.0)


def tail_gain(before: PerformanceEstimate, after: PerformanceEstimate) -> Gain:
    """The worse latency tail: what is gained is how far the larger of the two comes down.

    The start-up burst of a benchmark is left out: its tail tells of the protocol.
    """
    worst, metric = _worst_tail(before)
    left, _ = _worst_tail(after)
    return Gain(metric, worst, left, worst / left - 1 if worst and left else 0.0)


def are_far_apart(goodput: float, other: float) -> bool:
    """Whether two predictions of one engine's goodput are too far apart to screen for each other."""
    return min(goodput, other) * FACTOR_APART < max(goodput, other)


def _worst_tail(estimate: PerformanceEstimate) -> tuple[float, str]:
    tails = {"steady_ttft_p99_ms": estimate.steady_ttft_p99_ms, "itl_p99_ms": estimate.itl_ms.p99}
    return max((value or 0.0, metric) for metric, value in tails.items())


def _more(metric: str, before: float, after: float, least: float) -> Gain:
    base = max(before, least)
    return Gain(metric, before, after, (after - before) / base if base > 0 else 0.0)
