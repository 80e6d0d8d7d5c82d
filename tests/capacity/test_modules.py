"""The matrices of one layer on one rank, by hand: rows, columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.inputs import MissingFactError
from scheduler_reader.capacity.modules import heads_per_rank, intermediate_size, layer_matrices
from scheduler_reader.knowledge.models import LayerKind, ModelFacts
from scheduler_reader.knowledge.quantization import Quantization


def matrices(
    model: ModelFacts, kind: LayerKind = "full", index: int = 0, **changes: object
) -> dict[str, tuple[float, float]]:
    """`{module: (outputs, inputs)}`; a second matrix of the same module is called `module again`."""
    found: dict[str, tuple[float, float]] = {}
    for matrix in layer_matrices(inputs_of(model, **changes), index, kind):
        name = matrix.module.removeprefix(f"model.layers.{index}.")
        found[f"{name} again" if name in found else name] = (matrix.outputs, matrix.inputs)
    return found


MLP = {"mlp.gate_proj": (2 * 14336, 4096), "mlp.down_proj": (4096, 14336)}
LATENT = replace(
    LLAMA_8B,
    attention_heads=16,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    qk_nope_head_dim=128,
    v_head_dim=128,
)


def test_latent_attention_on_two_ranks() -> None:
    """Eight of 16 heads; down projections of 1,536 + 512 + 64 rows are whole on every rank."""
    found = matrices(LATENT, tensor_parallel=2)
    assert {name: size for name, size in found.items() if "attn" in name} == {
        "self_attn.q_a_proj": (1536 + 512 + 64, 4096),
        "self_attn.q_b_proj": (8 * 192, 1536),
        "self_attn.kv_b_proj": (8 * 256, 512),
        "self_attn.kv_b_proj again": (8 * 256, 512),
        "self_attn.o_proj": (4096, 8 * 128),
    }


def test_latent_attention_without_a_latent_query() -> None:
    found = matrices(replace(LATENT, q_lora_rank=None))
    assert found["self_attn.q_proj"] == (16 * 192, 4096)
    assert found["self_attn.kv_a_proj_with_mqa"] == (512 + 64, 4096)
    assert "self_attn.q_a_proj" not in found


def test_the_indexer_of_sparse_attention() -> None:
    found = matrices(replace(LATENT, extra={"index_head_dim": 128, "index_n_heads": 64}))
    assert found["self_attn.indexer.wq_b"] == (64 * 128, 1536)
    assert found["self_attn.indexer.wk"] == (128 + 64, 4096)
    with pytest.raises(MissingFactError, match="index_n_heads"):
        matrices(replace(LATENT, extra={"index_head_dim": 128}))


def test_a_mamba_layer_on_four_ranks_keeps_one_group() -> None:
    extra = {
        "ssm_state_size": 128,
        "mamba_heads": 64,
        "mamba_head_dim": 32,
        "mamba_groups": 2,
        "mamba_conv_kernel": 4,
    }
    found = matrices(replace(LLAMA_8B, extra=extra), "mamba", tensor_parallel=4)
    inner, group, heads = 16 * 32, 128, 16
    assert found == {
        "mixer.in_proj": (2 * inner + 2 * group + heads, 4096),
        "mixer.conv1d": (inner + 2 * group, 4),
        "mixer.out_proj": (4096, inner),
        "mlp.gate_proj": (2 * 14336 / 4, 4096),
        "mlp.down_proj": (4096, 14336 / 4),
    }


def test_a_gated_delta_net_on_two_ranks() -> None:
    extra = {
        "linear_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_heads": 32,
        "linear_value_head_dim": 64,
        "linear_conv_kernel": 4,
    }
    found = matrices(replace(LLAMA_8B, extra=extra), "linear", tensor_parallel=2)
    keys, values = 8 * 128, 16 * 64
    assert {name: size for name, size in found.items() if not name.startswith("mlp.")} == {
        "linear_attn.in_proj_qkv": (2 * keys + values, 4096),
        "linear_attn.in_proj_z": (values, 4096),
        "linear_attn.in_proj_ba": (2 * 16, 4096),
        "linear_attn.conv1d": (2 * keys + values, 4),
        "linear_attn.out_proj": (4096, values),
    }


@pytest.mark.parametrize(
    ("kind", "shared", "rows"),
    [
        ("full", True, 32 * 256 + 2 * 256),  # keys are the values too, in the larger heads
        ("full", False, 32 * 256 + 2 * 2 * 256),
        ("sliding", True, 32 * 128 + 2 * 8 * 128),
    ],
)
def test_keys_that_are_values_are_kept_once(kind: LayerKind, shared: bool, rows: int) -> None:
    extra = {"global_head_dim": 256, "global_kv_heads": 2, "attention_k_eq_v": shared}
    found = matrices(replace(LLAMA_8B, extra=extra), kind)
    assert found["self_attn.q_proj"] == (rows, 4096)


def test_what_keeps_its_precision_in_a_quantized_layer() -> None:
    model = replace(LATENT, extra={"index_head_dim": 128, "index_n_heads": 64}, experts=8)
    model = replace(model, experts_per_token=2, moe_intermediate_size=1024)
    plain = {
        matrix.module.removeprefix("model.layers.0.")
        for matrix in layer_matrices(inputs_of(model), 0, "full")
        if matrix.plain
    }
    absorbed = "self_attn.kv_b_proj"  # its second copy, taken apart
    assert plain == {absorbed, "self_attn.indexer.wk", "mlp.gate"}


def test_a_layer_without_attention_has_its_mlp_only() -> None:
    assert matrices(LLAMA_8B, "none") == MLP


@pytest.mark.parametrize(
    ("index", "modules"),
    [
        (0, {"self_attn.q_proj", "self_attn.o_proj"}),  # *: attention, no MLP
        (1, {"mlp.gate_proj", "mlp.down_proj"}),  # -: a dense MLP
        (2, {"mlp.experts.0.gate_proj", "mlp.experts.0.down_proj", "mlp.gate"}),  # E: experts
    ],
)
def test_a_pattern_gives_one_sublayer_a_layer(index: int, modules: set[str]) -> None:
    model = replace(
        LLAMA_8B,
        layers=3,
        experts=8,
        experts_per_token=2,
        moe_intermediate_size=1024,
        extra={"hybrid_pattern": "*-E"},
    )
    assert set(matrices(model, "full" if index == 0 else "none", index)) == modules


def test_mxfp4_experts_are_padded() -> None:
    """gpt-oss on two ranks: 2,880 elements to 3,072, half of the 2,880 of width to 1,536."""
    model = replace(
        LLAMA_8B,
        hidden_size=2880,
        experts=32,
        experts_per_token=4,
        moe_intermediate_size=2880,
        quantization=Quantization(method="mxfp4", weight_bits=4),
    )
    found = matrices(model, tensor_parallel=2)
    assert found["mlp.experts.0.gate_proj"] == (32 * 2 * 1536, 3072)
    assert found["mlp.experts.0.down_proj"] == (32 * 3072, 1536)


def test_a_shared_expert_is_split_and_an_ungated_one_has_two_matrices() -> None:
    moe = replace(
        LLAMA_8B,
        experts=8,
        experts_per_token=2,
        moe_intermediate_size=1024,
        shared_expert_intermediate_size=2048,
        extra={"hidden_act": "relu2"},
    )
    found = matrices(moe, tensor_parallel=2)
    assert found["mlp.experts.0.gate_proj"] == (8 * 512, 4096)
    assert found["mlp.shared_expert.gate_proj"] == (1024, 4096)
    assert found["mlp.shared_expert.down_proj"] == (4096, 1024)


def test_experts_of_unknown_size_are_no_number() -> None:
    model = replace(LLAMA_8B, experts=8, experts_per_token=2, intermediate_size=None)
    with pytest.raises(MissingFactError, match=r"the expert size of llama-3.1-8b is not known"):
        matrices(model)


def test_a_latent_of_other_sizes() -> None:
    """Three heads of 96 + 96 elements, values of 32, a latent of 96 and a query's of 100."""
    model = replace(
        LATENT,
        attention_heads=3,
        q_lora_rank=100,
        kv_lora_rank=96,
        qk_rope_head_dim=96,
        qk_nope_head_dim=96,
        v_head_dim=32,
        extra={"index_head_dim": 96, "index_n_heads": 96},
    )
    found = matrices(model)
    assert {name: size for name, size in found.items() if "attn" in name} == {
        "self_attn.q_a_proj": (100 + 96 + 96, 4096),
        "self_attn.q_b_proj": (3 * 192, 100),
        "self_attn.kv_b_proj": (3 * 128, 96),
        "self_attn.kv_b_proj again": (3 * 128, 96),
        "self_attn.indexer.wq_b": (96 * 96, 100),
        "self_attn.indexer.wk": (96 + 96, 4096),
        "self_attn.o_proj": (4096, 3 * 32),
    }
    direct = matrices(replace(model, q_lora_rank=None, extra={}))
    assert direct["self_attn.kv_a_proj_with_mqa"] == (96 + 96, 4096)


