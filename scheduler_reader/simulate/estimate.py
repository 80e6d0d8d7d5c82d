"""The performance estimate from a simulated run of the workload.

The run gives what a client would measure: its latencies, its rates, its queue.  The closed form
gives the rest (the floor, where the time goes, the capacity), the range, and the whole answer
where a run would be slow or cannot be made.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.errors import UsageError
from scheduler_reader.performance import estimate_out_of_step, estimate_performance
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.performance.ranges import moved
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.drafts import in_tokens, objectives
from scheduler_reader.simulate.event_driven import is_plain
from scheduler_reader.simulate.failure import LongRunError
from scheduler_reader.simulate.metrics import Metrics, measure
from scheduler_reader.simulate.percentiles import Distribution
from scheduler_reader.simulate.result import RequestRecord, SimulationResult
from scheduler_reader.simulate.saturation import (
    CAPACITY_ORIGIN,
    with_capacity,
    without_tails,
)
from scheduler_reader.simulate.service import runnable, serve
from scheduler_reader.simulate.setup import Setup, set_up
from scheduler_reader.value import Known, Origin, Unknown, Value
from scheduler_reader.workload import Slo, Workload

ORIGIN = Origin("derived", "simulated run of the workload")
MOST_REQUESTS = 8_000  # a run of them takes less than a second
MOST_WORK = 250_000  # the same for what the exact scheduler decides (`stepwise.run_stepwise`)
ENDS_APART = 2.0  # steps: with ends as close, few are made at once
TOO_LONG = "the exact scheduler would have too much to decide"
MOST_WORK_OF_A_LIFT = 60_000  # up to three lifts are run beside the engine as it is


def simulated_estimate(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    *,
    is_changed: bool = False,
) -> Value[PerformanceEstimate]:
    """The estimate by simulation; in closed form, with the reason among `not_modeled`, where the run
    would be too long.

    An open loop above the capacity is saturated: it has the capacity, and no tail.  The capacity is
    searched by runs too (`sustained`); of an engine that `is_changed` for comparison only where the
    rate is near it.
    """
    instant = estimate_performance(engine, plan, workload, slo, in_step=False)
    if isinstance(instant, Unknown):
        return instant
    setup = set_up(engine, plan, workload)
    instant = with_capacity(instant, setup, only_near=is_changed)
    if instant.value.saturated and instant.value.ttft_ms.p99 is None:
        # latencies of saturation would say how long the run was, nothing else
        return Known(without_tails(instant.value), instant.origin)
    found = _simulated(instant.value, setup, slo, MOST_WORK)
    if isinstance(found, Unknown):
        if workload.protocol == "closed-loop":
            instant = estimate_performance(engine, plan, workload, slo)
            assert isinstance(instant, Known)  # as above
        found = _unsimulated(instant, found.reason)
    return Known(without_tails(found.value), found.origin) if found.value.saturated else found


def is_simulated(estimate: Value[PerformanceEstimate]) -> bool:
    """Whether the figures are those of a run (of saturation the capacity), not the closed form's."""
    if isinstance(estimate, Unknown):
        return False
    is_saturation = estimate.origin == CAPACITY_ORIGIN and estimate.value.saturated
    return estimate.origin == ORIGIN or is_saturation


def simulated_lift(
    engine: ResolvedEngine, plan: CapacityPlan, workload: Workload, slo: Slo
) -> Value[PerformanceEstimate]:
    """A run of the workload without one of the engine's limits, with less work than the engine's
    own; unknown, with the reason, where there is none.
    """
    instant = estimate_out_of_step(engine, plan, workload, slo)
    if isinstance(instant, Unknown):
        return instant
    if instant.value.saturated:
        return Unknown("more is offered than the engine sustains")
    return _simulated(instant.value, set_up(engine, plan, workload), slo, MOST_WORK_OF_A_LIFT)


