"""The smallest single changes with which an engine that does not fit would start."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.overheads import counts_whole_device
from scheduler_reader.capacity.plan import Remedy
from scheduler_reader.capacity.refusals import free_memory

HIGHEST_UTILIZATION = 95  # per cent; above it CUDA graphs find no room (public start-up logs)
FP8_CAPABILITY = (8, 9)
FEWEST_SEQUENCES = 16
FEWEST_TOKENS = 2048  # max_num_batched_tokens; less slows prefill down and frees hardly more
SHORTEST_LENGTH = 2048  # tokens; a shorter max_model_len is no help to anybody
MOST_RANKS = 8  # GPUs of one node
WRITTEN_STEPS = ((8192, 1024), (1024, 256))  # from so many tokens on, in multiples of


def find_remedies(found: Outlook) -> tuple[Remedy, ...]:
    """One remedy a setting, each tried by itself; where none is enough, each with a shorter
    max_model_len.  More ranks, which may need more GPUs, come after all of these.
    """
    weights = tuple(budget.weights for budget in found.budgets)
    ours = _alone(found, weights) or _with_a_shorter_length(found, weights)
    return (*ours, *_more_ranks(found))


def _alone(found: Outlook, weights: tuple[float, ...]) -> list[Remedy]:
    remedies = []
    inputs, length = found.inputs, safe_length(found)
    if SHORTEST_LENGTH <= length < (inputs.max_model_len or 0) and not found.cause:
        remedies.append(Remedy("max_model_len", length, found.longest))
    for setting, field, candidates in _ladders(inputs):
        then = _first(candidates, weights)
        if then is not None:
            remedies.append(Remedy(setting, getattr(then.inputs, field), then.longest))
    return remedies


def _with_a_shorter_length(found: Outlook, weights: tuple[float, ...]) -> list[Remedy]:
    """Each setting at the end of its ladder: with less room than that, max_model_len is shorter yet."""
    remedies = []
    for setting, field, candidates in _ladders(found.inputs) if found.inputs.max_model_len else ():
        if not candidates:
            continue
        then = outlook(candidates[-1], weights)
        length = safe_length(then)
        if length >= SHORTEST_LENGTH and not then.cause:
            remedies.append(Remedy(setting, getattr(then.inputs, field), then.longest, length))
    return remedies


def _more_ranks(found: Outlook) -> list[Remedy]:
    tried = [found.inputs.changed(tensor_parallel=ranks) for ranks in _rank_counts(found.inputs)]
    then = _first(tried, None)
    if then is None:
        return []
    return [Remedy("tensor_parallel_size", then.inputs.tensor_parallel, then.longest)]


def _ladders(inputs: CapacityInputs) -> Iterator[tuple[str, str, list[CapacityInputs]]]:
    """Settings that take no more hardware, each step of one leaving more room than that before."""
    for setting, field, values in (
        ("gpu_memory_utilization", "utilization", _utilizations(inputs)),
        ("max_num_batched_tokens", "token_budget", _token_budgets(inputs)),
        ("max_num_seqs", "max_num_seqs", _sequences(inputs)),
        ("kv_cache_dtype", "kv_dtype", _kv_dtypes(inputs)),
    ):
        yield setting, field, [inputs.changed(**{field: value}) for value in values]


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
    candidates: Sequence[CapacityInputs], weights: tuple[float, ...] | None
) -> Outlook | None:
    """The first candidate that starts; each leaves more room than the one before."""

    def starts(candidate: CapacityInputs) -> bool:
        return outlook(candidate, weights).starts is True

    if not candidates or not starts(candidates[-1]):
        return None
    return outlook(candidates[bisect_left(candidates, True, key=starts)], weights)


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


def _token_budgets(inputs: CapacityInputs) -> list[Any]:
    """Halves of the budget, where prompts need not fit into it whole."""
    least = max(FEWEST_TOKENS, inputs.max_num_seqs, inputs.block_size)
    return _halves(inputs.token_budget, least) if inputs.chunks_prompts else []


def _kv_dtypes(inputs: CapacityInputs) -> list[Any]:
    is_useful = not inputs.kv_dtype.startswith("fp8") and inputs.gpu.capability >= FP8_CAPABILITY
    return ["fp8"] if is_useful else []


def _sequences(inputs: CapacityInputs) -> list[Any]:
    return _halves(inputs.max_num_seqs, FEWEST_SEQUENCES)


def _halves(number: int, least: int) -> list[Any]:
    counts = []
    while number // 2 >= least:
        number //= 2
        counts.append(number)
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
