"""The engine settings that decide scheduling, as one release accepts them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from scheduler_reader.errors import UsageError
from scheduler_reader.simulate.behaviour import Behaviour


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Settings under vLLM's names; tokens and blocks are of one pipeline replica.

    `num_gpu_blocks` counts the reserved null block, as vLLM does, so one fewer can be used.
    Drafts are those of n-gram speculation: no forward pass, no KV slots of their own.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    num_gpu_blocks: int
    block_size: int = 16
    policy: Literal["fcfs", "priority"] = "fcfs"
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    async_scheduling: bool = False
    pipeline_parallel_size: int = 1
    distributed_executor_backend: str | None = None
    long_prefill_token_threshold: int = 0
    long_prefill_token_threshold_adaptive: bool = False
    max_num_partial_prefills: int = 1
    max_long_partial_prefills: int = 1
    scheduler_reserve_full_isl: bool = True
    watermark: float = 0.0
    max_num_active_seqs: int | None = None
    prefill_schedule_interval: int = 1
    num_speculative_tokens: int = 0
    sliding_window: int | None = None  # window of a second KV group beside full attention

    @property
    def active_limit(self) -> int:
        """How many requests may run at once."""
        return self.max_num_active_seqs or self.max_num_seqs

    @property
    def watermark_blocks(self) -> int:
        """Blocks kept free when a request is admitted beside running ones."""
        return int(self.watermark * self.num_gpu_blocks)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many batches the engine keeps in flight, and what that does to decodes."""

    batches_in_flight: int
    decode_interval: int = 1  # steps between two decodes of a request
    one_output: bool = False  # a request with an output outstanding is left out


def overlap_of(config: EngineConfig, behaviour: Behaviour) -> Overlap:
    """Batches in flight: vllm/config/vllm.py, max_concurrent_batches; before 0.23.0 the executor's."""
    stages = config.pipeline_parallel_size
    if not config.async_scheduling:
        return Overlap(stages)
    if behaviour.async_pipeline == "runner":
        if behaviour.runner_drafts_ngram or not config.num_speculative_tokens:
            return Overlap(stages + 1, decode_interval=stages)
        return Overlap(max(stages, 2))
    one_output = behaviour.async_pipeline == "one_output" and stages > 1
    return Overlap(max(stages, 2), one_output=one_output)


def as_run(config: EngineConfig, behaviour: Behaviour) -> EngineConfig:
    """The settings with which the engine runs, where the release changes those it was given."""
    if config.enable_chunked_prefill:
        return config
    if behaviour.unchunked_prefill == "impossible":
        return replace(config, enable_chunked_prefill=True)
    if behaviour.unchunked_drops_threshold and not config.enable_prefix_caching:
        return replace(config, long_prefill_token_threshold=0)
    return config


def check(config: EngineConfig, behaviour: Behaviour, release: str) -> None:
    """Raise `UsageError`, one line, when the release refuses settings (`as_run`) at start-up.

    The same where it would fall back to the V0 engine, whose scheduler is another.
    """
    wrong = _out_of_range(config) or _refusal(config, behaviour)
    if wrong:
        raise UsageError(f"vLLM {release} does not start: {wrong}")
    missing = _not_in_v1(config, behaviour)
    if missing:
        raise UsageError(f"vLLM {release} does not run this in the V1 engine: {missing}")


def _out_of_range(config: EngineConfig) -> str | None:
    least_one = {
        "max_num_seqs": config.max_num_seqs,
        "max_num_batched_tokens": config.max_num_batched_tokens,
        "max_model_len": config.max_model_len,
        "block_size": config.block_size,
        "num_gpu_blocks": config.num_gpu_blocks,
        "pipeline_parallel_size": config.pipeline_parallel_size,
        "max_num_partial_prefills": config.max_num_partial_prefills,
        "max_long_partial_prefills": config.max_long_partial_prefills,
        "max_num_active_seqs": config.active_limit,
        "prefill_schedule_interval": config.prefill_schedule_interval,
    }
    for name, value in least_one.items():
        if value < 1:
            return f"{name} ({value}) must be at least 1"
    if config.policy not in ("fcfs", "priority"):
        return f"policy ({config.policy}) must be fcfs or priority"
    if not 0 <= config.watermark < 1:
        return f"watermark ({config.watermark}) must be at least 0 and below 1"
    if config.long_prefill_token_threshold < 0 or config.num_speculative_tokens < 0:
        return "long_prefill_token_threshold and num_speculative_tokens cannot be negative"
    if config.sliding_window is not None and config.sliding_window < 2:
        return f"sliding_window ({config.sliding_window}) is no window"
    return None


def _not_in_v1(config: EngineConfig, behaviour: Behaviour) -> str | None:
    """What the V1 engine does not have (vllm/engine/arg_utils.py, _is_v1_supported_oracle)."""
    if config.max_num_partial_prefills > 1 or config.max_long_partial_prefills > 1:
        return "concurrent partial prefills (max_num_partial_prefills) are not supported"
    if config.policy == "priority" and not behaviour.schedules_by_priority:
        return "the priority policy is not supported yet"
    if config.sliding_window is not None and not behaviour.mixes_window_layers:
        return "a KV group for sliding-window layers is not supported yet"
    needs_executor = config.pipeline_parallel_size > 1 and behaviour.pipeline_needs_executor
    if needs_executor and config.distributed_executor_backend is None:
        return "pipeline_parallel_size > 1 needs distributed_executor_backend to be given"
    return None


def _refusal(config: EngineConfig, behaviour: Behaviour) -> str | None:
    """What vllm/config/scheduler.py, vllm/config/vllm.py and vllm/engine/arg_utils.py refuse."""
    budget, length = config.max_num_batched_tokens, config.max_model_len
    if budget < config.max_num_seqs:
        return f"max_num_batched_tokens ({budget}) is below max_num_seqs ({config.max_num_seqs})"
    if not config.enable_chunked_prefill and budget < length:
        return (
            f"max_num_batched_tokens ({budget}) is below max_model_len ({length}) "
            "and chunked prefill is off"
        )
    if config.active_limit > config.max_num_seqs:
        return f"max_num_active_seqs ({config.active_limit}) is above max_num_seqs"
    if behaviour.refuses_threshold_above_length and config.long_prefill_token_threshold > length:
        return (
            f"long_prefill_token_threshold ({config.long_prefill_token_threshold}) is above "
            f"max_model_len ({length})"
        )
    if not config.async_scheduling:
        return None
    if config.pipeline_parallel_size > 1 and behaviour.async_pipeline == "refused":
        return "async scheduling does not go with pipeline_parallel_size > 1"
    if config.num_speculative_tokens and not behaviour.runner_drafts_ngram:
        return "async scheduling does not go with n-gram speculation"
    return None
