"""Estimate what a workload gets from an engine, in closed form.

The engine becomes a step model, its scheduler's limits and the requests that fit (`steady`), and
is put under the load protocol (`load`).  `in_step` False: requests of a closed loop are taken to be
out of step where they are not; their waits then tell of the engine alone, as without a burst.
"""

from __future__ import annotations

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.performance.break_even import speculation_effect
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.performance.load import OUT_OF_STEP, Load
from scheduler_reader.performance.prefix_hits import hit_rate, hit_sentences
from scheduler_reader.performance.ranges import fast_end, moved, slow_end
from scheduler_reader.performance.rhythm import Demand
from scheduler_reader.performance.served import longest_request, refused_sentences, unserved
from scheduler_reader.performance.settings import parallelism, scheduler_limits
from scheduler_reader.performance.speculation import draft_sentences
from scheduler_reader.performance.stages import with_batches
from scheduler_reader.performance.steady import Replica
from scheduler_reader.performance.step import StepModel
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin, Unknown, Value
from scheduler_reader.workload import Slo, Workload

ORIGIN = Origin("derived", "closed form of the steady state and the start-up burst")
IN_STEP = Origin("derived", "closed form of requests that stay in step, and of the start-up burst")


def estimate_performance(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    *,
    in_step: bool = True,
) -> Value[PerformanceEstimate]:
    """The best estimate with its low and high end (every step faster or slower by the spread).

    The ends of a loop in step lie as far from it as those of one that is not: rounds change by whole
    steps, not with the time of a step.
    """
    step = build_step_model(engine)
    best = expected_performance(engine, plan, workload, slo, step, in_step=in_step)
    if isinstance(step, Unknown) or isinstance(best, Unknown):
        return best
    middle: Value[PerformanceEstimate] = best
    if is_in_step(best):
        middle = estimate_out_of_step(engine, plan, workload, slo, step)
    assert isinstance(middle, Known)  # or there were no best estimate
    ends: list[PerformanceEstimate | None] = []
    models = step.value.accepting(workload.acceptance_length).ends()
    for model, as_end in zip(models, (slow_end, fast_end), strict=True):
        found = estimate_out_of_step(engine, plan, workload, slo, Known(model, step.origin))
        if isinstance(found, Unknown):
            ends.append(None)
        else:
            end = as_end(found.value, middle.value)
            ends.append(end if middle is best else moved(end, middle.value, best.value))
    assumptions = (
        *hit_sentences(engine, plan, workload),
        *draft_sentences(best.value.speculation),
        *refused_sentences(engine, plan, workload),
    )
    ranged = best.value._replace(low=ends[0], high=ends[1], assumptions=assumptions)
    return Known(ranged, best.origin)


def expected_performance(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    step: Value[StepModel] | None = None,
    *,
    in_step: bool = True,
) -> Value[PerformanceEstimate]:
    """The best estimate and what speculation does to it: a third of the work of the range."""
    step = build_step_model(engine) if step is None else step
    best = operating_estimate(engine, plan, workload, slo, step, in_step=in_step)
    if isinstance(best, Unknown):
        return best
    parts = _replica(engine, plan, workload, step)
    assert not isinstance(parts, Unknown)  # or there were no best estimate
    replica, seats, _ = parts
    effect = speculation_effect(
        replica, min(seats, best.value.running / _replicas(engine, workload)), seats
    )
    return Known(best.value._replace(speculation=effect), best.origin)


def operating_estimate(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    step: Value[StepModel] | None = None,
    *,
    in_step: bool = True,
) -> Value[PerformanceEstimate]:
    """One estimate without a range; `step` None: build the step model of the engine."""
    step = build_step_model(engine) if step is None else step
    parts = _replica(engine, plan, workload, step)
    if isinstance(parts, Unknown):
        return parts
    load = Load(*parts, _replicas(engine, workload), workload, slo)
    if workload.protocol == "open-loop":
        return Known(load.open(), ORIGIN)
    found = load.in_step() if in_step else None
    if found is not None:
        return Known(found, IN_STEP)
    notes = (OUT_OF_STEP,) if in_step and workload.keeps_in_step else ()
    result = load.closed()
    return Known(result._replace(not_modeled=(*result.not_modeled, *notes)), ORIGIN)


def estimate_out_of_step(
    engine: ResolvedEngine,
    plan: CapacityPlan,
    workload: Workload,
    slo: Slo,
    step: Value[StepModel] | None = None,
) -> Value[PerformanceEstimate]:
    """One estimate to tell limits apart by: waits of requests in step are of the benchmark, as those
    of its start-up burst are, and go where lengths vary.
    """
    return operating_estimate(engine, plan, workload, slo, step, in_step=False)


def is_in_step(estimate: Value[PerformanceEstimate]) -> bool:
    """Whether it is the closed form of requests that stay in step."""
    return estimate.origin == IN_STEP


def _replicas(engine: ResolvedEngine, workload: Workload) -> int:
    parallel = parallelism(engine)
    return workload.busy_replicas(parallel.value.data) if isinstance(parallel, Known) else 1


def _replica(
    engine: ResolvedEngine, plan: CapacityPlan, workload: Workload, step: Value[StepModel]
) -> tuple[Replica, float, float] | Unknown:
    """One replica under the workload, its seats, and the requests whose KV fits."""
    limits, parallel = scheduler_limits(engine), parallelism(engine)
    for part in (step, limits, parallel):
        if isinstance(part, Unknown):
            return part
    assert isinstance(step, Known) and isinstance(limits, Known)
    if plan.starts is False:
        reason = plan.reason.removeprefix("does not start: ")
        return Unknown(f"the engine does not start: {reason}")
    refused = unserved(engine, plan, workload)
    if refused is not None:
        return refused
    hits, longest = hit_rate(engine, plan, workload), longest_request(engine, plan)
    demand = _demand(workload, hits, longest)
    model = step.value.accepting(workload.acceptance_length)
    fitting = _fitting_requests(plan, demand, model)
    if fitting is None:
        return Unknown(f"the number of KV blocks is not known: {plan.reason}")
    seats = max(1.0, limits.value.token_budget // model.queries)
    seats = min(float(limits.value.max_num_seqs), seats, fitting)
    replica = Replica(model, limits.value, demand)
    return replica if limits.value.takes_turns else with_batches(replica, 1), seats, fitting


def _demand(workload: Workload, hits: float, longest: int | None) -> Demand:
    """A request of mean lengths; its output ends where the model's length does."""
    prompt, output = workload.input_tokens.mean, workload.output_tokens.mean
    computed = max(1.0, prompt * (1 - hits))
    if longest is not None and prompt < longest:
        output = min(output, longest - prompt)
    return Demand(prompt, computed, max(1.0, output))


def _fitting_requests(plan: CapacityPlan, demand: Demand, step: StepModel) -> float | None:
    """Requests whose KV fits at once, on average over their lives.

    A request holds its prompt and half of its output on average, and half a block that is not
    full.  Window and state layers hold less than that: there the plan's own count is taken.
    """
    is_plain = all(cost.window is None for cost in step.attention) and step.attention
    if not is_plain and plan.workload_concurrency is not None:
        return max(1.0, plan.workload_concurrency)
    if plan.num_blocks is None or plan.block_size is None:
        return None
    held = demand.mean_context_tokens + plan.block_size / 2
    return max(1.0, plan.num_blocks * plan.block_size / held)
