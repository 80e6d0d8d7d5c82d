"""Bytes alive at the peak of a layer, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.activations import layer_bytes_per_token

# 8 of 64 experts of 1,536 for each token, beside one shared expert of 2,048.
MIXTURE = replace(
    LLAMA_8B,
    experts=64,
    experts_per_token=8,
    moe_intermediate_size=1536,
    shared_expert_intermediate_size=2048,
)


def test_a_dense_layer_keeps_the_products_of_its_mlp() -> None:
    """Three hidden states, and three times the intermediate size, two bytes each."""
    assert layer_bytes_per_token(inputs_of(LLAMA_8B)) == (3 * 4096 + 3 * 14336) * 2


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_token_has_a_copy_for_each_of_its_experts_beside_the_shared_one(ranks: int) -> None:
    """A copy is as wide as gate and up together, or as the hidden state, whichever is wider."""
    width = 1536 / ranks
    routed = 8 * (max(2 * width, 4096) + width)
    shared = 3 * 2048 / ranks
    found = layer_bytes_per_token(inputs_of(MIXTURE, tensor_parallel=ranks))
    assert found == (3 * 4096 + routed + shared) * 2


def test_layers_without_experts_of_a_mixture_count_where_they_are_wider() -> None:
    wide = replace(MIXTURE, dense_layers=1, intermediate_size=65536)
    assert layer_bytes_per_token(inputs_of(wide)) == (3 * 4096 + 3 * 65536) * 2
    assert layer_bytes_per_token(inputs_of(replace(wide, dense_layers=0))) < 2 * 3 * 65536
