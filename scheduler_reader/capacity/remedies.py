"""The smallest single changes with which an engine that does not fit would start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.plan import Remedy

HIGHEST_UTILIZATION = 0.95  # above it CUDA graphs and fragmentation find no room (vLLM logs)
FP8_CAPABILITY = (8, 9)
MOST_RANKS = 8  # GPUs of one node


def find_remedies(found: Outlook) -> tuple[Remedy, ...]:
    """One remedy a setting, those that need no more hardware first; each was tried by itself."""
    inputs = found.inputs
    weights = tuple(budget.weights for budget in found.budgets)
    remedies = []
    length = found.surely_longest
    if length and inputs.max_model_len and length < inputs.max_model_len:
        remedies.append(Remedy("max_model_len", length, found.longest))
    for setting, candidates in (
        ("gpu_memory_utilization", _utilizations(inputs)),
        ("kv_cache_dtype", _kv_dtypes(inputs)),
        ("max_num_seqs", _sequences(inputs)),
        ("tensor_parallel_size", _rank_counts(inputs)),
    ):
        for value, changed in candidates:
            is_same_split = changed.tensor_parallel == inputs.tensor_parallel
            then = outlook(changed, weights if is_same_split else None)
            if then.starts:
                remedies.append(Remedy(setting, value, then.longest))
                break
    return tuple(remedies)


def _utilizations(inputs: CapacityInputs) -> Iterator[tuple[Any, CapacityInputs]]:
    if inputs.kv_cache_memory_bytes is None:
        percent = int(inputs.utilization * 100) + 1
        for value in range(percent, int(HIGHEST_UTILIZATION * 100) + 1):
            yield value / 100, inputs.changed(utilization=value / 100)


def _kv_dtypes(inputs: CapacityInputs) -> Iterator[tuple[Any, CapacityInputs]]:
    if not inputs.kv_dtype.startswith("fp8") and inputs.gpu.capability >= FP8_CAPABILITY:
        yield "fp8", inputs.changed(kv_dtype="fp8")


def _sequences(inputs: CapacityInputs) -> Iterator[tuple[Any, CapacityInputs]]:
    count = inputs.max_num_seqs // 2
    while count >= 16:
        yield count, inputs.changed(max_num_seqs=count)
        count //= 2


def _rank_counts(inputs: CapacityInputs) -> Iterator[tuple[Any, CapacityInputs]]:
    ranks = 2 * inputs.tensor_parallel
    while ranks <= MOST_RANKS and inputs.model.attention_heads % ranks == 0:
        yield ranks, inputs.changed(tensor_parallel=ranks)
        ranks *= 2
