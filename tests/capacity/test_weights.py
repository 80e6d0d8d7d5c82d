"""Weight bytes against arithmetic written out, and against sizes that vLLM logged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B, LLAMA_70B, LLAMA_70B_FP8

from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.stages import stages
from scheduler_reader.capacity.weights import MIB, allocated, is_listed, weight_bytes
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.quantization import Quantization
from scheduler_reader.knowledge.safetensors import StoredWeights

QWEN2_7B = replace(
    LLAMA_8B,
    id="qwen2-7b",
    hidden_size=3584,
    layers=28,
    attention_heads=28,
    kv_heads=4,
    intermediate_size=18944,
    vocab_size=152064,
    max_position_embeddings=32768,
)


def gib(inputs: CapacityInputs, stage: int = 0) -> float:
    held = stages(inputs.model.layers, inputs.pipeline_parallel)[stage]
    return weight_bytes(inputs, held) / GIB


def test_llama_8b_by_hand() -> None:
    qkv, out = 4096 * (32 + 8 + 8) * 128, 4096 * 4096
    mlp = 3 * 4096 * 14336
    embeddings = 2 * 128256 * 4096
    rotary = 131072 * 128
    by_hand = 2 * (32 * (qkv + out + mlp) + embeddings + rotary) / GIB
    assert by_hand == pytest.approx(14.988, abs=0.001)
    assert gib(inputs_of(LLAMA_8B)) == pytest.approx(by_hand, rel=1e-4)


@pytest.mark.parametrize(
    ("model", "ranks", "logged_gib"),
    [
        (LLAMA_8B, 1, 14.9888),  # vLLM 0.6.4
        (QWEN2_7B, 1, 14.2488),  # vLLM 0.10.1.1: 2 MiB pages add 2 MiB a layer
        (QWEN2_7B, 2, 7.1217),
    ],
)
def test_logged_sizes(model: ModelFacts, ranks: int, logged_gib: float) -> None:
    assert gib(inputs_of(model, tensor_parallel=ranks)) == pytest.approx(logged_gib, abs=0.002)


def test_llama_70b_fp8_keeps_embeddings_in_16_bits() -> None:
    linears = 80 * (8192 * 10240 + 8192 * 8192 + 3 * 8192 * 28672)
    embeddings = 2 * 128256 * 8192
    by_hand = (linears + 2 * embeddings) / GIB
    assert by_hand == pytest.approx(67.66, abs=0.01)
    assert gib(inputs_of(LLAMA_70B_FP8)) == pytest.approx(by_hand, rel=2e-3)


def test_online_fp8_equals_an_fp8_checkpoint() -> None:
    online = Quantization(method="fp8", weight_bits=8, unquantized=("lm_head",))
    assert gib(inputs_of(LLAMA_70B, quantization=online)) == gib(inputs_of(LLAMA_70B_FP8))


def test_a_scale_for_every_row_takes_four_bytes() -> None:
    held, fp8 = (
        stages(32, 1)[0],
        Quantization(method="fp8", weight_bits=8, unquantized=("lm_head",)),
    )
    matrices = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))  # rows, columns
    plain = 32 * sum(allocated(2 * rows * columns) for rows, columns in matrices)
    packed = 32 * sum(allocated(rows * columns) + 4 * rows for rows, columns in matrices)
    rest = weight_bytes(inputs_of(LLAMA_8B), held) - plain
    assert weight_bytes(inputs_of(LLAMA_8B, quantization=fp8), held) - packed == rest


def test_four_bits_with_groups_of_128() -> None:
    awq = Quantization(method="awq", weight_bits=4, group_size=128, unquantized=("lm_head",))
    linears = 32 * (4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336)
    per_weight = 0.5 + (2 + 0.5) / 128  # a 16-bit scale and a 4-bit zero point a group
    by_hand = linears * per_weight + 2 * 2 * 128256 * 4096 + 2 * 131072 * 128
    assert gib(inputs_of(LLAMA_8B, quantization=awq)) == pytest.approx(by_hand / GIB, rel=2e-3)


@pytest.mark.parametrize(
    ("method", "bits", "fields", "attention", "mlp", "embedding"),
    [  # bytes of one element, its share of a scale included
        ("gguf", 4, {}, 0.5, 0.5, 0.5),
        ("fp8", 8, {"block": (128, 128)}, 1 + 4 / 128**2, 1 + 4 / 128**2, 2),
        ("bitsandbytes", 4, {"group_size": 64}, 0.5 + 4 / 64, 0.5 + 4 / 64, 2),
        ("modelopt", 4, {"group_size": 16}, 0.5 + 1 / 16, 0.5 + 1 / 16, 2),
        ("gptq", 4, {"group_size": 128, "mixed_bits": {"*.mlp.*": 8}}, 66 / 128, 130 / 128, 2),
    ],
)
def test_bytes_of_an_element_in_other_formats(
    method: str,
    bits: float,
    fields: dict[str, Any],
    attention: float,
    mlp: float,
    embedding: float,
) -> None:
    format_ = Quantization(method=method, weight_bits=bits, unquantized=("lm_head",), **fields)
    by_hand = 32 * (4096 * 6144 + 4096 * 4096) * attention + 32 * 3 * 4096 * 14336 * mlp
    by_hand += 2 * 128256 * 4096 * embedding + 2 * 131072 * 128
    found = gib(inputs_of(LLAMA_8B, quantization=format_))
    assert found == pytest.approx(by_hand / GIB, rel=2e-3)


def test_tensor_parallel_replicates_kv_heads() -> None:
    """Sixteen ranks of eight KV heads: each holds one head, as eight ranks do."""
    eight, sixteen = (inputs_of(LLAMA_70B, tensor_parallel=n) for n in (8, 16))
    rotary = 2 * 131072 * 128 / GIB
    kv_rows = 2 * 80 * 2 * 128 * 8192 / GIB
    split_8, split_16 = (gib(i) - rotary - kv_rows for i in (eight, sixteen))
    assert split_16 == pytest.approx(split_8 / 2, rel=2e-3)


def test_vocabulary_is_padded_to_64_rows_a_rank() -> None:
    odd = replace(LLAMA_8B, vocab_size=128001)
    padded = replace(LLAMA_8B, vocab_size=128064)
    assert gib(inputs_of(odd)) == gib(inputs_of(padded))


def test_tied_embeddings_are_held_once_on_one_stage() -> None:
    tied = replace(LLAMA_8B, tied_embeddings=True)
    embedding = 2 * 128256 * 4096 / GIB
    assert gib(inputs_of(LLAMA_8B)) - gib(inputs_of(tied)) == pytest.approx(embedding, rel=1e-3)
    first, last = (gib(inputs_of(tied, pipeline_parallel=2), stage) for stage in (0, 1))
    assert first == last  # the last stage needs the matrix too


def test_lora_buffers() -> None:
    """Four adapters of rank 16: both sides of the four fused linear layers of each layer."""
    sides = 32 * ((4096 + 6144) + (4096 + 4096) + (4096 + 2 * 14336) + (14336 + 4096))
    with_adapters = gib(inputs_of(LLAMA_8B, lora_rows=4 * 16))
    assert with_adapters - gib(inputs_of(LLAMA_8B)) == pytest.approx(sides * 64 * 2 / GIB)


def test_mixture_of_experts_with_and_without_expert_parallelism() -> None:
    moe = replace(LLAMA_8B, experts=8, experts_per_token=2, moe_intermediate_size=14336)
    dense_share = gib(inputs_of(LLAMA_8B, tensor_parallel=4))
    split = gib(inputs_of(moe, tensor_parallel=4))
    dealt = gib(inputs_of(moe, tensor_parallel=4, expert_parallel=True))
    one_expert = 2 * 32 * 3 * 4096 * 14336 / GIB
    assert split == pytest.approx(dense_share + 7 * one_expert / 4, rel=2e-3)
    assert dealt == pytest.approx(split, rel=2e-3)


@pytest.mark.parametrize(
    ("layers", "count", "sizes"),
    [(80, 1, [80]), (32, 3, [11, 11, 10]), (61, 4, [15, 15, 16, 15])],
)
def test_left_over_layers_go_before_the_last_stage(
    layers: int, count: int, sizes: list[int]
) -> None:
    assert [stage.layers for stage in stages(layers, count)] == sizes


@pytest.mark.parametrize(
    ("size", "handed_out"),
    [
        (100, 512),
        (5 * MIB, 5 * MIB),
        (int(31.5 * MIB), 32 * MIB),  # half a MiB over: kept
        (int(24.5 * MIB), int(24.5 * MIB)),  # a MiB and a half over: given back
    ],
)
def test_allocator(size: int, handed_out: int) -> None:
    assert allocated(size) == handed_out


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        ("lm_head", False),
        ("self_attn", True),
        ("model.layers.3.self_attn.q_proj", True),
        ("model.layers.31.self_attn.q_proj", False),
        ("re:.*self_attn.*", True),
        ("*q_proj", True),
        ("q_pro", False),
    ],
)
def test_module_patterns(pattern: str, is_match: bool) -> None:
    assert is_listed("model.layers.3.self_attn.q_proj", [pattern]) is is_match


def test_latent_experts_work_in_a_smaller_space() -> None:
    """Eight experts between 1,024 elements, with projections of 4,096 x 1,024 into it and back."""
    moe = replace(LLAMA_8B, experts=8, experts_per_token=2, moe_intermediate_size=14336)
    latent = replace(moe, extra={"moe_latent_size": 1024})
    saved = 32 * (8 * 3 * 14336 * (4096 - 1024) - 2 * 4096 * 1024)
    assert gib(inputs_of(moe)) - gib(inputs_of(latent)) == pytest.approx(2 * saved / GIB, rel=1e-3)


def test_only_the_listed_layers_have_experts() -> None:
    every = replace(LLAMA_8B, experts=8, experts_per_token=2, moe_intermediate_size=14336)
    half = replace(every, moe_layers=tuple(range(1, 32, 2)))
    seven_experts = 2 * 16 * 7 * 3 * 4096 * 14336 / GIB
    assert gib(inputs_of(every)) - gib(inputs_of(half)) == pytest.approx(seven_experts, rel=2e-3)


def test_embeddings_of_their_own_and_wide_mlps_of_layers_that_share_kv() -> None:
    """256 elements a token and layer for 1,000 tokens; 20 of 32 layers have twice the MLP."""
    extra = {
        "per_layer_input_size": 256,
        "vocab_per_layer_input": 1000,
        "kv_shared_layers": 20,
        "double_wide_mlp_in_shared_layers": True,
    }
    tables = 32 * 256 * (1000 + 4096 + 2 * 4096)
    wide = 20 * 3 * 4096 * 14336
    found = gib(inputs_of(replace(LLAMA_8B, extra=extra))) - gib(inputs_of(LLAMA_8B))
    assert found == pytest.approx(2 * (tables + wide) / GIB, rel=1e-3)


def test_a_local_checkpoint_gives_the_sizes_and_shapes_how_they_are_split() -> None:
    """A tenth more in the files than the shapes say is a tenth more on each rank."""
    table = 131072 * 128 * 2 / GIB
    shaped = gib(inputs_of(LLAMA_8B)) - table
    stored = StoredWeights(round(1.1 * shaped * GIB), 0, 0)
    model = replace(LLAMA_8B, stored=stored)
    assert gib(inputs_of(model)) == pytest.approx(1.1 * shaped + table, rel=1e-6)
    share = gib(inputs_of(LLAMA_8B, tensor_parallel=4)) - table
    assert gib(inputs_of(model, tensor_parallel=4)) == pytest.approx(1.1 * share + table, rel=1e-4)


def test_weights_that_are_quantized_while_loading_are_not_those_of_the_files() -> None:
    online = Quantization(method="fp8", weight_bits=8)
    model = replace(LLAMA_8B, stored=StoredWeights(10**12, 0, 0))
    found = gib(inputs_of(model, quantization=online))
    assert found == gib(inputs_of(LLAMA_8B, quantization=online))


def test_a_draft_model_stands_beside_the_target() -> None:
    drafting = inputs_of(LLAMA_70B, draft_method="draft_model", draft_model=LLAMA_8B)
    both = gib(inputs_of(LLAMA_70B)) + gib(inputs_of(LLAMA_8B))
    assert gib(drafting) == pytest.approx(both)


@pytest.mark.parametrize(("pipeline", "ranks"), [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_parameters_that_no_matrix_explains_are_spread_like_the_layers(
    pipeline: int, ranks: int
) -> None:
    """Two billion parameters more than the shapes give, of two bytes each."""
    settings = {"pipeline_parallel": pipeline, "tensor_parallel": ranks}
    known = replace(LLAMA_8B, parameters=None)
    more = replace(LLAMA_8B, parameters=8_030_261_248 + 2_000_000_000)
    found = gib(inputs_of(more, **settings)) - gib(inputs_of(known, **settings))
    assert found * GIB == pytest.approx(2 * 2e9 / pipeline / ranks, rel=1e-3)
