"""Start-up checks of the worker beside the one-request check: what else makes it refuse."""

from __future__ import annotations

from typing import NamedTuple

from scheduler_reader.capacity.budget import Pool
from scheduler_reader.capacity.constants import gib_spread, value_at
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.kv_layers import RECURRENT
from scheduler_reader.knowledge.gpus import GIB


class Refusal(NamedTuple):
    """Why the worker does not start; `is_certain` at both ends of the spread."""

    is_certain: bool
    reason: str


def refused(inputs: CapacityInputs, pool: Pool) -> Refusal | None:
    """The first check that fails, or None."""
    return _free_memory(inputs) or _state_for_every_sequence(inputs, pool)


def _free_memory(inputs: CapacityInputs) -> Refusal | None:
    """The utilization may not ask for more than the CUDA context leaves free."""
    is_checked = not inputs.is_v0 and value_at("free_memory_check", inputs.release)
    if not is_checked or inputs.kv_cache_memory_bytes is not None:
        return None
    context, total = gib_spread("cuda_context_gib"), inputs.gpu.memory_bytes
    wanted = total * inputs.utilization
    if wanted <= total - context.high:
        return None
    return Refusal(
        wanted > total - context.low,
        f"gpu_memory_utilization {inputs.utilization:g} asks for {wanted / GIB:.1f} GiB to be free "
        f"at start, and the CUDA context leaves {(total - context.best) / GIB:.1f} of "
        f"{total / GIB:.1f} GiB",
    )


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
        inputs.max_num_seqs > most,
        f"max_num_seqs {inputs.max_num_seqs:,} is more than the about {best:,} KV blocks: each "
        "sequence of this hybrid model needs one for its state",
    )
