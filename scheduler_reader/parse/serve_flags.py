"""The settings of `vllm serve` that decide what the scheduler does, as one typed object.

The limits are those of vLLM's own config classes (vllm/config/scheduler.py, cache.py, parallel.py,
model.py, lora.py of 0.33.0).  Which release refuses a value outside them stands in
`compat_matrix/value_limits.yaml`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse.reading import FlagIssue, FlagReading
from scheduler_reader.value import Known

Count = Annotated[int, Field(ge=1)]
Amount = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(gt=0, le=1)]
Gigabytes = Annotated[float, Field(ge=0)]
AUTO_LENGTH = -1  # --max-model-len auto: as long as the KV cache allows
Config = dict[str, Any]
LIMITS = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})


class ServeFlags(BaseModel):
    """What was set, by argument name; None is unset, or set to what nobody can know.

    Options without a field of their own are kept as they were read.
    """

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    # scheduler
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Count | None = None
    max_model_len: Count | None = None
    enable_chunked_prefill: bool | None = None
    scheduling_policy: str | None = None
    async_scheduling: bool | None = None
    long_prefill_token_threshold: Amount | None = None
    scheduler_reserve_full_isl: bool | None = None
    prefill_schedule_interval: Count | None = None
    max_num_active_seqs: Count | None = None
    watermark: Annotated[float, Field(ge=0, lt=1)] | None = None
    stream_interval: Count | None = None
    disable_hybrid_kv_cache_manager: bool | None = None
    # KV cache and memory
    block_size: Count | None = None
    gpu_memory_utilization: Fraction | None = None
    kv_cache_memory_bytes: Amount | None = None
    kv_cache_dtype: str | None = None
    enable_prefix_caching: bool | None = None
    num_gpu_blocks_override: Count | None = None
    swap_space: Gigabytes | None = None
    cpu_offload_gb: Gigabytes | None = None
    kv_offloading_size: Gigabytes | None = None
    # parallelism
    tensor_parallel_size: Count | None = None
    pipeline_parallel_size: Count | None = None
    data_parallel_size: Count | None = None
    prefill_context_parallel_size: Count | None = None
    decode_context_parallel_size: Count | None = None
    enable_expert_parallel: bool | None = None
    nnodes: Count | None = None
    distributed_executor_backend: str | None = None
    # model, precision and graphs
    dtype: str | None = None
    quantization: str | None = None
    enforce_eager: bool | None = None
    cudagraph_capture_sizes: list[int] | None = None
    max_cudagraph_capture_size: Amount | None = None
    optimization_level: int | str | None = None
    compilation_config: Config | None = None
    # speculation, LoRA, multimodal
    speculative_config: Config | None = None
    num_speculative_tokens: Count | None = None
    max_loras: Count | None = None
    max_lora_rank: Count | None = None
    limit_mm_per_prompt: Config | None = None


def serve_flags(reading: FlagReading) -> tuple[ServeFlags, tuple[FlagIssue, ...]]:
    """The typed view of a reading, and an issue for every value outside its limits.

    A value outside its limits (and `auto` for the model length) stays in the view: whether the engine starts with it is the
    release's business, and the issue says what that release does.
    """
    known = {name: v.value for name, v in reading.settings.items() if isinstance(v, Known)}
    kept: dict[str, Any] = {}
    if known.get("max_model_len") == AUTO_LENGTH:
        kept["max_model_len"] = known.pop("max_model_len")
    try:
        return ServeFlags.model_validate(known).model_copy(update=kept), ()
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_context=False)
    issues = [_issue(str(m["loc"][0]), m["msg"], reading) for m in mistakes if m["type"] in LIMITS]
    unsound = {str(mistake["loc"][0]) for mistake in mistakes}
    sound = {name: value for name, value in known.items() if name not in unsound}
    kept |= {name: known[name] for name in unsound}
    return ServeFlags.model_validate(sound).model_copy(update=kept), tuple(issues)


def _issue(name: str, rule: str, reading: FlagReading) -> FlagIssue:
    setting = reading.settings[name]
    assert isinstance(setting, Known)  # an unknown value is never validated
    option = "--" + name.replace("_", "-")
    is_refused = _is_refused(name, setting.value, reading.release)
    does = "refuses" if is_refused else "takes, and cannot serve with,"
    message = f"vLLM {reading.release} {does} {option} {setting.value}: {_plain(rule)}"
    return FlagIssue("out_of_range", option, message, setting.origin, fatal=is_refused)


def _is_refused(name: str, value: Any, release: str) -> bool:
    """Whether the release checks the limit (or crashes); a limit nobody dated is today's."""
    limits = documents("compat_matrix")["value_limits.yaml"]["limits"].get(name, {})
    side = "too_large" if isinstance(value, int | float) and value > 0 else "too_small"
    since = limits.get(side, "0.11.1")
    return Release(since).version <= Release(release).version


def _plain(rule: str) -> str:
    """Pydantic's `Input should be …` as the end of our sentence."""
    return rule.replace("Input should", "it must", 1)
