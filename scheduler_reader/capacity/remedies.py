"""The smallest single changes with which an engine that does not fit would start."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.overheads import counts_whole_device
from scheduler_reader.capacity.plan import Remedy
from scheduler_reader.capacity.refusals import free_memory

HIGHEST_UTILIZATION = 95  # per cent; above it CUDA graphs find no room (public start-up logs)
FP8_CAPABILITY = (8, 9)
FEWEST_SEQUENCES = 16
SHORTEST_LENGTH = 2048  # tokens; a shorter max_model_len is no help to anybody
MOST_RANKS = 8  # GPUs of one node
WRITTEN_STEPS = ((8192, 1024), (1024, 256))  # from so many tokens on, in multiples of


def find_remedies(found: Outlook) -> tuple[Remedy, ...]:
    """One remedy a setting, those that need no more hardware first; each was tried by itself.

    Where none is enough, each is tried with a shorter max_model_len.
    """
    inputs = found.inputs
    weights = tuple(budget.weights for budget in found.budgets)
    remedies = []
    shortened = []
    length = safe_length(found)
    is_too_long = bool(inputs.max_model_len and length < inputs.max_model_len)
    if length and is_too_long and not found.cause:
        remedies.append(Remedy("max_model_len", length, found.longest))
    for setting, field, candidates in (
        ("gpu_memory_utilization", "utilization", _utilizations(inputs)),
        ("kv_cache_dtype", "kv_dtype", _kv_dtypes(inputs)),
        ("max_num_seqs", "max_num_seqs", _sequences(inputs)),
        ("tensor_parallel_size", "tensor_parallel", _rank_counts(inputs)),
    ):
        same_weights = None if setting == "tensor_parallel_size" else weights
        tried = [inputs.changed(**{field: value}) for value in candidates]
        then = _first(tried, same_weights, lambda one: one.starts is True)
        if then is not None:
            remedies.append(Remedy(setting, getattr(then.inputs, field), then.longest))
        elif not remedies and inputs.max_model_len:
            then = _first(tried, same_weights, _holds_a_useful_length)
            if then is not None:
                value, length = getattr(then.inputs, field), safe_length(then)
                shortened.append(Remedy(setting, value, then.longest, length))
    return tuple(remedies or shortened)


def _holds_a_useful_length(found: Outlook) -> bool:
    """Whether it starts with a shorter max_model_len that is worth serving."""
    return safe_length(found) >= SHORTEST_LENGTH and not found.cause


def safe_length(found: Outlook) -> int:
    """The max_model_len to write: sure to start, and a round number; 0: none."""
    length = found.surely_longest
    for least, step in WRITTEN_STEPS:
        if length >= least:
            return length // step * step
    if found.pool is None:
        return 0
    size = found.pool.layout.block_size
    return length // size * size or length


def _first(
    candidates: Sequence[CapacityInputs],
    weights: tuple[float, ...] | None,
    is_enough: Callable[[Outlook], bool],
) -> Outlook | None:
    """The first candidate that is enough; each leaves more room than the one before."""
    if not candidates or not is_enough(outlook(candidates[-1], weights)):
        return None
    at = bisect_left(candidates, True, key=lambda one: is_enough(outlook(one, weights)))
    return outlook(candidates[at], weights)


def _utilizations(inputs: CapacityInputs) -> list[Any]:
    if inputs.kv_cache_memory_bytes is not None:
        return []
    highest, now = highest_utilization(inputs), int(round(inputs.utilization * 100, 6))
    if now > highest > 0:
        return [highest / 100]
    return [percent / 100 for percent in range(now + 1, highest + 1)]


def highest_utilization(inputs: CapacityInputs) -> int:
    """Per cent of the card that the engine may ask for, beside what others hold of it."""
    if counts_whole_device(inputs):
        return HIGHEST_UTILIZATION
    free = free_memory(inputs).low / inputs.gpu.memory_bytes
    return min(HIGHEST_UTILIZATION, int(free * 100))


def _kv_dtypes(inputs: CapacityInputs) -> list[Any]:
    is_useful = not inputs.kv_dtype.startswith("fp8") and inputs.gpu.capability >= FP8_CAPABILITY
    return ["fp8"] if is_useful else []


def _sequences(inputs: CapacityInputs) -> list[Any]:
    counts = []
    count = inputs.max_num_seqs // 2
    while count >= FEWEST_SEQUENCES:
        counts.append(count)
        count //= 2
    return counts


def _rank_counts(inputs: CapacityInputs) -> list[Any]:
    counts = []
    ranks = 2 * inputs.tensor_parallel
    most = MOST_RANKS
    if inputs.gpus_stated:
        most = inputs.gpus_stated // (inputs.pipeline_parallel * inputs.data_parallel)
    while ranks <= most and inputs.model.attention_heads % ranks == 0:
        counts.append(ranks)
        ranks *= 2
    return counts
