"""The weight matrices of one rank's share of a decoder layer, by vLLM's fused modules.

Column-parallel modules split their outputs over tensor-parallel ranks, row-parallel ones their
inputs; KV heads are replicated when there are fewer than ranks (vllm/model_executor/layers/
linear.py, QKVParallelLinear).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from scheduler_reader.capacity.constants import table
from scheduler_reader.capacity.inputs import CapacityInputs, MissingFactError
from scheduler_reader.knowledge.models import LayerKind, ModelFacts
from scheduler_reader.record import Record


@dataclass(frozen=True, slots=True)
class Matrix:
    """`count` tensors of `outputs` x `inputs` elements; `module` is a checkpoint's name for one.

    `plain`: never quantized.  `derived`: made while loading, not in the checkpoint.
    """

    module: str
    outputs: float
    inputs: float
    count: int = 1
    plain: bool = False
    derived: bool = False


def layer_matrices(inputs: CapacityInputs, index: int, kind: LayerKind) -> Iterator[Matrix]:
    """The matrices of decoder layer `index` on one tensor-parallel rank."""
    prefix = f"model.layers.{index}"
    model, ranks = inputs.model, inputs.tensor_parallel
    if kind == "linear":
        yield from _linear_attention(model, ranks, f"{prefix}.linear_attn")
    elif kind == "mamba":
        yield from _mamba(model, ranks, f"{prefix}.mixer")
    elif kind != "none":
        attention = f"{prefix}.self_attn"
        yield from (
            _latent_attention(model, ranks, attention)
            if model.uses_mla
            else _attention(model, ranks, kind, attention)
        )
    pattern = model.extra.get("hybrid_pattern")  # one sublayer a layer: M, *, E or -
    if pattern and pattern[index] in "M*":
        return
    if has_experts(model, index):
        yield from _experts(inputs, f"{prefix}.mlp")
    elif width := intermediate_size(model, index):
        yield from _mlp(model, width / ranks, f"{prefix}.mlp")


def has_experts(model: ModelFacts, index: int) -> bool:
    """Whether a layer's MLP is a mixture of experts."""
    if not model.is_moe:
        return False
    if pattern := model.extra.get("hybrid_pattern"):
        return bool(pattern[index] == "E")
    return index in model.moe_layers if model.moe_layers else index >= model.dense_layers


def intermediate_size(model: ModelFacts, index: int) -> int:
    """The MLP width of a layer: a few models give one for every layer, or double some."""
    sizes = model.extra.get("intermediate_sizes")
    width = int(sizes[index] if sizes else model.intermediate_size or 0)
    shared = int(model.extra.get("kv_shared_layers") or 0)
    is_wide = model.extra.get("double_wide_mlp_in_shared_layers") and shared
    return 2 * width if is_wide and index >= model.layers - shared else width


def heads_per_rank(heads: int, ranks: int) -> int:
    """Heads on one rank, at least one: fewer heads than ranks are replicated."""
    return ceil(heads / ranks)


class AttentionShape(Record):
    """Heads of one attention layer, and the elements of a head's query or key and of its value."""

    heads: int
    kv_heads: int
    size: int
    value_size: int


def attention_shape(model: ModelFacts, kind: LayerKind) -> AttentionShape:
    """Gemma 4's full layers have heads of their own, MiMo V2's window layers have."""
    extra, heads, kv_heads = model.extra, model.attention_heads, model.kv_heads
    size, value_size = model.head_dim, model.v_head_dim or model.head_dim
    if kind == "full" and extra.get("global_head_dim"):
        size = value_size = extra["global_head_dim"]
        kv_heads = extra.get("global_kv_heads") or kv_heads
    elif kind == "sliding" and extra.get("swa_kv_heads"):
        heads, kv_heads = extra.get("swa_attention_heads") or heads, extra["swa_kv_heads"]
        size = extra.get("swa_head_dim") or size
        value_size = extra.get("swa_v_head_dim") or size
    return AttentionShape(int(heads), int(kv_heads), int(size), int(value_size))


def _attention(model: ModelFacts, ranks: int, kind: LayerKind, prefix: str) -> Iterator[Matrix]:
    shape = attention_shape(model, kind)
    heads, kv_heads = heads_per_rank(shape.heads, ranks), heads_per_rank(shape.kv_heads, ranks)
    query = heads * shape.size
    gate = query if model.extra.get("attention_output_gate") else 0
    is_shared = model.extra.get("attention_k_eq_v") and shape.size != model.head_dim
    key_value = kv_heads * (shape.size + (0 if is_shared else shape.value_size))
    yield Matrix(f"{prefix}.q_proj", query + gate + key_value, model.hidden_size)
    yield Matrix(f"{prefix}.o_proj", model.hidden_size, heads * shape.value_size)


