"""Parameters counted from a model's shapes against the published count: the shapes are right."""

from __future__ import annotations

import re

import pytest

from scheduler_reader.knowledge.models import ModelFacts, all_models

PUBLISHED = [model for model in all_models() if model.parameters and not model.is_encoder_decoder]
SIZE = r"-(\d\d+)B\b"
NAMED = [m for m in all_models() if not m.parameters and re.search(SIZE, m.id)]
UNGATED = {"OPTForCausalLM", "GPT2LMHeadModel", "FalconForCausalLM", "Starcoder2ForCausalLM"}
UNGATED |= {"NemotronHForCausalLM"}
# What the decoder does not hold: vision towers and projectors, and what the published count adds.
BESIDE = {
    "Qwen2_5_VLForConditionalGeneration": 0.67e9,
    "Qwen2VLForConditionalGeneration": 0.66e9,
    "Gemma3ForConditionalGeneration": 0.42e9,
    "Mistral3ForConditionalGeneration": 0.44e9,
    "LlavaNextForConditionalGeneration": 0.33e9,
    "Phi3VForCausalLM": 0.33e9,
    "MllamaForConditionalGeneration": 0.91e9,
    "Llama4ForConditionalGeneration": 0.86e9,
    "Gemma4ForConditionalGeneration": 0.45e9,  # of E2B: vision 0.15, audio 0.3
}


def counted(model: ModelFacts) -> float:
    """Matrices and embeddings of the decoder; norms and biases are below 0.1 %."""
    heads = range(model.layers)
    embeddings = model.vocab_size * model.hidden_size * (1 if model.tied_embeddings else 2)
    embeddings += per_layer_embeddings(model)
    return embeddings + sum(mixer(model, n) + feed_forward(model, n) for n in heads)


def per_layer_embeddings(model: ModelFacts) -> float:
    """Gemma 4 E2B: a table a layer, the projection into all of them, a gate and a projection."""
    size = model.extra.get("per_layer_input_size", 0)
    rows = model.extra.get("vocab_per_layer_input", 0)
    return model.layers * size * (rows + 3 * model.hidden_size)


def mixer(model: ModelFacts, layer: int) -> float:
    kind = model.layer_kinds[layer] if model.layer_kinds else "full"
    hidden, extra = model.hidden_size, model.extra
    if kind == "none":
        return 0
    if kind == "mamba":
        inner = extra["mamba_heads"] * extra["mamba_head_dim"]
        state = 2 * extra["mamba_groups"] * extra["ssm_state_size"]
        return hidden * (2 * inner + state + extra["mamba_heads"]) + inner * hidden
    if kind == "linear":
        keys = extra["linear_key_heads"] * extra["linear_key_head_dim"]
        values = extra["linear_value_heads"] * extra["linear_value_head_dim"]
        return hidden * (2 * keys + 2 * values) + values * hidden
    if model.uses_mla:
        latent, rope = model.kv_lora_rank, model.qk_rope_head_dim
        query = model.attention_heads * (model.qk_nope_head_dim + rope)
        up = model.attention_heads * (model.qk_nope_head_dim + model.v_head_dim)
        down = (model.q_lora_rank or 0) + latent + rope
        query_up = (model.q_lora_rank or hidden) * query
        return (
            hidden * down
            + query_up
            + latent * up
            + model.attention_heads * model.v_head_dim * hidden
        )
    queries = model.attention_heads * model.head_dim
    gate = queries if extra.get("attention_output_gate") else 0
    return hidden * (2 * queries + gate + 2 * model.kv_heads * model.head_dim)


def feed_forward(model: ModelFacts, layer: int) -> float:
    matrices = 2 if model.architecture in UNGATED else 3
    hidden, pattern = model.hidden_size, model.extra.get("hybrid_pattern")
    has_experts = layer in model.moe_layers or (
        not model.moe_layers and layer >= model.dense_layers
    )
    if model.is_moe and has_experts:
        shared = model.shared_expert_intermediate_size or 0
        latent = (
            model.extra.get("moe_latent_size") or hidden
        )  # experts may work in a smaller space than the residual stream
        routed = matrices * latent * model.experts * model.moe_intermediate_size
        reduction = 0 if latent == hidden else 2 * hidden * latent
        return routed + reduction + matrices * hidden * shared + hidden * model.experts
    if pattern and pattern[layer] != "-":
        return 0  # Nemotron-H: a layer is a mixer or an MLP
    sizes = model.extra.get("intermediate_sizes")
    shared = model.extra.get("kv_shared_layers", 0)
    is_wide = model.extra.get("double_wide_mlp_in_shared_layers") and layer >= model.layers - shared
    width = sizes[layer] if sizes else model.intermediate_size
    return matrices * hidden * width * (2 if is_wide else 1)


def qwen3_vision(sizes: dict[str, int]) -> float:
    """Encoder layers, position embeddings, and a merger at the end and for each deepstack layer."""
    hidden, merged = sizes["hidden_size"], sizes["spatial_merge_size"] ** 2 * sizes["hidden_size"]
    layer = 4 * hidden**2 + 2 * hidden * sizes["intermediate_size"]
    merger = merged**2 + merged * sizes["out_hidden_size"]
    positions = sizes["num_position_embeddings"] * hidden
    return sizes["depth"] * layer + (1 + sizes.get("deepstack_layers", 0)) * merger + positions


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda model: model.id)
def test_shapes_give_the_published_count(model: ModelFacts) -> None:
    beside = BESIDE.get(model.architecture, 0)
    if model.vision and model.architecture.startswith("Qwen3"):
        beside = qwen3_vision(model.vision)
    assert counted(model) + beside == pytest.approx(model.parameters, rel=0.03)


@pytest.mark.parametrize("model", NAMED, ids=lambda model: model.id)
def test_shapes_give_the_size_in_the_name(model: ModelFacts) -> None:
    """Where no count is published, the billions in the name are near, and they are rounded."""
    stated = float(re.search(SIZE, model.id)[1])
    assert counted(model) == pytest.approx(stated * 1e9, rel=0.06)


def test_llama_3_1_8b_by_hand() -> None:
    model = next(m for m in PUBLISHED if m.id == "meta-llama/Llama-3.1-8B-Instruct")
    layer = 4096 * (4096 + 4096 + 1024 + 1024) + 3 * 4096 * 14336
    assert counted(model) == 32 * layer + 2 * 128256 * 4096
