"""Memory beside weights, activations and KV blocks: libraries, collectives and CUDA graphs."""

from __future__ import annotations

from bisect import bisect_right

from packaging.version import Version

from scheduler_reader.capacity.constants import ZERO, Spread, gib_spread, spread, table, value_at
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.stages import Stage

MIB = 1024**2


def non_torch(inputs: CapacityInputs) -> Spread:
    """Bytes of one rank that PyTorch does not hand out: kernels, libraries, NCCL buffers.

    V1 before 0.9.1 counts all that is used on the device, so the CUDA context too.
    """
    found = gib_spread("non_torch_gib")
    if inputs.tensor_parallel * inputs.pipeline_parallel > 1:
        found += gib_spread("non_torch_parallel_gib")
    if not inputs.is_v0 and value_at("device_wide_profile", inputs.release):
        found += gib_spread("cuda_context_gib")
    return found


def cuda_graphs(inputs: CapacityInputs, stage: Stage) -> Spread:
    """Bytes of CUDA graphs: estimated before the KV cache (0.20.0 on), or captured after it."""
    if inputs.enforces_eager:
        return ZERO
    per_graph = spread(value_at("cuda_graph_mib", inputs.release)).scaled(MIB)
    if inputs.tensor_parallel > 1:
        per_graph = per_graph.scaled(table()["cuda_graph_parallel_factor"])
    return per_graph.scaled(stage.layers * captured_graphs(inputs))


def captured_graphs(inputs: CapacityInputs) -> int:
    """Batch sizes captured, piecewise and (0.11.0 on) once more in full for decode batches.

    Sizes 1, 2, 4, 8 and on in steps of 8, from 256 in steps of 16 (0.11.1 on).
    """
    version, sequences = inputs.release.version, inputs.max_num_seqs
    if inputs.is_v0:
        return len(_sizes(sequences, coarse_from=None))
    top = 512 if version < Version("0.10.0") else min(2 * sequences, 512)
    coarse = 256 if version >= Version("0.11.1") else None
    sizes = _sizes(min(top, inputs.token_budget), coarse)
    full = bisect_right(sizes, sequences) if version >= Version("0.11.0") else 0
    return len(sizes) + full


def _sizes(top: int, coarse_from: int | None) -> list[int]:
    fine_end = top + 1 if coarse_from is None else min(top + 1, coarse_from)
    sizes = [size for size in (1, 2, 4) if size <= top] + list(range(8, fine_end, 8))
    if coarse_from is not None:
        sizes += range(coarse_from, top + 1, 16)
    return sizes


def are_graphs_in_budget(inputs: CapacityInputs) -> bool:
    """Whether the estimated CUDA-graph memory is taken from what the KV cache may use."""
    if inputs.is_v0:
        return False
    if inputs.graphs_in_budget is not None and inputs.release.version >= Version("0.18.0"):
        return inputs.graphs_in_budget
    return bool(value_at("graphs_in_budget", inputs.release))
