"""Model facts: what a `config.json` says about layers, heads, experts, weights and precision."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LayerKind = Literal["full", "sliding", "chunked", "linear", "mamba", "none"]


class Quantization(BaseModel):
    """How a checkpoint's linear layers are stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str  # fp8, awq, gptq, compressed-tensors, modelopt, mxfp4, bitsandbytes, …
    weight_bits: float  # 8 for fp8; 4 for awq, gptq, nvfp4, mxfp4
    activation_bits: float | None = None  # 8 where activations are quantized too (W8A8)
    group_size: int | None = None  # weights that share a scale; None: per tensor or channel
    block: tuple[int, int] | None = None  # block-fp8: weight_block_size
    unquantized: tuple[str, ...] = ()  # module name patterns that stay in the model dtype
    kv_cache_dtype: str | None = None  # a KV quantization the checkpoint declares
    raw: dict[str, Any] = Field(default_factory=dict)  # quantization_config as published


class ModelFacts(BaseModel):
    """One model.  Sizes are elements; a field that the source does not give is None."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    architecture: str  # config.json architectures[0]
    model_type: str | None = None
    dtype: str = "bfloat16"  # torch_dtype of the checkpoint
    hidden_size: int
    layers: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int | None = None
    vocab_size: int
    max_position_embeddings: int | None = None
    rope_scaling: dict[str, Any] | None = None
    tied_embeddings: bool = False
    sliding_window: int | None = None
    attention_chunk_size: int | None = None
    layer_kinds: tuple[LayerKind, ...] = ()  # one a layer; empty: all full attention
    # latent attention (MLA)
    kv_lora_rank: int | None = None
    q_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    qk_nope_head_dim: int | None = None
    v_head_dim: int | None = None
    # mixture of experts
    experts: int = 0
    experts_per_token: int = 0
    moe_intermediate_size: int | None = None
    shared_expert_intermediate_size: int | None = None  # of all shared experts together
    dense_layers: int = 0  # leading layers without experts
    # other parts
    vision: dict[str, Any] | None = None
    mtp_layers: int = 0
    extra: dict[str, Any] = Field(default_factory=dict)  # mamba, linear attention and other facts
    quantization: Quantization | None = None
    parameters: float | None = None  # published count
    weight_bytes: int | None = None  # published size of the checkpoint
    is_pooling: bool = False
    is_encoder_decoder: bool = False
    aliases: tuple[str, ...] = ()
    source: str

    @property
    def is_moe(self) -> bool:
        return self.experts > 0

    @property
    def uses_mla(self) -> bool:
        return self.kv_lora_rank is not None

    @property
    def is_hybrid(self) -> bool:
        """Attention layers beside mamba or linear-attention layers."""
        return any(kind in ("linear", "mamba") for kind in self.layer_kinds)

    @property
    def is_dense_full_attention(self) -> bool:
        """Plain MHA/GQA/MQA in every layer, no experts: the simple case of the capacity model."""
        return not self.is_moe and not self.uses_mla and all(k == "full" for k in self.layer_kinds)
