"""Start-up checks of the worker beside the one-request check: what else makes it refuse."""

from __future__ import annotations

from typing import Literal

from scheduler_reader.capacity.budget import Pool, StageBudget
from scheduler_reader.capacity.constants import Spread, gib_spread, value_at
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.kv_layers import RECURRENT
from scheduler_reader.capacity.overheads import counts_whole_device
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.record import Record

StartCheck = Literal["", "free_memory", "state_of_every_sequence"]  # "": of the KV cache


class Refusal(Record):
    """Which check the worker fails, and why; `is_certain` at both ends of the spread."""

    check: StartCheck
    is_certain: bool
    reason: str


def refused(inputs: CapacityInputs, budgets: tuple[StageBudget, ...], pool: Pool) -> Refusal | None:
    """The first check that fails, or None."""
    return (
        _free_memory(inputs)
        or _taken_memory(inputs, max(budget.budget for budget in budgets))
        or _state_for_every_sequence(inputs, pool)
    )


def free_memory(inputs: CapacityInputs) -> Spread:
    """Bytes of a GPU that are free when the worker starts."""
    context, left = gib_spread("cuda_context_gib"), inputs.gpu.memory_bytes - inputs.used_bytes
    return Spread(left - context.high, left - context.best, left - context.low)


def _free_memory(inputs: CapacityInputs) -> Refusal | None:
    """The utilization may not ask for more than others and the CUDA context leave free.

    Stated KV-cache bytes do not lift this check.
    """
    if inputs.is_v0 or not value_at("free_memory_check", inputs.release):
        return None
    free, wanted = free_memory(inputs), inputs.gpu.memory_bytes * inputs.utilization
    if wanted <= free.low:
        return None
    return Refusal(
        "free_memory",
        wanted > free.high,
        f"gpu_memory_utilization {inputs.utilization:g} asks for {wanted / GIB:.1f} GiB to be free "
        f"at start, and {_left_free(inputs, free)}",
    )


def _taken_memory(inputs: CapacityInputs, taken: float) -> Refusal | None:
    """Where nothing is checked at start, what others use is missing when the KV cache is taken."""
    if not inputs.used_bytes or counts_whole_device(inputs):
        return None
    free = free_memory(inputs)
    if taken <= free.low:
        return None
    return Refusal(
        "free_memory",
        taken > free.high,
        f"out of memory: the engine takes {taken / GIB:.1f} GiB, and {_left_free(inputs, free)}",
    )


def _left_free(inputs: CapacityInputs, free: Spread) -> str:
    total = inputs.gpu.memory_gib
    context = f"the CUDA context leaves {free.best / GIB:.1f} of {total:.1f} GiB"
    if not inputs.used_bytes:
        return context
    return f"beside the {inputs.used_bytes / GIB:.1f} GiB of other processes {context}"


def _state_for_every_sequence(inputs: CapacityInputs, pool: Pool) -> Refusal | None:
    """Full CUDA graphs of a hybrid model want a block for the state of every sequence.

    Source: vllm/config/compilation.py, resolve_cudagraph_mode_and_sizes.
    """
    is_recurrent = any(kind in RECURRENT for kind in inputs.model.layer_kinds)
    if not is_recurrent or not value_at("state_for_every_sequence", inputs.release):
        return None
    most, best, least = (end.num_blocks for end in (pool.high, pool.best, pool.low))
    if "FULL" not in inputs.graph_mode or inputs.max_num_seqs <= least:
        return None
    return Refusal(
        "state_of_every_sequence",
        inputs.max_num_seqs > most,
        f"max_num_seqs {inputs.max_num_seqs:,} is more than the about {best:,} KV blocks: each "
        "sequence of this hybrid model needs one for its state",
    )
