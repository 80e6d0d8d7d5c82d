"""An upgrade in this deployment's numbers: memory, KV blocks and what requests see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.performance import estimate_performance
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.upgrade.changes import Change
from scheduler_reader.value import Unknown, Value

VISIBLE = 0.005  # a smaller relative change is not worth a line


def metrics_of(plan: CapacityPlan, estimate: Value[PerformanceEstimate]) -> dict[str, float | None]:
    """The numbers that are compared, by name; None where the stages could not say."""
    metrics: dict[str, float | None] = {
        "num_blocks": plan.num_blocks,
        "kv_cache_tokens": plan.kv_cache_tokens,
        "max_concurrency": plan.max_concurrency,
        "largest_max_model_len": plan.largest_max_model_len,
    }
    if plan.memory is not None:
        memory = plan.memory
        metrics |= {
            "memory_budget_gib": memory.budget / GIB,
            "activation_gib": memory.activation / GIB,
            "cuda_graph_gib": memory.cuda_graphs / GIB,
            "kv_cache_gib": memory.kv_cache / GIB,
        }
    if isinstance(estimate, Unknown):
        return metrics
    found = estimate.value
    return metrics | {
        "ttft_ms.mean": found.ttft_ms.mean,
        "ttft_ms.p99": found.ttft_ms.p99,
        "itl_ms.mean": found.itl_ms.mean,
        "itl_ms.p99": found.itl_ms.p99,
        "output_tokens_per_s": found.output_tokens_per_s,
    }


def changes_between(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> dict[str, Change]:
    """The numbers known on both sides that differ visibly."""
    changes = {}
    for name, new in after.items():
        old = before.get(name)
        if old is not None and new is not None and abs(new - old) > VISIBLE * abs(old):
            changes[name] = Change(old, new)
    return changes


def effect_of(after: Assessment, name: str, earlier: Any) -> dict[str, Change]:
    """What one setting's move does in the later release, all else as it is there."""
    engine = after.engine.with_values(**{name: earlier})
    plan = plan_capacity(engine, after.workload)
    estimate = estimate_performance(engine, plan, after.workload, after.slo)
    return changes_between(
        metrics_of(plan, estimate), metrics_of(after.capacity, after.performance)
    )
