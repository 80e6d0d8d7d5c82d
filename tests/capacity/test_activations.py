"""Bytes alive at the peak of a layer, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.activations import (
    layer_bytes_per_token,
    profile_peak,
    sampler_peak,
)
from scheduler_reader.capacity.constants import spread, table
from scheduler_reader.capacity.stages import stages

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


@pytest.mark.parametrize(("ranks", "heads"), [(1, 32 + 8), (2, 16 + 4), (16, 2 + 1)])
def test_attention_counts_where_it_is_wider_than_the_mlp(ranks: int, heads: int) -> None:
    """Query and output of each query head, key and value of each KV head, 128 elements each."""
    narrow = replace(LLAMA_8B, intermediate_size=64)
    found = layer_bytes_per_token(inputs_of(narrow, tensor_parallel=ranks))
    assert found == (3 * 4096 + 2 * heads * 128) * 2
    as_many = replace(narrow, kv_heads=32)
    wide = layer_bytes_per_token(inputs_of(as_many))
    assert wide == (3 * 4096 + 2 * (32 + 32) * 128) * 2


def test_wide_experts_without_a_shared_one() -> None:
    """Gate and up of 3,072 together are wider than the hidden state of 4,096."""
    wide = replace(MIXTURE, moe_intermediate_size=3072, shared_expert_intermediate_size=None)
    assert layer_bytes_per_token(inputs_of(wide)) == (3 * 4096 + 8 * 3 * 3072) * 2


def test_two_ranks_that_gather_their_tokens_hold_them_and_their_results() -> None:
    routed = 2 * 8 * (4096 + 1536) + 2 * 2 * 4096
    found = layer_bytes_per_token(inputs_of(MIXTURE, gathered_ranks=2))
    assert found == (3 * 4096 + routed + 3 * 2048) * 2


def test_the_run_peaks_in_a_layer_where_little_is_sampled() -> None:
    """8,192 tokens of a layer, against a few rows of logits, or none on another stage."""
    layer = spread(table()["layer_activation"]).scaled(8192 * (3 * 4096 + 3 * 14336) * 2)
    first, last = stages(32, 2)
    few, many, pooling = (
        inputs_of(LLAMA_8B, max_num_seqs=1),
        inputs_of(LLAMA_8B),
        inputs_of(replace(LLAMA_8B, is_pooling=True)),
    )
    assert profile_peak(few, last) == profile_peak(many, first) == layer
    assert profile_peak(many, last) == sampler_peak(many) != layer
    assert profile_peak(pooling, last) == layer


@pytest.mark.parametrize(
    ("settings", "sequences", "each"),
    [
        ({"release": "0.18.0"}, 8, 14),
        ({"release": "0.18.0"}, 3, 50),
        ({"release": "0.18.0"}, 7, 50),  # up to seven rows take the path with larger temporaries
        ({"release": "0.10.0"}, 256, 38),
        ({"release": "0.10.0", "runs_image": True}, 256, 14),  # which has FlashInfer
        ({"release": "0.11.1", "runs_image": True}, 256, 38),  # and is asked for it
        ({"release": "0.11.1", "uses_flashinfer_sampler": True}, 256, 14),
        ({"release": "0.10.0", "is_v0": True, "runs_image": True}, 256, 38),
        ({"release": "0.10.0", "is_v0": True, "uses_flashinfer_sampler": True}, 128, 50),
        ({"release": "0.18.0", "uses_second_runner": True}, 256, 4),
        ({"release": "0.24.0", "draft_method": "eagle3"}, 256, 34),
        ({"release": "0.24.0", "draft_method": "eagle3", "uses_second_runner": True}, 256, 4),
        ({"release": "0.8.5", "draft_method": "eagle", "is_v0": True}, 256, 38),
    ],
)
def test_bytes_of_a_logit_by_release_and_sampler(settings, sequences: int, each: int) -> None:
    """Beside two copies of the hidden states of 8,192 tokens, two bytes an element."""
    found = sampler_peak(inputs_of(LLAMA_8B, max_num_seqs=sequences, **settings))
    assert found.best == sequences * 128256 * each + 8192 * 2 * 4096 * 2


def test_the_v0_engine_is_never_taken_to_sample_with_flashinfer() -> None:
    """36 to 41 bytes a logit; V1 of that release may have it installed, and then 7."""
    low = {
        is_v0: sampler_peak(inputs_of(LLAMA_8B, release="0.10.0", is_v0=is_v0)).low
        for is_v0 in (True, False)
    }
    assert low[True] - low[False] == 1024 * 128256 * (36 - 7)