def _latent_attention(model: ModelFacts, ranks: int, prefix: str) -> Iterator[Matrix]:
    """MLA: the down projections are replicated; the absorbed up projection is kept a second time.

    Source: vllm/model_executor/layers/mla.py and attention/mla_attention.py,
    process_weights_after_loading.
    """
    heads = heads_per_rank(model.attention_heads, ranks)
    latent, rope = int(model.kv_lora_rank or 0), int(model.qk_rope_head_dim or 0)
    nope, value = int(model.qk_nope_head_dim or 0), int(model.v_head_dim or 0)
    query = heads * (nope + rope)
    if model.q_lora_rank:
        down = model.q_lora_rank + latent + rope
        yield Matrix(f"{prefix}.q_a_proj", down, model.hidden_size)
        yield Matrix(f"{prefix}.q_b_proj", query, model.q_lora_rank)
    else:
        yield Matrix(f"{prefix}.q_proj", query, model.hidden_size)
        yield Matrix(f"{prefix}.kv_a_proj_with_mqa", latent + rope, model.hidden_size)
    yield Matrix(f"{prefix}.kv_b_proj", heads * (nope + value), latent)
    yield Matrix(f"{prefix}.kv_b_proj", heads * (nope + value), latent, plain=True, derived=True)
    if indexed := model.extra.get("index_head_dim"):  # sparse attention's indexer, replicated
        index_heads = fact(model, "index_n_heads")
        yield Matrix(f"{prefix}.indexer.wq_b", index_heads * indexed, int(model.q_lora_rank or 0))
        yield Matrix(f"{prefix}.indexer.wk", indexed + index_heads, model.hidden_size, plain=True)
    yield Matrix(f"{prefix}.o_proj", model.hidden_size, heads * value)


def _linear_attention(model: ModelFacts, ranks: int, prefix: str) -> Iterator[Matrix]:
    """Gated delta net.  Source: vllm/model_executor/models/qwen3_next.py."""
    keys = fact(model, "linear_key_heads") * fact(model, "linear_key_head_dim") / ranks
    value_heads = fact(model, "linear_value_heads") / ranks
    values = value_heads * fact(model, "linear_value_head_dim")
    yield Matrix(f"{prefix}.in_proj_qkv", 2 * keys + values, model.hidden_size)
    yield Matrix(f"{prefix}.in_proj_z", values, model.hidden_size)
    yield Matrix(f"{prefix}.in_proj_ba", 2 * value_heads, model.hidden_size)
    yield Matrix(f"{prefix}.conv1d", 2 * keys + values, fact(model, "linear_conv_kernel"), 1, True)
    yield Matrix(f"{prefix}.out_proj", model.hidden_size, values)


def _mamba(model: ModelFacts, ranks: int, prefix: str) -> Iterator[Matrix]:
    """Mamba 2.  Source: vllm/model_executor/layers/mamba/mamba_mixer2.py."""
    heads = fact(model, "mamba_heads") / ranks
    inner = heads * fact(model, "mamba_head_dim")
    groups = max(1, fact(model, "mamba_groups") / ranks) * fact(model, "ssm_state_size")
    yield Matrix(f"{prefix}.in_proj", 2 * inner + 2 * groups + heads, model.hidden_size)
    kernel = fact(model, "mamba_conv_kernel")
    yield Matrix(f"{prefix}.conv1d", inner + 2 * groups, kernel, plain=True)
    yield Matrix(f"{prefix}.out_proj", model.hidden_size, inner)


def _mlp(model: ModelFacts, width: float, prefix: str) -> Iterator[Matrix]:
    ways_in = 2 - is_ungated(model)
    yield Matrix(f"{prefix}.gate_proj", ways_in * width, model.hidden_size)
    yield Matrix(f"{prefix}.down_proj", model.hidden_size, width)


def is_ungated(model: ModelFacts) -> bool:
    """Whether an MLP has an up and a down matrix only, without a gate."""
    listed = model.architecture in table()["ungated_mlp"]
    return listed or model.extra.get("hidden_act") in ("relu", "relu2")


def _experts(inputs: CapacityInputs, prefix: str) -> Iterator[Matrix]:
    """Routed experts in two stacked tensors, the router, and shared experts.

    MXFP4 experts are padded to what their kernels want (vllm/model_executor/layers/quantization/
    mxfp4.py, create_weights).
    """
    model = inputs.model
    held, width = experts_per_rank(inputs)
    hidden = int(model.extra.get("moe_latent_size") or model.hidden_size)
    if hidden != model.hidden_size:  # into the experts' space and back
        yield Matrix(f"{prefix}.fc1_latent_proj", hidden, model.hidden_size)
        yield Matrix(f"{prefix}.fc2_latent_proj", model.hidden_size, hidden)
    if inputs.quantization and inputs.quantization.method == "mxfp4":
        multiples = table()["mxfp4_multiples"]
        hidden, width = (
            ceil(size / multiples[name]) * multiples[name]
            for name, size in (("hidden", hidden), ("intermediate", width))
        )
    yield Matrix(f"{prefix}.experts.0.gate_proj", held * (2 - is_ungated(model)) * width, hidden)
    yield Matrix(f"{prefix}.experts.0.down_proj", held * hidden, width)
    yield Matrix(f"{prefix}.gate", model.experts, model.hidden_size, plain=True)
    if model.shared_expert_intermediate_size:
        shared = model.shared_expert_intermediate_size / inputs.tensor_parallel
        yield from _mlp(model, shared, f"{prefix}.shared_expert")


def experts_per_rank(inputs: CapacityInputs) -> tuple[int, float]:
    """Experts one rank holds, and the intermediate size of its share of each.

    Expert parallelism deals whole experts to all tensor- and data-parallel ranks; without it they
    all share each expert (vllm/model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig).
    """
    width = inputs.model.moe_intermediate_size or inputs.model.intermediate_size
    if not width:
        raise MissingFactError(f"the expert size of {inputs.model.id} is not known")
    ranks = inputs.tensor_parallel * inputs.data_parallel
    if inputs.expert_parallel:
        return ceil(inputs.model.experts / ranks), width
    return inputs.model.experts, width / ranks


def fact(model: ModelFacts, name: str) -> Any:
    """A fact of the model's architecture; raises `MissingFactError` where it is not given."""
    value = model.extra.get(name)
    if value is None:
        raise MissingFactError(f"{name} of {model.id} is not known")
    return value