def _simulated(
    instant: PerformanceEstimate, setup: Value[Setup], slo: Slo, most_work: float
) -> Value[PerformanceEstimate]:
    """The closed form's estimate with the figures of a run, or why there is no run."""
    if isinstance(setup, Unknown):
        return setup
    count = setup.value.workload.num_requests
    if count > MOST_REQUESTS:
        return Unknown(f"{count:,} requests are more than {MOST_REQUESTS:,}")
    if _least_work(setup.value, instant.running) > most_work:
        return Unknown(TOO_LONG)
    try:
        result = serve(*runnable(setup.value), most_work=most_work)
    except LongRunError:
        return Unknown(TOO_LONG)
    except UsageError as error:
        return Unknown(str(error))
    unit = setup.value.step_model.acceptance
    metrics = measure(result, objectives(slo, unit), frontend_s=setup.value.frontend_s)
    metrics = in_tokens(metrics, unit)
    if metrics.unfinished or metrics.ttft_ms is None:
        return Unknown("some requests are never scheduled")
    return Known(_merged(instant, result, metrics, setup.value), ORIGIN)


def _least_work(setup: Setup, running: float) -> float:
    """What the exact scheduler decides at least: each token by itself, where no two steps are alike.

    So it is with outputs that differ, of which one ends about every step.  0.0 where runs go from event
    to event, or many steps may be made at once.
    """
    workload = setup.workload
    steps = workload.output_tokens.mean / setup.step_model.acceptance  # of a request
    ends_apart = steps * setup.replicas / max(1.0, running)
    if is_plain(setup.config) or workload.output_tokens.std == 0 or ends_apart >= ENDS_APART:
        return 0.0
    return workload.num_requests * steps


def _unsimulated(instant: Known[PerformanceEstimate], reason: str) -> Known[PerformanceEstimate]:
    notes = (*instant.value.not_modeled, f"closed form, not simulated: {reason}")
    return Known(instant.value._replace(not_modeled=notes), instant.origin)


def _merged(
    instant: PerformanceEstimate, result: SimulationResult, metrics: Metrics, setup: Setup
) -> PerformanceEstimate:
    """The run's figures in place of the closed form's; the range keeps its relative distances."""
    records, whole = result.records, metrics.times(setup.replicas)
    assert whole.ttft_ms is not None
    tpot_ms = instant.tpot_ms if whole.tpot_ms is None else whole.tpot_ms.mean
    best = instant._replace(
        ttft_ms=whole.ttft_ms,
        itl_ms=whole.itl_ms or instant.itl_ms,
        tpot_ms=tpot_ms,
        output_tokens_per_s=whole.output_tokens_per_s,
        total_tokens_per_s=whole.total_tokens_per_s,
        requests_per_s=whole.requests_per_s,
        goodput_requests_per_s=whole.goodput_requests_per_s,
        running=fsum(map(_seconds_running, records)) / result.duration_s * setup.replicas,
        waiting=fsum(map(_seconds_waiting, records)) / result.duration_s * setup.replicas,
        preemptions_per_request=result.preemptions / len(records),
        steady_ttft_p99_ms=_steady_p99_ms(records, setup),
    )
    low = instant.low and moved(instant.low, instant, best)
    high = instant.high and moved(instant.high, instant, best)
    return best._replace(low=low, high=high)


def _seconds_running(record: RequestRecord) -> float:
    assert record.finished_s is not None and record.admitted_s is not None
    return record.finished_s - record.admitted_s


def _seconds_waiting(record: RequestRecord) -> float:
    assert record.admitted_s is not None
    return record.admitted_s - record.arrival_s


def _steady_p99_ms(records: Sequence[RequestRecord], setup: Setup) -> float | None:
    """TTFT that 99 of 100 requests stay within, without those sent together at the start."""
    is_burst = setup.workload.protocol == "closed-loop" and setup.workload.start == "burst"
    waits = [
        record.first_token_s - record.arrival_s
        for record in records
        if record.first_token_s is not None and not (is_burst and record.arrival_s == 0)
    ]
    return (Distribution.of(waits).percentile(0.99) + setup.frontend_s) * 1e3 if waits else None
