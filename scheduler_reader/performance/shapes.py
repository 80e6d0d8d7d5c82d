"""The matrix products of one decoder layer on one tensor-parallel rank, from model facts.

Column-parallel layers split their outputs, row-parallel ones their inputs
(vllm/model_executor/layers/linear.py); KV heads are replicated when there are fewer than ranks.
"""

from __future__ import annotations

from typing import Literal

from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.record import Record


class Product(Record):
    """So many layers multiply tokens by a k × n matrix."""

    n: float
    k: float
    layers: int
    module: Literal["attention", "mlp", "output"]


class RoutedExperts(Record):
    """Layers with routed experts, one rank's share.  `sources` data-parallel ranks send tokens."""

    layers: int
    experts: float
    chosen: float
    intermediate: float
    sources: int


class AttentionLayers(Record):
    """Attention layers of one rank; `window` None: the whole context is read."""

    layers: int
    heads: float
    kv_heads: float
    head_dim: float
    kv_values: float  # cached values of one token: 2 x KV heads x head size, or MLA's latent
    window: int | None


def products(model: ModelFacts, ranks: int) -> tuple[Product, ...]:
    """Dense products of all layers (attention projections, MLP, shared experts)."""
    layers = model.layers
    found = [*_attention_products(model, ranks)]
    moe_layers = layers - model.dense_layers if model.is_moe else 0
    if layers > moe_layers and model.intermediate_size:
        found += _mlp(model.hidden_size, model.intermediate_size / ranks, layers - moe_layers)
    if moe_layers and model.shared_expert_intermediate_size:
        shared = model.shared_expert_intermediate_size / ranks
        found += _mlp(model.hidden_size, shared, moe_layers)
    return tuple(found)


def routed_experts(
    model: ModelFacts, ranks: int, replicas: int, is_expert_parallel: bool
) -> RoutedExperts | None:
    """The routed experts, or None for a dense model.

    Expert parallelism spreads whole experts over all tensor- and data-parallel ranks; without it
    every tensor-parallel rank holds a slice of each expert.
    """
    if not model.is_moe:
        return None
    width = float(model.moe_intermediate_size or model.intermediate_size or 0)
    split = ranks * replicas if is_expert_parallel else 1
    return RoutedExperts(
        layers=model.layers - model.dense_layers,
        experts=model.experts / split,
        chosen=model.experts_per_token / split,
        intermediate=width if is_expert_parallel else width / ranks,
        sources=replicas if is_expert_parallel else 1,
    )


def attention_layers(model: ModelFacts, ranks: int) -> tuple[AttentionLayers, ...]:
    """Attention layers grouped by window.  Linear-attention and mamba layers are left out."""
    kinds = model.layer_kinds or ("full",) * model.layers
    windows: dict[int | None, int] = {}
    for kind in kinds:
        if kind in ("full", "sliding", "chunked"):
            window = {"sliding": model.sliding_window, "chunked": model.attention_chunk_size}
            windows[window.get(kind)] = windows.get(window.get(kind), 0) + 1
    heads = model.attention_heads / ranks
    kv_heads = max(1.0, model.kv_heads / ranks)
    head_dim, values = float(model.head_dim), 2.0 * kv_heads * model.head_dim
    if model.uses_mla:
        values = float((model.kv_lora_rank or 0) + (model.qk_rope_head_dim or 0))
        query_key = (model.qk_nope_head_dim or 0) + (model.qk_rope_head_dim or 0)
        kv_heads, head_dim = 1.0, (query_key + (model.v_head_dim or model.head_dim)) / 2
    return tuple(
        AttentionLayers(count, heads, kv_heads, head_dim, values, window)
        for window, count in windows.items()
    )


def activation_bytes(model: ModelFacts, ranks: int) -> float:
    """Bytes a token moves through memory in the small kernels of one decoder layer.

    Two norms that read and write hidden state and residual, the rotary embedding in place, keys and
    values into the cache, and gate × up of a dense MLP (that of experts is in their kernel), all in
    two bytes a value (vllm/model_executor/layers/layernorm.py, activation.py).
    """
    norms = 2 * 4 * model.hidden_size
    key_value = max(1.0, model.kv_heads / ranks) * model.head_dim
    rotary = 2 * (model.attention_heads / ranks * model.head_dim + key_value)
    cache = 4 * key_value
    gated = 0.0 if model.is_moe else 3 * (model.intermediate_size or 0) / ranks
    return 2.0 * (norms + rotary + cache + gated)


def _attention_products(model: ModelFacts, ranks: int) -> list[Product]:
    hidden, heads = float(model.hidden_size), model.attention_heads / ranks
    if not model.uses_mla:
        query = heads * model.head_dim
        key_value = 2 * max(1.0, model.kv_heads / ranks) * model.head_dim
        shapes = [(query + key_value, hidden), (hidden, query)]
    else:
        nope, rope = model.qk_nope_head_dim or 0, model.qk_rope_head_dim or 0
        latent, value = model.kv_lora_rank or 0, model.v_head_dim or model.head_dim
        compressed = float(model.q_lora_rank or hidden)
        shapes = [(compressed, hidden)] if model.q_lora_rank else []
        shapes += [(heads * (nope + rope), compressed), (latent + rope, hidden)]
        shapes += [(heads * (nope + value), latent), (hidden, heads * value)]
    return [Product(n, k, model.layers, "attention") for n, k in shapes]


def _mlp(hidden: float, intermediate: float, layers: int) -> list[Product]:
    """Gate and up projection in one product, then the down projection."""
    return [
        Product(2 * intermediate, hidden, layers, "mlp"),
        Product(hidden, intermediate, layers, "mlp"),
    ]
