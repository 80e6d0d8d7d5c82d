"""The low and high end of an estimate: around it, and moved to another best estimate of the load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from scheduler_reader.performance.estimate import Latency, PerformanceEstimate

Pick: TypeAlias = Callable[[float, float], float]


def slow_end(of: PerformanceEstimate, best: PerformanceEstimate) -> PerformanceEstimate:
    """The range's end with slow steps, where that is better than `best` in nothing.

    Slower steps can serve a small load sooner: one more prompt is there when a step begins.
    """
    return _end(of, best, longer=max, fewer=min)


def fast_end(of: PerformanceEstimate, best: PerformanceEstimate) -> PerformanceEstimate:
    """The end with fast steps, where that is worse than `best` in nothing."""
    return _end(of, best, longer=min, fewer=max)


def _end(
    end: PerformanceEstimate, best: PerformanceEstimate, longer: Pick, fewer: Pick
) -> PerformanceEstimate:
    return end._replace(
        ttft_ms=_picked(longer, end.ttft_ms, best.ttft_ms),
        itl_ms=_picked(longer, end.itl_ms, best.itl_ms),
        tpot_ms=longer(end.tpot_ms, best.tpot_ms),
        output_tokens_per_s=fewer(end.output_tokens_per_s, best.output_tokens_per_s),
        total_tokens_per_s=fewer(end.total_tokens_per_s, best.total_tokens_per_s),
        requests_per_s=fewer(end.requests_per_s, best.requests_per_s),
    )


def _picked(pick: Pick, end: Latency, best: Latency) -> Latency:
    """Of each figure one; a tail that one of them does not have is that of the end."""
    pairs = ((end.p50, best.p50), (end.p99, best.p99))
    tails = (own if own is None or other is None else pick(own, other) for own, other in pairs)
    return Latency(pick(end.mean, best.mean), *tails)


def moved(
    end: PerformanceEstimate, instant: PerformanceEstimate, best: PerformanceEstimate
) -> PerformanceEstimate:
    """An end of the range around `instant`, moved to lie as far, relatively, from `best`."""
    # The ratio first: rounding must not carry an end that is as fast as `instant` past `best`.
    share = end.requests_per_s / instant.requests_per_s
    tpot_ms = _in_ratio(end.tpot_ms, instant.tpot_ms, best.tpot_ms)
    return end._replace(
        ttft_ms=_moved_latency(end.ttft_ms, instant.ttft_ms, best.ttft_ms),
        itl_ms=_moved_latency(end.itl_ms, instant.itl_ms, best.itl_ms),
        tpot_ms=end.tpot_ms if tpot_ms is None else tpot_ms,
        output_tokens_per_s=best.output_tokens_per_s * share,
        total_tokens_per_s=best.total_tokens_per_s * share,
        requests_per_s=best.requests_per_s * share,
    )


def _moved_latency(end: Latency, instant: Latency, best: Latency) -> Latency:
    mean = _in_ratio(end.mean, instant.mean, best.mean)
    return Latency(
        end.mean if mean is None else mean,
        _in_ratio(end.p50, instant.p50, best.p50),
        _in_ratio(end.p99, instant.p99, best.p99),
    )


def _in_ratio(end: float | None, instant: float | None, best: float | None) -> float | None:
    """`end` × `best` / `instant`; where one of them is not there, the end as it is."""
    if end is None or best is None or not instant:
        return end
    return end * best / instant
