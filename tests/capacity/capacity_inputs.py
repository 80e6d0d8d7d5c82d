"""Capacity inputs of well-known models, written out."""

from __future__ import annotations

from typing import Any

from known_models import H100

from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.versions import Release


def inputs_of(model: ModelFacts, **changes: Any) -> CapacityInputs:
    """Inputs of a model on H100 cards with vLLM 0.18.0's defaults, and changes to them."""
    release = Release(changes.pop("release", "0.18.0"))
    settings: dict[str, Any] = {
        "is_v0": False,
        "gpu": H100,
        "gpus_stated": None,
        "quantization": model.quantization,
        "dtype_bytes": 2,
        "kv_dtype": "bfloat16",
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "data_parallel": 1,
        "expert_parallel": False,
        "context_parallel": 1,
        "utilization": 0.9,
        "max_model_len": 131072,
        "max_num_seqs": 1024,
        "token_budget": 8192,
        "chunks_prompts": True,
        "block_size": 16,
        "length_cap": 131072,
        "graph_mode": "FULL_AND_PIECEWISE",
        "capture_sizes": (1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)),
        "uses_second_runner": False,
        "batches_in_flight": 1,
        "hybrid_manager_off": False,
        "caches_prefixes": True,
        "state_dtype": "bfloat16",
        "draft_method": None,
        "draft_model": None,
        "draft_tokens": 0,
        "lora_rows": 0,
        "kv_cache_memory_bytes": None,
        "blocks_override": None,
        "offload_bytes": 0.0,
        "loads_encoder": True,
        "encoder_runs": False,
        "encoder_is_replicated": False,
        "uses_flashinfer_sampler": None,
        "runs_image": False,
        "graphs_in_budget": None,
        "used_bytes": 0.0,
    }
    return CapacityInputs(release=release, model=model, **(settings | changes))
