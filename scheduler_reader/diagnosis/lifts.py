"""Lift one limit at a time, and what the workload gets without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any, TypeAlias

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.verdict import Default, Kind
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown, Value
from scheduler_reader.workload import Slo, Workload

# How an engine's performance is found: the closed form, or a simulator with the same signature.
Evaluate: TypeAlias = Callable[
    [ResolvedEngine, CapacityPlan, Workload, Slo], Value[PerformanceEstimate]
]

TOKEN_BUDGETS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)


class Lifted(Record):
    """An engine without one of its limits, and what it then gets."""

    limit: str  # in words, with the value it is lifted to
    default: Default
    kind: Kind
    estimate: PerformanceEstimate
    engine: ResolvedEngine
    plan: CapacityPlan
    sets: Mapping[str, Any] | None = None  # the settings that lift it, where there are such
    binds: bool = True  # False: nobody waits for it, so nothing was lifted


class Situation(Record):
    """The engine under its workload; `base` is what it gets as it is."""

    engine: ResolvedEngine
    plan: CapacityPlan
    workload: Workload
    slo: Slo
    base: PerformanceEstimate
    evaluate: Evaluate

    @property
    def token_budget(self) -> int:
        return int(self.engine.get("max_num_batched_tokens"))

    @property
    def max_num_seqs(self) -> int:
        return int(self.engine.get("max_num_seqs"))

    @property
    def most_at_once(self) -> int:
        """How many requests of the workload can be in the engine together."""
        workload = self.workload
        return min(workload.num_requests, workload.concurrency or workload.num_requests)

    @property
    def is_chunked(self) -> bool:
        return self.engine.get("enable_chunked_prefill") is not False


def lifted_limits(situation: Situation) -> tuple[Lifted, ...]:
    """Every limit lifted alone.  Budgets that a release would refuse are not tried."""
    return (
        *_without_kv_limit(situation),
        *_without_seat_limit(situation),
        *_with_other_budgets(situation),
    )


def _without_kv_limit(situation: Situation) -> Iterator[Lifted]:
    """Where nobody waits, blocks (as seats) limit nothing: the estimate stays as it is."""
    engine, plan, base = situation.engine, situation.plan, situation.base
    if base.waiting == 0:
        yield Lifted(
            "KV blocks", "paged_attention", "kv_starvation", base, engine, plan, binds=False
        )
        return
    plan = _holding_all(situation)
    estimate = _evaluated(situation, engine, plan)
    if estimate is not None:
        yield Lifted("KV blocks", "paged_attention", "kv_starvation", estimate, engine, plan)


def _holding_all(situation: Situation) -> CapacityPlan:
    """Blocks for all that the workload has in the engine at once, at their ends: more are no gain,
    and a simulator keeps an account of each.

    Laws of lengths have no longest request; one as long as the model takes is added for them.
    """
    plan, workload = situation.plan, situation.workload
    block_size, together = plan.block_size or 1, situation.most_at_once
    length = workload.input_tokens.largest + workload.output_tokens.largest
    most = situation.engine.value("max_model_len")
    longest = length if isinstance(most, Unknown) else int(most.value)
    blocks = together * ceil(min(length, longest) / block_size) + ceil(longest / block_size) + 1
    return plan._replace(
        num_blocks=max(plan.num_blocks or 0, blocks),
        # of mean contexts, which may all have become whole requests
        workload_concurrency=max(plan.workload_concurrency or 0.0, 2.0 * together),
        starts=True,
    )


def _without_seat_limit(situation: Situation) -> Iterator[Lifted]:
    engine, plan, base = situation.engine, situation.plan, situation.base
    if base.waiting == 0:
        yield Lifted(
            "max_num_seqs",
            "continuous_batching",
            "admission_stall",
            base,
            engine,
            plan,
            binds=False,
        )
        return
    seats = min(situation.most_at_once, situation.token_budget)  # vLLM refuses more
    changes: dict[str, int | None] = {"max_num_seqs": max(situation.max_num_seqs, seats)}
    if "max_num_active_seqs" in situation.engine.settings:
        changes["max_num_active_seqs"] = None
    engine = engine.with_values(**changes)
    estimate = _evaluated(situation, engine, plan)
    if estimate is not None:
        yield Lifted(
            "max_num_seqs", "continuous_batching", "admission_stall", estimate, engine, plan
        )


def _with_other_budgets(situation: Situation) -> Iterator[Lifted]:
    current = situation.token_budget
    needed = min(situation.max_num_seqs, situation.workload.concurrency or situation.max_num_seqs)
    for budget in TOKEN_BUDGETS:
        if budget < needed or (situation.is_chunked and budget == current):
            continue
        engine = situation.engine.with_values(
            max_num_batched_tokens=budget, enable_chunked_prefill=True
        )
        estimate = _evaluated(situation, engine, situation.plan)
        if estimate is None:
            continue
        limit = f"max_num_batched_tokens {budget:,}"
        kind: Kind = "chunk_too_large" if budget < current else "chunk_too_small"
        if not situation.is_chunked:
            limit, kind = f"prefill chunked to {budget:,} tokens", "prefill_unchunked"
        sets: dict[str, Any] = {"max_num_batched_tokens": budget}
        if not situation.is_chunked:
            sets["enable_chunked_prefill"] = True
        yield Lifted(limit, "chunked_prefill", kind, estimate, engine, situation.plan, sets)


def _evaluated(
    situation: Situation, engine: ResolvedEngine, plan: CapacityPlan
) -> PerformanceEstimate | None:
    estimate: Known[PerformanceEstimate] | Unknown = situation.evaluate(
        engine, plan, situation.workload, situation.slo
    )
    return None if isinstance(estimate, Unknown) else estimate.value
