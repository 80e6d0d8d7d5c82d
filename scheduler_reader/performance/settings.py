"""The resolved settings that decide speed: how the engine is spread, and the scheduler's limits."""

from __future__ import annotations

from typing import Any

from scheduler_reader.knowledge.scheduler_behaviour import scheduler_behaviour
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Origin, Unknown, Value


class Parallelism(Record):
    """How the engine is spread over GPUs."""

    tensor: int
    pipeline: int
    data: int
    is_expert_parallel: bool


class SchedulerLimits(Record):
    """What a step and the running queue may hold; one data-parallel replica."""

    token_budget: int
    max_num_seqs: int
    is_chunked: bool
    longest_chunk_tokens: int  # long_prefill_token_threshold; the token budget where it is unset
    steps_ahead: int = 0  # decided before the step that runs is over: asynchronous scheduling
    takes_turns: bool = True  # with pipeline stages: a request is in one of the batches in flight


def optional(engine: ResolvedEngine, name: str, absent: Any) -> Any:
    """A resolved value; `absent` where the release has no such argument; Unknown stays Unknown."""
    if name not in engine.settings:
        return absent
    value = engine.settings[name].value
    if isinstance(value, Unknown):
        return value
    return absent if value.value is None else value.value


def is_on(engine: ResolvedEngine, name: str) -> bool:
    """Whether a switch is known to be on."""
    return optional(engine, name, False) is True


def parallelism(engine: ResolvedEngine) -> Value[Parallelism]:
    """Tensor, pipeline and data parallel sizes; Unknown when one of them is."""
    sizes = []
    for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"):
        value = optional(engine, name, 1)
        if isinstance(value, Unknown):
            return Unknown(f"{name} is not known: {value.reason}")
        if value < 1:
            return _refused(name, value)
        sizes.append(int(value))
    tensor, pipeline, data = sizes
    spread = Parallelism(tensor, pipeline, data, is_on(engine, "enable_expert_parallel"))
    return Known(spread, Origin("derived", "parallel sizes"))


def scheduler_limits(engine: ResolvedEngine) -> Value[SchedulerLimits]:
    """The scheduler's limits; Unknown when one of them is."""
    for name in ("max_num_batched_tokens", "max_num_seqs", "enable_chunked_prefill"):
        value = engine.value(name)
        if isinstance(value, Unknown):
            return Unknown(f"{name} is not known: {value.reason}")
        if value.value is not None and not isinstance(value.value, bool) and value.value < 1:
            return _refused(name, value.value)
    budget, seqs = int(engine.get("max_num_batched_tokens")), int(engine.get("max_num_seqs"))
    active, threshold = (
        optional(engine, name, 0)
        for name in ("max_num_active_seqs", "long_prefill_token_threshold")
    )
    limits = SchedulerLimits(
        token_budget=budget,
        max_num_seqs=min(seqs, active) if isinstance(active, int) and active > 0 else seqs,
        is_chunked=engine.get("enable_chunked_prefill") is not False,
        longest_chunk_tokens=threshold if isinstance(threshold, int) and threshold > 0 else budget,
        steps_ahead=int(is_on(engine, "async_scheduling")),
        takes_turns=not _is_in_every_batch(engine),
    )
    return Known(limits, Origin("derived", "scheduler limits"))


def _is_in_every_batch(engine: ResolvedEngine) -> bool:
    """Whether each batch in flight has all requests, so that it waits for the one before: asynchronous
    scheduling with pipeline stages, 0.16.0-0.22.1.
    """
    is_async = is_on(engine, "async_scheduling")
    return is_async and scheduler_behaviour(engine.release, "async_pipeline") == "stages"


def _refused(name: str, value: int) -> Unknown:
    return Unknown(f"{name} is {value}: vLLM refuses what is below 1")
