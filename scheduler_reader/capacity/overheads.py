"""Memory beside weights, activations and KV blocks: libraries, collectives and CUDA graphs."""

from __future__ import annotations

from packaging.version import Version

from scheduler_reader.capacity.constants import Spread, gib_spread, spread, table, value_at
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.stages import Stage

MIB = 1024**2


def non_torch(inputs: CapacityInputs) -> Spread:
    """Bytes of one rank that PyTorch does not hand out: kernels, libraries, NCCL buffers.

    V1 before 0.9.1 counts all that is used on the device: the CUDA context, and other processes.
    Data-parallel ranks talk to each other where they share experts.
    """
    found = gib_spread("non_torch_unified_gib" if inputs.gpu.unified_memory else "non_torch_gib")
    sharing = inputs.data_parallel if inputs.model.is_moe else 1
    if inputs.tensor_parallel * inputs.pipeline_parallel * sharing > 1:
        found += gib_spread("non_torch_parallel_gib")
    if counts_whole_device(inputs):
        found += gib_spread("cuda_context_gib") + Spread.exact(inputs.used_bytes)
    return found


def counts_whole_device(inputs: CapacityInputs) -> bool:
    """Whether the budget pays for all that is used on the device, whoever uses it."""
    return not inputs.is_v0 and bool(value_at("device_wide_profile", inputs.release))


def cuda_graphs(inputs: CapacityInputs, stage: Stage) -> Spread:
    """Bytes of CUDA graphs: estimated before the KV cache (0.20.0 on), or captured after it."""
    per_graph = spread(value_at("cuda_graph_mib", inputs.release)).scaled(MIB)
    if inputs.tensor_parallel > 1:
        per_graph = per_graph.scaled(table()["cuda_graph_parallel_factor"])
    return per_graph.scaled(stage.layers * captured_graphs(inputs))


def captured_graphs(inputs: CapacityInputs) -> int:
    """Batch sizes captured: between attention layers, in full for decode batches, or both.

    Full graphs beside others are for decode batches, so up to `max_num_seqs` only.
    """
    sizes = inputs.capture_sizes
    decodes = sum(size <= inputs.max_num_seqs for size in sizes)
    if inputs.is_v0:
        return len(sizes)
    return {
        "NONE": 0,
        "PIECEWISE": len(sizes),
        "FULL": len(sizes),
        "FULL_DECODE_ONLY": decodes,
        "FULL_AND_PIECEWISE": len(sizes) + decodes,
    }[inputs.graph_mode]


def are_graphs_in_budget(inputs: CapacityInputs) -> bool:
    """Whether the estimated CUDA-graph memory is taken from what the KV cache may use."""
    estimates = value_at("graphs_estimated_by_second_runner", inputs.release)
    if inputs.is_v0 or (inputs.uses_second_runner and not estimates):
        return False
    if inputs.graphs_in_budget is not None and inputs.release.version >= Version("0.18.0"):
        return inputs.graphs_in_budget
    return bool(value_at("graphs_in_budget", inputs.release))
