"""What of a shared prefix the engine really finds in its cache: whole blocks only.

Models with recurrent layers have blocks of many hundred tokens, since a block is as large as a
recurrent state; a shorter prefix is never found there (vllm/v1/core/kv_cache_manager.py,
get_computed_blocks; v1/core/kv_cache_utils.py, unify_hybrid_kv_cache_specs).
"""

from __future__ import annotations

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.performance.settings import is_on
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.workload import Workload


def hit_rate(engine: ResolvedEngine, plan: CapacityPlan, workload: Workload) -> float:
    """Share of the prompt tokens that are found once the cache is warm.

    A stated rate is taken as it is unless what it leaves of a prompt is shorter than a block.
    """
    if not is_on(engine, "enable_prefix_caching"):
        return 0.0
    stated, block = workload.expected_hit_rate, plan.block_size or 1
    shared = stated * workload.input_tokens.mean
    if shared < block:
        return 0.0
    if workload.shared_prefix_tokens:
        return shared // block * block / workload.input_tokens.mean
    return stated


def hit_sentences(
    engine: ResolvedEngine, plan: CapacityPlan, workload: Workload
) -> tuple[str, ...]:
    """Why the cache finds less than the workload has in common, where that is noticeable."""
    stated = workload.expected_hit_rate
    if not stated:
        return ()
    if not is_on(engine, "enable_prefix_caching"):
        return (f"prefix caching is off: none of the {stated:.0%} shared prompt tokens is found",)
    found = hit_rate(engine, plan, workload)
    if stated - found < 0.02:
        return ()
    shared = stated * workload.input_tokens.mean
    return (
        f"prefix cache: {found:.0%} of the prompt tokens are found, not {stated:.0%}: only whole blocks "
        f"of {plan.block_size:,} tokens are, and {shared:,.0f} tokens are shared",
    )
