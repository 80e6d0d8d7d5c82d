"""A card and models written out, so that the tests need no catalogue."""

from __future__ import annotations

from dataclasses import replace

from scheduler_reader.knowledge.gpus import GIB, Gpu
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.quantization import Quantization

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