@pytest.mark.parametrize(
    ("heads", "ranks", "held"), [(8, 1, 8), (8, 2, 4), (10, 4, 3), (8, 16, 1), (1, 4, 1)]
)
def test_heads_of_a_rank(heads: int, ranks: int, held: int) -> None:
    assert heads_per_rank(heads, ranks) == held


def test_a_gate_of_the_attention_output_is_as_wide_as_the_query() -> None:
    found = matrices(replace(LLAMA_8B, extra={"attention_output_gate": True}))
    assert found["self_attn.q_proj"] == (2 * 4096 + 2 * 8 * 128, 4096)


@pytest.mark.parametrize(
    ("extra", "widths"),
    [
        ({}, [64, 64, 64]),
        ({"kv_shared_layers": 1}, [64, 64, 64]),
        ({"double_wide_mlp_in_shared_layers": True}, [64, 64, 64]),
        ({"double_wide_mlp_in_shared_layers": True, "kv_shared_layers": 2}, [64, 128, 128]),
        ({"intermediate_sizes": [8, 16, 32]}, [8, 16, 32]),
    ],
)
def test_widths_of_the_mlp_by_layer(extra: dict[str, object], widths: list[int]) -> None:
    model = replace(LLAMA_8B, layers=3, intermediate_size=64, extra=extra)
    assert [intermediate_size(model, index) for index in range(3)] == widths


