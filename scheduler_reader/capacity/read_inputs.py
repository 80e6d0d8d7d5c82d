"""Read the capacity model's inputs off a resolved engine."""

from __future__ import annotations

from typing import Any

from scheduler_reader.capacity.constants import table, value_at
from scheduler_reader.capacity.inputs import DTYPE_BYTES, CapacityInputs, MissingFactError
from scheduler_reader.capacity.stages import PARTITION, partition
from scheduler_reader.knowledge.environment import why_unread
from scheduler_reader.knowledge.models import ModelFacts, find_model
from scheduler_reader.knowledge.quantization import Quantization
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown


def read_inputs(engine: ResolvedEngine) -> CapacityInputs | Unknown:
    """The inputs of one engine, or why they cannot be told."""
    if isinstance(engine.model, Unknown):
        return Unknown(engine.model.reason)
    try:
        return _read(engine, engine.model.value)
    except MissingFactError as missing:
        return Unknown(str(missing))


def _read(engine: ResolvedEngine, model: ModelFacts) -> CapacityInputs:
    length = int(_required(engine, "max_model_len"))
    if length < 1:
        raise MissingFactError(f"max_model_len {length} is no length in this release")
    is_multimodal = model.vision is not None
    asynchronous = bool(_optional(engine, "async_scheduling"))
    runner = engine.model_runner
    if isinstance(runner, Unknown):
        raise MissingFactError(runner.reason)
    ranks = int(_optional(engine, "tensor_parallel_size") or 1)
    if model.attention_heads % ranks:
        raise MissingFactError(
            f"{model.attention_heads} attention heads cannot be split over {ranks} "
            "tensor-parallel ranks"
        )
    return CapacityInputs(
        release=engine.release,
        is_v0=engine.engine == "V0",
        gpu=engine.hardware.gpu,
        gpus_stated=engine.hardware.count if engine.hardware.count_is_stated else None,
        model=model,
        quantization=_quantization(engine, model),
        dtype_bytes=_dtype_bytes(engine),
        kv_dtype=_kv_dtype(engine, model),
        tensor_parallel=ranks,
        pipeline_parallel=_pipeline_stages(engine, model),
        layers_by_stage=_layers_by_stage(engine, model),
        data_parallel=_optional(engine, "data_parallel_size") or 1,
        expert_parallel=bool(_optional(engine, "enable_expert_parallel")),
        context_parallel=_context_parallel(engine),
        utilization=float(_required(engine, "gpu_memory_utilization")),
        max_model_len=None if engine.fits_length_to_memory else length,
        length_cap=max(length, model.max_position_embeddings or 0),
        max_num_seqs=int(_required(engine, "max_num_seqs")),
        token_budget=int(_required(engine, "max_num_batched_tokens")),
        chunks_prompts=bool(_optional(engine, "enable_chunked_prefill")),
        block_size=int(_required(engine, "block_size")),
        graph_mode=str(_optional(engine, "cudagraph_mode") or "NONE"),
        capture_sizes=tuple(_optional(engine, "cudagraph_capture_sizes") or ()),
        uses_second_runner=runner.value == "V2",
        batches_in_flight=2 if asynchronous else 1,
        hybrid_manager_off=_hybrid_manager_off(engine, model),
        caches_prefixes=bool(_optional(engine, "enable_prefix_caching")),
        state_dtype=_state_dtype(engine, model),
        draft_method=_optional(engine, "speculative_method"),
        draft_model=_draft_model(engine),
        draft_tokens=int(_optional(engine, "num_speculative_tokens") or 0),
        lora_rows=_lora_rows(engine),
        kv_cache_memory_bytes=_optional(engine, "kv_cache_memory_bytes"),
        blocks_override=_optional(engine, "num_gpu_blocks_override"),
        offload_bytes=float(_optional(engine, "cpu_offload_gb") or 0) * 1024**3,
        loads_encoder=is_multimodal and not _optional(engine, "language_model_only"),
        encoder_runs=is_multimodal and not _encoder_is_off(engine),
        items_a_prompt=_items_a_prompt(engine),
        encoder_is_replicated=_optional(engine, "mm_encoder_tp_mode") == "data",
        uses_flashinfer_sampler=_switch(engine, "VLLM_USE_FLASHINFER_SAMPLER"),
        runs_image=isinstance(engine.parsed.image_version, Known),
        graphs_in_budget=_switch(engine, table()["graphs_in_budget_variable"]),
        used_bytes=engine.hardware.memory_used_bytes,
        gathered_ranks=_gathered_ranks(engine, model),
    )


def _gathered_ranks(engine: ResolvedEngine, model: ModelFacts) -> int:
    """1 where tokens are sent to their experts only (the other all-to-all backends)."""
    if not model.is_moe:
        return 1
    backend = _optional(engine, "all2all_backend") or _variable(engine, "VLLM_ALL2ALL_BACKEND")
    if backend and backend not in table()["gathering_backends"]:
        return 1
    return int(_optional(engine, "data_parallel_size") or 1)


def _pipeline_stages(engine: ResolvedEngine, model: ModelFacts) -> int:
    stages = int(_optional(engine, "pipeline_parallel_size") or 1)
    if stages > model.layers:
        raise MissingFactError(
            f"pipeline_parallel_size {stages:,} leaves stages without any of the {model.layers} layers"
        )
    return stages


def _layers_by_stage(engine: ResolvedEngine, model: ModelFacts) -> tuple[int, ...]:
    sizes = partition(_variable(engine, PARTITION) or "")
    if sizes and (len(sizes) != _pipeline_stages(engine, model) or sum(sizes) != model.layers):
        raise MissingFactError(f"{PARTITION} does not deal the {model.layers} layers to the stages")
    return sizes


