"""State of recurrent layers: bytes of one layer's state, its blocks, and the block made to hold it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.inputs import MissingFactError
from scheduler_reader.capacity.recurrent import aligned_block_size, state_blocks, state_bytes

MAMBA = replace(
    LLAMA_8B,
    layer_kinds=("mamba", "full"),
    layers=2,
    extra={
        "ssm_state_size": 128,
        "mamba_heads": 64,
        "mamba_head_dim": 32,
        "mamba_groups": 2,
        "mamba_conv_kernel": 4,
    },
)
LINEAR = replace(
    LLAMA_8B,
    layer_kinds=("linear", "full"),
    layers=2,
    extra={
        "linear_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_heads": 32,
        "linear_value_head_dim": 64,
        "linear_conv_kernel": 4,
    },
)


@pytest.mark.parametrize(
    ("ranks", "channels"),
    [
        (1, 2048 + 2 * 2 * 128),  # 64 heads of 32, and two groups' B and C
        (4, 2048 + 2 * 4 * 128),  # fewer groups than ranks: one on each rank
    ],
)
def test_a_mamba_state_by_hand(ranks: int, channels: int) -> None:
    by_hand = (3 * channels * 2 + 2048 * 128 * 2) / ranks
    assert state_bytes(inputs_of(MAMBA, tensor_parallel=ranks)) == by_hand


def test_channels_of_a_mamba_layer_are_its_own_and_those_of_its_groups() -> None:
    """64 heads of 6, and three groups' B and C of 128 states."""
    extra = MAMBA.extra | {"mamba_head_dim": 6, "mamba_groups": 3}
    by_hand = 3 * (64 * 6 + 2 * 3 * 128) * 2 + 64 * 6 * 128 * 2
    assert state_bytes(inputs_of(replace(MAMBA, extra=extra))) == by_hand


def test_a_linear_attention_state_by_hand() -> None:
    """Channels: keys twice, 2 x 16 x 128, and 32 x 64 values; the state: 2,048 values x 128."""
    assert state_bytes(inputs_of(LINEAR)) == 3 * (4096 + 2048) * 2 + 2048 * 128 * 2
    wide = inputs_of(LINEAR, tensor_parallel=2, state_dtype="float32", draft_tokens=2)
    assert state_bytes(wide) == (5 * (4096 + 2048) * 2 + 2048 * 128 * 4) / 2


def test_an_attention_block_is_long_enough_for_a_state() -> None:
    """539,648 B of state over 4,096 B a token: 131.75 tokens, so nine times 16."""
    assert state_bytes(inputs_of(MAMBA)) == 539_648
    assert aligned_block_size(inputs_of(MAMBA), 4096) == 144
    assert aligned_block_size(inputs_of(MAMBA, block_size=256), 4096) == 256


@pytest.mark.parametrize(
    ("release", "caches", "mamba", "linear"),
    [
        ("0.11.0", True, 1, 1),
        ("0.11.2", True, 0, 0),  # a state for every block
        ("0.11.2", False, 1, 1),  # and a block as long as the request
        ("0.15.0", False, 4, 4),  # one, and one a draft token
        ("0.15.0", True, 0, 5),  # mamba can start from any block's state
        ("0.32.0", True, 5, 5),
    ],
)
def test_blocks_of_a_request_with_three_drafts(
    release: str, caches: bool, mamba: int, linear: int
) -> None:
    settings = {"release": release, "caches_prefixes": caches, "draft_tokens": 3}
    assert state_blocks(inputs_of(MAMBA, **settings)) == mamba
    assert state_blocks(inputs_of(LINEAR, **settings)) == linear


@pytest.mark.parametrize("name", ["ssm_state_size", "mamba_groups", "mamba_conv_kernel"])
def test_a_state_of_unknown_size_is_no_number(name: str) -> None:
    extra = {key: value for key, value in MAMBA.extra.items() if key != name}
    with pytest.raises(MissingFactError, match=f"{name} of llama-3.1-8b is not known"):
        state_bytes(inputs_of(replace(MAMBA, extra=extra)))
