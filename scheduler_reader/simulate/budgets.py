"""Token budgets of one engine side by side: what each leaves for KV blocks, and what it gets.

A budget is paid for three times: its activations take memory from the KV blocks, a step that is
full of prompt tokens needs blocks for all of them, and every running request waits for that step.
"""

from __future__ import annotations

from math import ceil

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Known, Origin, Unknown, Value
from scheduler_reader.workload import Slo, Workload

BUDGETS = (256, 512, 1024, 2048, 4096, 8192, 16384)
EQUAL = 0.01  # goodputs that differ by less are the same


class Budget(Record):
    """One value of max_num_batched_tokens.  `estimate` is None where the engine does not start."""

    tokens: int
    is_current: bool
    plan: CapacityPlan
    blocks_of_step: int  # that a step full of prompt tokens writes to
    full_step_ms: float  # of that step, with the running requests in it
    estimate: PerformanceEstimate | None


class BudgetTable(Record):
    """The budgets from small to large, and the requests they are for."""

    engine: ResolvedEngine
    workload: Workload
    slo: Slo
    block_size: int
    request_blocks: int  # of a request of mean length at its end
    least: int  # vLLM refuses a smaller budget
    least_is: str  # the setting that it must not be below
    budgets: tuple[Budget, ...]

    @property
    def right(self) -> Budget | None:
        """Of the budgets with the most goodput, the one with the earliest first token.

        None without an objective, where none meets it, and where more is offered than is served.
        """
        known = [
            (one, one.estimate)
            for one in self.budgets
            if one.estimate is not None and not one.estimate.saturated
        ]
        if not self.slo.is_set or not known:
            return None
        most = max(estimate.goodput_requests_per_s for _, estimate in known)
        if most <= 0:
            return None
        best = [
            (estimate.ttft_ms.mean, one.tokens, one)
            for one, estimate in known
            if estimate.goodput_requests_per_s >= (1 - EQUAL) * most
        ]
        return min(best)[2]


def compare_budgets(
    engine: ResolvedEngine,
    workload: Workload,
    slo: Slo,
    sizes: tuple[int, ...] = BUDGETS,
) -> Value[BudgetTable]:
    """Every budget with its own capacity plan and simulated run; unknown where no step is."""
    current, least = engine.value("max_num_batched_tokens"), _least(engine)
    if isinstance(current, Unknown):
        return current
    if isinstance(least, Unknown):
        return least
    wanted = sorted({*sizes, current.value})
    tried = [_budget(engine, workload, slo, size) for size in wanted if size >= least[0]]
    budgets = [one for one in tried if not isinstance(one, Unknown)]
    if not budgets:
        return next(
            (one for one in tried if isinstance(one, Unknown)),
            Unknown(f"all budgets are below {least[1]} ({least[0]:,}), which vLLM refuses"),
        )
    block_size = budgets[0].plan.block_size or 0
    length = workload.input_tokens.mean + workload.output_tokens.mean
    table = BudgetTable(
        engine=engine,
        workload=workload,
        slo=slo,
        block_size=block_size,
        request_blocks=ceil(length / block_size) if block_size else 0,
        least=least[0],
        least_is=least[1],
        budgets=tuple(budgets),
    )
    return Known(table, Origin("derived", "simulated runs"))


def _least(engine: ResolvedEngine) -> tuple[int, str] | Unknown:
    """The smallest budget that vLLM takes, and which setting says so.

    It is max_num_seqs, and without chunks a whole request as well (SchedulerConfig._verify_args,
    verify_max_model_len from 0.11.1 on).
    """
    chunks = engine.value("enable_chunked_prefill")
    is_whole = not isinstance(chunks, Unknown) and chunks.value is False
    found = []
    for name in ("max_num_seqs", "max_model_len") if is_whole else ("max_num_seqs",):
        value = engine.value(name)
        if isinstance(value, Unknown):
            return value
        found.append((int(value.value), name))
    return max(found)


def _budget(engine: ResolvedEngine, workload: Workload, slo: Slo, tokens: int) -> Budget | Unknown:
    is_current = tokens == engine.get("max_num_batched_tokens")
    engine = engine.with_values(max_num_batched_tokens=tokens)
    plan = plan_capacity(engine, workload)
    step = build_step_model(engine)
    if isinstance(step, Unknown):
        return step
    estimate = None
    if plan.starts is not False:
        found = simulated_estimate(engine, plan, workload, slo, is_changed=not is_current)
        if isinstance(found, Unknown):
            return found
        estimate = found.value
    running = min(estimate.running if estimate else 0.0, tokens)
    context = workload.input_tokens.mean + workload.output_tokens.mean / 2
    seconds = step.value.step_seconds(running, running * context, [(tokens - running, 0)])
    return Budget(
        tokens=tokens,
        is_current=is_current,
        plan=plan,
        blocks_of_step=ceil(tokens / plan.block_size) if plan.block_size else 0,
        full_step_ms=seconds * 1e3,
        estimate=estimate,
    )
