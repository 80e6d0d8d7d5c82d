"""Checks beside the fit of one request: memory that must be free, a block for every state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B

from scheduler_reader.capacity.budget import block_pool, stage_budgets, stage_weights
from scheduler_reader.capacity.inputs import CapacityInputs
from scheduler_reader.capacity.refusals import Refusal, refused
from scheduler_reader.knowledge.gpus import GIB

HYBRID = replace(
    LLAMA_8B,
    layer_kinds=("mamba", "full") * 16,
    extra={
        "ssm_state_size": 128,
        "mamba_heads": 64,
        "mamba_head_dim": 32,
        "mamba_groups": 2,
        "mamba_conv_kernel": 4,
    },
)


def refusal(inputs: CapacityInputs, *, low: float = 1, high: float = 1) -> Refusal | None:
    """With the pool's memory scaled at its ends."""
    budgets = stage_budgets(inputs, stage_weights(inputs))
    pool = block_pool(inputs, budgets)
    best = pool.best
    ends = [
        best._replace(memory=tuple(part * size for size in best.memory)) for part in (low, high)
    ]
    return refused(inputs, budgets, pool._replace(low=ends[0], high=ends[1]))


def eight_b(**changes: Any) -> CapacityInputs:
    return inputs_of(LLAMA_8B, **changes)


@pytest.mark.parametrize(
    ("left_gib", "found"),  # the CUDA context takes 0.35 to 0.6
    [(0.61, None), (0.59, False), (0.36, False), (0.34, True)],
)
def test_the_utilization_asks_for_what_must_be_free(left_gib: float, found: bool | None) -> None:
    asks = {"utilization": 1 - left_gib * GIB / H100.memory_bytes}
    answer = refusal(eight_b(**asks))
    assert (answer and answer.is_certain) is found
    assert refusal(eight_b(**asks, release="0.9.0")) is None  # not checked yet
    assert refusal(eight_b(**asks, release="0.9.1", is_v0=True)) is None


def test_what_must_be_free_in_words() -> None:
    assert refusal(eight_b(utilization=0.999)) == Refusal(
        "free_memory",
        True,
        "gpu_memory_utilization 0.999 asks for 79.1 GiB to be free at start, and the CUDA context "
        "leaves 78.7 of 79.2 GiB",
    )
    assert refusal(eight_b(used_bytes=9.5 * GIB)) == Refusal(
        "free_memory",
        True,
        "gpu_memory_utilization 0.9 asks for 71.3 GiB to be free at start, and beside the 9.5 GiB of "
        "other processes the CUDA context leaves 69.2 of 79.2 GiB",
    )


@pytest.mark.parametrize(
    ("used_gib", "found"),  # 71.27 GiB are taken, and a context of 0.35 to 0.6
    [(0, None), (7.3, None), (7.34, False), (7.55, False), (7.58, True)],
)
def test_the_v0_engine_takes_what_others_hold(used_gib: float, found: bool | None) -> None:
    settings = {"release": "0.8.5", "used_bytes": used_gib * GIB}
    answer = refusal(eight_b(**settings, is_v0=True))
    assert (answer and answer.is_certain) is found
    assert answer is None or answer.reason.startswith(
        "out of memory: the engine takes 71.3 GiB, and beside the 7."
    )
    assert refusal(eight_b(**settings)) is None  # V1 of then counts them


def hybrid(sequences: int, **changes: Any) -> CapacityInputs:
    """An engine of exactly 512 blocks."""
    settings = {"release": "0.20.0", "max_num_seqs": sequences, "blocks_override": None} | changes
    inputs = inputs_of(HYBRID, kv_cache_memory_bytes=1, **settings)
    pool = block_pool(inputs, stage_budgets(inputs, stage_weights(inputs)))
    return inputs.changed(kv_cache_memory_bytes=512 * pool.layout.block_bytes)


@pytest.mark.parametrize(
    ("sequences", "low", "high", "found"),
    [
        (512, 1, 1, None),
        (513, 1, 1, True),
        (512, 0.5, 2, False),
        (256, 0.5, 2, None),
        (257, 0.5, 2, False),
        (1024, 0.5, 2, False),
        (1025, 0.5, 2, True),
    ],
)
def test_full_graphs_want_a_block_for_the_state_of_every_sequence(
    sequences: int, low: float, high: float, found: bool | None
) -> None:
    answer = refusal(hybrid(sequences), low=low, high=high)
    assert (answer and answer.is_certain) is found
    assert answer is None or answer.reason == (
        f"max_num_seqs {sequences:,} is more than the about 512 KV blocks: each sequence of this "
        "hybrid model needs one for its state"
    )


@pytest.mark.parametrize(
    "changes", [{"release": "0.19.1"}, {"graph_mode": "PIECEWISE"}, {"graph_mode": "NONE"}]
)
def test_without_full_graphs_or_their_check_states_may_be_more(changes: dict[str, str]) -> None:
    assert refusal(hybrid(1000, **changes)) is None
