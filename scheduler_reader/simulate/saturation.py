"""Whether an open loop offers more than the engine sustains, by simulated runs."""

from __future__ import annotations

from scheduler_reader.performance.estimate import Latency, PerformanceEstimate
from scheduler_reader.simulate.setup import Setup
from scheduler_reader.simulate.sustained import sustained_rate
from scheduler_reader.value import Known, Origin, Unknown, Value

CAPACITY_ORIGIN = Origin("derived", "capacity by simulated runs, the rest in closed form")
TOLERANCE = 0.05  # what the search may be wrong by: short runs do not quite settle
NEAR = (0.8, 1.4)  # of the closed form's capacity: beyond it both say the same of a rate


def with_capacity(
    instant: Known[PerformanceEstimate], setup: Value[Setup], *, only_near: bool = False
) -> Known[PerformanceEstimate]:
    """The closed form's estimate with the searched capacity, and saturated or not by that one.

    As in closed form only a rate that exceeds it by more than the step model, and here the search,
    may be wrong by is called saturated.
    As it is for a closed loop, which always has an answer, and where no rate is found.
    """
    estimate = instant.value
    expected = estimate.capacity_requests_per_s
    if isinstance(setup, Unknown) or expected is None:
        return instant
    replicas, rate = setup.value.replicas, setup.value.workload.rate
    assert rate is not None
    offered = rate * replicas
    if only_near and not NEAR[0] < offered / expected < NEAR[1]:
        return instant
    found = sustained_rate(setup.value, expected / replicas)
    if found is None:
        return instant
    capacity = found * replicas
    is_saturated = offered > capacity * (1 + setup.value.step_model.spread + TOLERANCE)
    was_served = estimate.saturated and is_saturated
    ratio = capacity / expected
    estimate = (_served(estimate, ratio) if was_served else estimate)._replace(
        saturated=is_saturated,
        capacity_requests_per_s=capacity,
        queue_growth_per_s=max(0.0, offered - capacity),
        low=estimate.low and _with_end(estimate.low, ratio, offered),
        high=estimate.high and _with_end(estimate.high, ratio, offered),
    )
    return Known(estimate, CAPACITY_ORIGIN)


def without_tails(estimate: PerformanceEstimate) -> PerformanceEstimate:
    """A run that is saturated: its means are of a finite run, its tails say how long it was."""
    ends = (estimate.low, estimate.high)
    low, high = (end and without_tails(end) for end in ends)
    return estimate._replace(
        ttft_ms=Latency(estimate.ttft_ms.mean),
        itl_ms=Latency(estimate.itl_ms.mean),
        steady_ttft_p99_ms=None,
        low=low,
        high=high,
    )


def _with_end(end: PerformanceEstimate, ratio: float, offered: float) -> PerformanceEstimate:
    if end.capacity_requests_per_s is None:
        return end
    capacity = end.capacity_requests_per_s * ratio
    growth = max(0.0, offered - capacity)
    return end._replace(capacity_requests_per_s=capacity, queue_growth_per_s=growth)


def _served(estimate: PerformanceEstimate, ratio: float) -> PerformanceEstimate:
    """The rates of a saturated engine, by the ratio of the searched capacity to the expected."""
    return estimate._replace(
        output_tokens_per_s=estimate.output_tokens_per_s * ratio,
        total_tokens_per_s=estimate.total_tokens_per_s * ratio,
        requests_per_s=estimate.requests_per_s * ratio,
        goodput_requests_per_s=estimate.goodput_requests_per_s * ratio,
    )
