"""The capacity stage: from a resolved engine to what fills the GPU, and the KV blocks left."""

from __future__ import annotations

from math import ceil

from scheduler_reader.capacity.budget import Pool, tightest
from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError, read_inputs
from scheduler_reader.capacity.plan import CapacityPlan, KvRange
from scheduler_reader.capacity.remedies import find_remedies
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
    terms = tightest(found.budgets).terms(inputs.gpu.memory_bytes)
    if pool is None:
        return CapacityPlan(found.starts, explain(found), terms)
    blocks = inputs.blocks_override or pool.best
    length = found.served_length
    layout = pool.layout
    return CapacityPlan(
        starts=found.starts,
        reason=explain(found),
        memory=terms,
        kv_bytes_per_token=layout.bytes_per_token,
        block_size=layout.block_size,
        num_blocks=blocks,
        kv_cache_tokens=layout.printed_tokens(blocks, length, inputs.release) if length else 0,
        max_concurrency=layout.concurrency(blocks, length) if length else 0.0,
        largest_max_model_len=found.longest,
        workload_concurrency=_workload_concurrency(inputs, pool, blocks, workload),
        low=_range(found, pool, pool.low),
        high=_range(found, pool, pool.high),
        remedies=() if found.starts else find_remedies(found),
    )


def _workload_concurrency(
    inputs: CapacityInputs, pool: Pool, blocks: int, workload: Workload
) -> float:
    """Requests of the workload's mean shape, at their full length, that the pool holds at once.

    V1 keeps one block of the pool for padding (the null block).
    """
    length = ceil(workload.input_tokens.mean + workload.output_tokens.mean)
    length = min(length, inputs.max_model_len or length)
    usable = max(0, blocks - (0 if inputs.is_v0 else 1))
    return usable / pool.layout.blocks(length)


def _range(found: Outlook, pool: Pool, blocks: int) -> KvRange:
    inputs, length = found.inputs, found.served_length
    blocks = inputs.blocks_override or blocks
    tokens = pool.layout.printed_tokens(blocks, length, inputs.release) if length else 0
    return KvRange(blocks * pool.layout.block_bytes, blocks, tokens)
