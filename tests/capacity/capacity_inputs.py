"""Capacity inputs of well-known models, written out so that the tests need no catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.knowledge.gpus import GIB, Gpu
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.quantization import Quantization
from scheduler_reader.knowledge.versions import Release

H100 = Gpu(
    name="h100-sxm",
    title="NVIDIA H100 SXM 80 GB",
    device_name="NVIDIA H100 80GB HBM3",
    memory_bytes=int(79.19 * GIB),
    memory_bandwidth_bytes_per_s=3.35e12,
    flops_per_s={"bfloat16": 989.4e12},
    compute_capability="9.0",
    source="test",
)
LLAMA_8B = ModelFacts(
    id="llama-3.1-8b",
    architecture="LlamaForCausalLM",
    hidden_size=4096,
    layers=32,
    attention_heads=32,
    kv_heads=8,
    head_dim=128,
    intermediate_size=14336,
    vocab_size=128256,
    max_position_embeddings=131072,
    source="test",
)
LLAMA_70B = replace(
    LLAMA_8B,
    id="llama-3.3-70b",
    hidden_size=8192,
    layers=80,
    attention_heads=64,
    intermediate_size=28672,
)
LLAMA_70B_FP8 = replace(
    LLAMA_70B,
    quantization=Quantization(
        method="compressed-tensors", weight_bits=8, activation_bits=8, unquantized=("lm_head",)
    ),
)


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
    }
    return CapacityInputs(release=release, model=model, **(settings | changes))
