"""Words for what is short: which component, of how much memory, and what would fit."""

from __future__ import annotations

from scheduler_reader.capacity.budget import Pool, StageBudget, tightest
from scheduler_reader.capacity.fit import Outlook
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.overheads import are_graphs_in_budget, counts_whole_device
from scheduler_reader.knowledge.gpus import GIB


def explain(found: Outlook) -> str:
    """Why the engine starts, may not start or does not: the component short, and by how much."""
    pool, worst = found.pool, tightest(found.budgets)
    if found.starts or found.cause:
        return found.cause or "starts"
    says = "does not start" if found.starts is False else "may not start"
    if pool is None or worst.kv_cache.best <= 0:
        return f"{says}: {_no_room(found.inputs, worst)}"
    return f"{says}: {_one_request(found, pool)}"


def _one_request(found: Outlook, pool: Pool) -> str:
    """Words for a request of max_model_len that does not fit, or may not."""
    length = found.inputs.max_model_len or 1
    need, room = (size / GIB for size in pool.best.tightest_check(length))
    if need <= room:
        return (
            f"one request of max_model_len {length:,} needs {need:.2f} GiB of KV "
            f"cache and about {room:.2f} GiB is left, within the spread of the estimate"
        )
    longest = found.longest
    remedy = f"the largest max_model_len that fits is {longest:,}" if longest else "none fits"
    return (
        f"one request of max_model_len {length:,} needs {need:.2f} GiB of KV cache a GPU "
        f"and {room:.2f} GiB is left, {need - room:.2f} GiB short; {remedy}"
    )


def _no_room(inputs: CapacityInputs, worst: StageBudget) -> str:
    """Words for a budget that weights and working memory exceed."""
    short = abs(worst.kv_cache.best) / GIB
    budget = f"{worst.budget / GIB:.1f} GiB ({inputs.utilization:g} of {inputs.gpu.memory_gib:.1f})"
    if worst.weights >= worst.budget:
        return (
            f"weights alone need {worst.weights / GIB:.1f} GiB a GPU and the "
            f"budget is {budget}: {(worst.weights - worst.budget) / GIB:.1f} GiB short"
        )
    graphs = worst.graphs.best if are_graphs_in_budget(inputs) else 0.0
    others = inputs.used_bytes if counts_whole_device(inputs) else 0.0
    working = worst.activation.best + worst.non_torch.best + graphs - others
    beside = f", other processes' {others / GIB:.1f} GiB" if others else ""
    return (
        f"no memory is left for KV blocks: weights {worst.weights / GIB:.1f} GiB{beside} and working "
        f"memory {working / GIB:.1f} GiB exceed the budget of {budget} by {short:.1f} GiB"
    )
