"""The low and high end of an estimate, moved to another best estimate of the same load."""

from __future__ import annotations

from scheduler_reader.performance.estimate import Latency, PerformanceEstimate


def moved(
    end: PerformanceEstimate, instant: PerformanceEstimate, best: PerformanceEstimate
) -> PerformanceEstimate:
    """An end of the range around `instant`, moved to lie as far, relatively, from `best`."""
    speed = best.requests_per_s / instant.requests_per_s
    tpot_ms = _in_ratio(end.tpot_ms, instant.tpot_ms, best.tpot_ms)
    return end._replace(
        ttft_ms=_moved_latency(end.ttft_ms, instant.ttft_ms, best.ttft_ms),
        itl_ms=_moved_latency(end.itl_ms, instant.itl_ms, best.itl_ms),
        tpot_ms=end.tpot_ms if tpot_ms is None else tpot_ms,
        output_tokens_per_s=end.output_tokens_per_s * speed,
        total_tokens_per_s=end.total_tokens_per_s * speed,
        requests_per_s=end.requests_per_s * speed,
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
