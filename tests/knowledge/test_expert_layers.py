"""Which layers have experts, in the fields by which each family of models says so."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_reader.knowledge.expert_layers import expert_facts

LAYERS = 6


def facts(config: dict[str, Any]) -> dict[str, Any]:
    spelled = {"experts": 8, "experts_per_token": 2, "moe_intermediate_size": 100}
    return expert_facts(config, {**spelled, **config}.get, LAYERS)


@pytest.mark.parametrize(
    ("config", "with_experts"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"dense_layers": 2}, [2, 3, 4, 5]),
        ({"hybrid_override_pattern": "M-E*EM"}, [2, 4]),
        ({"layers_block_type": ["mamba", "moe", "attention", "moe", "moe", "mlp"]}, [1, 3, 4]),
        ({"mlp_layer_types": ["dense", "sparse", "sparse", "dense", "sparse", "dense"]}, [1, 2, 4]),
        ({"moe_layer_freq": [0, 1, 0, 1, 1, 1]}, [1, 3, 4, 5]),
        ({"moe_layers": [5, 3, 1]}, [1, 3, 5]),
        ({"expert_layer_period": 2, "expert_layer_offset": 1}, [1, 3, 5]),
        ({"interleave_moe_layer_step": 2}, [1, 3, 5]),
        ({"decoder_sparse_step": 3}, [2, 5]),
        ({"mlp_only_layers": [0, 4]}, [1, 2, 3, 5]),
        ({"moe_layer_freq": 2, "dense_layers": 1}, [2, 4]),
    ],
)
def test_layers_with_experts(config: dict[str, Any], with_experts: list[int]) -> None:
    found = facts(config)
    held = found["moe_layers"] or range(found["dense_layers"], LAYERS)
    assert list(held) == with_experts


@pytest.mark.parametrize(
    ("config", "shared"),
    [
        ({}, None),
        ({"n_shared_experts": 2}, 200),
        ({"num_shared_experts": 1}, 100),
        ({"n_shared_experts": 2, "moe_shared_expert_intermediate_size": 300}, 600),
        ({"moe_shared_expert_intermediate_size": 300}, 300),
        ({"shared_expert_intermediate_size": 70}, 70),
        ({"model_type": "llama4_text", "intermediate_size": 900}, 900),
        ({"enable_moe_block": True, "intermediate_size": 900}, 900),
    ],
)
def test_size_of_shared_experts(config: dict[str, Any], shared: int | None) -> None:
    assert facts(config)["shared_expert_intermediate_size"] == shared


def test_one_expert_is_a_dense_model() -> None:
    assert expert_facts({}, {"experts": 1}.get, LAYERS) == {}


def test_experts_without_a_size_are_refused() -> None:
    with pytest.raises(ValueError, match="moe_intermediate_size is missing"):
        expert_facts({}, {"experts": 4}.get, LAYERS)
    assert expert_facts({"intermediate_size": 9}, {"experts": 4}.get, LAYERS)["experts"] == 4
