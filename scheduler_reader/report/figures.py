"""The figures of an engine as JSON: what fills its memory, and what the load gets."""

from __future__ import annotations

from typing import Any

from scheduler_reader.capacity.plan import CapacityPlan, KvRange, MemoryTerms
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.performance.estimate import (
    Latency,
    PerformanceEstimate,
    SpeculationEffect,
)


def capacity(plan: CapacityPlan) -> dict[str, Any]:
    return {
        "starts": plan.starts,
        "reason": plan.reason,
        **_memory_gib(plan.memory),
        "kv_bytes_per_token": plan.kv_bytes_per_token,
        "block_size": plan.block_size,
        "num_blocks": plan.num_blocks,
        "kv_cache_tokens": plan.kv_cache_tokens,
        "max_concurrency": plan.max_concurrency,
        "largest_max_model_len": plan.largest_max_model_len,
        "workload_concurrency": plan.workload_concurrency,
        "low": plan.low and _kv_range(plan.low),
        "high": plan.high and _kv_range(plan.high),
        "remedies": [
            {
                "set": remedy.changes,
                "largest_max_model_len": remedy.largest_max_model_len,
            }
            for remedy in plan.remedies
        ],
    }


def _memory_gib(memory: MemoryTerms | None) -> dict[str, float | None]:
    terms = {
        "total_gib": "total",
        "budget_gib": "budget",
        "weights_gib": "weights",
        "activation_gib": "activation",
        "cuda_graph_gib": "cuda_graphs",
        "non_torch_gib": "non_torch",
        "other_processes_gib": "others",
        "kv_cache_gib": "kv_cache",
    }
    return {
        name: None if memory is None else getattr(memory, term) / GIB
        for name, term in terms.items()
    }


def _kv_range(end: KvRange) -> dict[str, Any]:
    return {
        "kv_cache_gib": end.kv_cache_bytes / GIB,
        "num_blocks": end.num_blocks,
        "kv_cache_tokens": end.kv_cache_tokens,
    }


def performance(estimate: PerformanceEstimate) -> dict[str, Any]:
    return {
        "ttft_ms": _latency(estimate.ttft_ms),
        "itl_ms": _latency(estimate.itl_ms),
        "tpot_ms": estimate.tpot_ms,
        "output_tokens_per_s": estimate.output_tokens_per_s,
        "total_tokens_per_s": estimate.total_tokens_per_s,
        "requests_per_s": estimate.requests_per_s,
        "goodput_requests_per_s": estimate.goodput_requests_per_s,
        "saturated": estimate.saturated,
        "capacity_requests_per_s": estimate.capacity_requests_per_s,
        "queue_growth_per_s": estimate.queue_growth_per_s,
        "running": estimate.running,
        "waiting": estimate.waiting,
        "preemptions_per_request": estimate.preemptions_per_request,
        "floor": {"itl_ms": estimate.floor.itl_ms, "bound": estimate.floor.bound},
        "shares": {
            "memory": estimate.shares.memory,
            "compute": estimate.shares.compute,
            "communication": estimate.shares.communication,
            "host": estimate.shares.host,
        },
        "speculation": estimate.speculation and _speculation(estimate.speculation),
        "low": estimate.low and _end(estimate.low),
        "high": estimate.high and _end(estimate.high),
        "not_modeled": list(estimate.not_modeled),
    }


def _speculation(effect: SpeculationEffect) -> dict[str, Any]:
    low, best, high = effect.acceptance_length
    return {
        "method": effect.method,
        "drafts": effect.drafts,
        "acceptance_length": {"low": low, "best": best, "high": high},
        "is_stated": effect.is_stated,
        "speedup": effect.speedup,
        "speedup_range": {"low": effect.speedup_range[0], "high": effect.speedup_range[1]},
        "break_even_concurrency": effect.break_even_concurrency,
    }


def _end(estimate: PerformanceEstimate) -> dict[str, Any]:
    """One end of the range: the measures, without what the best estimate already says."""
    content = performance(estimate)
    for name in ("low", "high", "not_modeled", "speculation"):
        del content[name]
    return content


def _latency(latency: Latency) -> dict[str, float | None]:
    return {"mean": latency.mean, "p50": latency.p50, "p99": latency.p99}