def test_only_the_last_layers_are_wide() -> None:
    extra = {"double_wide_mlp_in_shared_layers": True, "kv_shared_layers": 2}
    model = replace(LLAMA_8B, layers=5, intermediate_size=64, extra=extra)
    assert [intermediate_size(model, index) for index in range(5)] == [64, 64, 64, 128, 128]


def test_windows_with_narrower_heads() -> None:
    """16 heads of 64 query elements, four of 64 keys and 32 values."""
    extra = {"swa_kv_heads": 4, "swa_attention_heads": 16, "swa_head_dim": 64, "swa_v_head_dim": 32}
    found = matrices(replace(LLAMA_8B, extra=extra), "sliding")
    assert found["self_attn.q_proj"] == (16 * 64 + 4 * (64 + 32), 4096)
    assert found["self_attn.o_proj"] == (4096, 16 * 32)


@pytest.mark.parametrize("method", ["fp8", "awq", "nvfp4"])
def test_experts_of_other_formats_are_not_padded(method: str) -> None:
    format_ = Quantization(method=method, weight_bits=4)
    moe = replace(LLAMA_8B, experts=2, moe_intermediate_size=1000, quantization=format_)
    found = matrices(replace(moe, hidden_size=2880))
    assert found["mlp.experts.0.down_proj"] == (2 * 2880, 1000)


def test_a_model_without_a_width_has_no_mlp() -> None:
    found = matrices(replace(LLAMA_8B, intermediate_size=None))
    assert set(found) == {"self_attn.q_proj", "self_attn.o_proj"}


@pytest.mark.parametrize(("ranks", "groups"), [(1, 3), (2, 1.5), (4, 1)])
def test_groups_of_a_mamba_layer_are_split_down_to_one(ranks: int, groups: float) -> None:
    extra = {
        "ssm_state_size": 128,
        "mamba_heads": 64,
        "mamba_head_dim": 32,
        "mamba_groups": 3,
        "mamba_conv_kernel": 4,
    }
    found = matrices(replace(LLAMA_8B, extra=extra), "mamba", tensor_parallel=ranks)
    assert found["mixer.conv1d"] == (64 * 32 / ranks + 2 * groups * 128, 4)
    mixer = layer_matrices(inputs_of(replace(LLAMA_8B, extra=extra)), 0, "mamba")
    assert [matrix.module for matrix in mixer if matrix.plain] == ["model.layers.0.mixer.conv1d"]


def test_each_module_of_a_layer_is_one_tensor() -> None:
    extra = {
        "linear_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_heads": 32,
        "linear_value_head_dim": 64,
        "linear_conv_kernel": 4,
    }
    found = list(layer_matrices(inputs_of(replace(LLAMA_8B, extra=extra)), 0, "linear"))
    assert [matrix.count for matrix in found] == [1] * 7
    assert [matrix.module for matrix in found if matrix.plain] == [
        "model.layers.0.linear_attn.conv1d"
    ]


@pytest.mark.parametrize(("ranks", "held"), [(1, 10), (2, 5), (4, 3)])
def test_experts_that_ranks_do_not_divide_are_rounded_up(ranks: int, held: int) -> None:
    moe = replace(LLAMA_8B, experts=10, experts_per_token=2, moe_intermediate_size=1024)
    found = matrices(moe, tensor_parallel=ranks, expert_parallel=True)
    assert found["mlp.experts.0.down_proj"] == (held * 4096, 1024)