def _required(engine: ResolvedEngine, name: str) -> Any:
    value = engine.value(name)
    if isinstance(value, Unknown):
        raise MissingFactError(value.reason)
    if value.value is None:
        raise MissingFactError(f"{name} is not resolved")
    return value.value


def _optional(engine: ResolvedEngine, name: str) -> Any:
    """A setting that the release may not have, or that is as written; None: nobody set it."""
    setting = engine.settings.get(name)
    value = setting.value if setting else engine.flags.settings.get(name)
    if isinstance(value, Unknown):
        raise MissingFactError(value.reason)
    return value.value if value else None


def _switch(engine: ResolvedEngine, variable: str) -> bool | None:
    """An environment variable of the engine that is 0 or 1; None: not set, or neither."""
    value = _variable(engine, variable)
    return None if value is None else {"1": True, "0": False}.get(value)


def _variable(engine: ResolvedEngine, variable: str) -> str | None:
    """An environment variable of the engine; None: not set, or not one that the release reads."""
    value = engine.parsed.variable(variable)
    if isinstance(value, Unknown) and why_unread(variable, engine.release) is None:
        raise MissingFactError(value.reason)
    return value.value.strip() if isinstance(value, Known) else None


def _dtype_bytes(engine: ResolvedEngine) -> int:
    dtype = str(_required(engine, "dtype"))
    size = DTYPE_BYTES.get(dtype.removeprefix("torch."))
    if size is None:
        raise MissingFactError(f"the size of dtype {dtype} is not known")
    return size


def _quantization(engine: ResolvedEngine, model: ModelFacts) -> Quantization | None:
    """What the model is stored in; `--quantization` is in it where it is known what that does."""
    flag = _optional(engine, "quantization")
    if model.quantization is None and flag is not None:
        raise MissingFactError(f"how --quantization {flag} stores {model.id} is not known")
    return model.quantization


def _kv_dtype(engine: ResolvedEngine, model: ModelFacts) -> str:
    name = str(_optional(engine, "kv_cache_dtype") or "auto")
    if name == "auto":
        return "float32" if _dtype_bytes(engine) == 4 else "bfloat16"
    formats = table()["mla_bytes_per_token"] if model.uses_mla else {}
    if name not in table()["kv_cache_dtypes"] and name not in formats:
        raise MissingFactError(f"the bytes per token of kv_cache_dtype {name} are not known")
    return name


def _hybrid_manager_off(engine: ResolvedEngine, model: ModelFacts) -> bool:
    """Whether all attention layers keep all tokens: as asked for, or where groups cannot be."""
    if _optional(engine, "disable_hybrid_kv_cache_manager") is True:
        return True
    if "chunked" in model.layer_kinds and not _groups_chunked_attention(engine):
        return True
    return any(
        _optional(engine, setting) and not value_at(rule, engine.release)
        for setting, rule in (
            ("kv_events_config", "groups_with_kv_events"),
            ("kv_transfer_config", "groups_with_connectors"),
        )
    )


def _groups_chunked_attention(engine: ResolvedEngine) -> bool:
    if str(_optional(engine, "speculative_method") or "").startswith("eagle"):
        return False
    allowed = _switch(engine, table()["groups_with_chunked_attention_variable"])
    if allowed is None:
        allowed = bool(value_at("groups_with_chunked_attention", engine.release))
    return allowed


def _draft_model(engine: ResolvedEngine) -> ModelFacts | None:
    if _optional(engine, "speculative_method") != "draft_model":
        return None
    config = _optional(engine, "speculative_config") or {}
    name = config.get("model") or _optional(engine, "speculative_model")
    found = find_model(str(name))
    if isinstance(found, Unknown):
        raise MissingFactError(f"the draft model {found.reason}")
    return found.facts


def _context_parallel(engine: ResolvedEngine) -> int:
    ranks = int(_optional(engine, "decode_context_parallel_size") or 1)
    if value_at("prefill_context_shards", engine.release):
        ranks *= int(_optional(engine, "prefill_context_parallel_size") or 1)
    return ranks


def _lora_rows(engine: ResolvedEngine) -> int:
    if not _optional(engine, "enable_lora"):
        return 0
    defaults = table()["lora_defaults"]
    adapters, rank = (_optional(engine, name) or defaults[name] for name in defaults)
    return int(adapters) * int(rank)


def _state_dtype(engine: ResolvedEngine, model: ModelFacts) -> str:
    flag = _optional(engine, "mamba_ssm_cache_dtype")
    if flag in (None, "auto"):
        flag = model.extra.get("mamba_ssm_dtype") or "bfloat16"
    if flag not in DTYPE_BYTES:
        raise MissingFactError(f"the size of mamba_ssm_cache_dtype {flag} is not known")
    return str(flag)


def _encoder_is_off(engine: ResolvedEngine) -> bool:
    if _optional(engine, "language_model_only") or _optional(engine, "skip_mm_profiling"):
        return True
    limits = _items_a_prompt(engine)
    return bool(limits) and not any(limits.values())


def _items_a_prompt(engine: ResolvedEngine) -> dict[str, int]:
    """`--limit-mm-per-prompt`, whose entries are numbers or options with a `count`."""
    stated = _optional(engine, "limit_mm_per_prompt")
    limits = stated if isinstance(stated, dict) else {}
    counts = {
        kind: one.get("count") if isinstance(one, dict) else one for kind, one in limits.items()
    }
    return {kind: count for kind, count in counts.items() if isinstance(count, int)}
