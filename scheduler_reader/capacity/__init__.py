"""The capacity stage: from a resolved engine to what fills the GPU, and the KV blocks left."""

from __future__ import annotations

from math import ceil

from scheduler_reader.capacity.budget import tightest
from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.capacity.kv_pool import KvPool
from scheduler_reader.capacity.plan import CapacityPlan, KvRange
from scheduler_reader.capacity.read_inputs import read_inputs
from scheduler_reader.capacity.remedies import find_remedies, safe_length
from scheduler_reader.capacity.shortage import explain
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Workload


def plan_capacity(engine: ResolvedEngine, workload: Workload) -> CapacityPlan:
    """What the worker will do with the GPU's memory at start-up, by release.

    A model or setting that is unknown gives a plan without numbers, and the reason.
    """
    inputs = read_inputs(engine)
    if isinstance(inputs, Unknown):
        return CapacityPlan(None, inputs.reason)
    try:
        return _plan(outlook(inputs), workload)
    except MissingFactError as missing:
        return CapacityPlan(None, str(missing))


def _plan(found: Outlook, workload: Workload) -> CapacityPlan:
    inputs, pool = found.inputs, found.pool
    terms = tightest(found.budgets).terms(inputs)
    if pool is None:
        return CapacityPlan(found.starts, explain(found), terms)
    best, length = pool.best, found.served_length
    return CapacityPlan(
        starts=found.starts,
        reason=explain(found),
        memory=terms,
        kv_bytes_per_token=pool.layout.bytes_per_token,
        block_size=pool.layout.block_size,
        num_blocks=best.num_blocks,
        kv_cache_tokens=best.printed_tokens(length) if length else 0,
        max_concurrency=best.concurrency(length) if length else 0.0,
        largest_max_model_len=found.longest,
        safe_max_model_len=safe_length(found),
        workload_concurrency=_workload_concurrency(inputs, best, workload),
        low=_range(pool.low, length),
        high=_range(pool.high, length),
        failed_check=found.check,
        remedies=() if found.starts else find_remedies(found),
    )


def _workload_concurrency(inputs: CapacityInputs, pool: KvPool, workload: Workload) -> float:
    """Requests of the workload's mean shape, at their full length, that the pool holds at once.

    V1 keeps one block of the pool for padding (the null block).
    """
    length = ceil(workload.input_tokens.mean + workload.output_tokens.mean)
    length = min(length, inputs.max_model_len or length)
    usable = max(0, pool.num_blocks - (0 if inputs.is_v0 else 1))
    return usable / pool.tightest.blocks(length)


def _range(pool: KvPool, length: int) -> KvRange:
    tokens = pool.printed_tokens(length) if length else 0
    return KvRange(pool.num_blocks * pool.tightest.block_bytes, pool.num_blocks, tokens)
