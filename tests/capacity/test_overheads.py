"""Libraries, collectives and CUDA graphs, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B

from scheduler_reader.capacity.constants import Spread
from scheduler_reader.capacity.overheads import (
    are_graphs_in_budget,
    captured_graphs,
    cuda_graphs,
    non_torch,
)
from scheduler_reader.capacity.stages import stages
from scheduler_reader.knowledge.gpus import GIB

MIB = 1024 * 1024
ALONE = (0.1, 0.25, 0.6)  # GiB: low, best, high


def in_gib(found: Spread) -> tuple[float, float, float]:
    return found.low / GIB, found.best / GIB, found.high / GIB


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, (0, 0, 0)),
        ({"tensor_parallel": 2}, (0, 0.2, 1.3)),
        ({"pipeline_parallel": 2}, (0, 0.2, 1.3)),
        ({"tensor_parallel": 2, "pipeline_parallel": 2}, (0, 0.2, 1.3)),
        ({"used_bytes": 3 * GIB}, (0, 0, 0)),
        ({"release": "0.9.0", "used_bytes": 3 * GIB}, (3.35, 3.45, 3.6)),  # and the CUDA context
        ({"release": "0.8.5", "is_v0": True, "used_bytes": 3 * GIB}, (0, 0, 0)),
    ],
)
def test_libraries_and_what_is_counted_with_them(
    changes: dict[str, Any], more: tuple[float, float, float]
) -> None:
    by_hand = [own + other for own, other in zip(ALONE, more, strict=True)]
    assert in_gib(non_torch(inputs_of(LLAMA_8B, **changes))) == pytest.approx(by_hand)


def test_ranks_of_both_kinds_that_share_experts_have_collectives_once() -> None:
    moe = replace(LLAMA_8B, experts=8, experts_per_token=2, moe_intermediate_size=14336)
    found = non_torch(inputs_of(moe, tensor_parallel=2, data_parallel=2))
    assert in_gib(found) == pytest.approx((0.1, 0.45, 1.9))


@pytest.mark.parametrize(
    ("release", "ranks", "mib"),
    [
        ("0.18.0", 1, (0.15, 0.3, 0.6)),
        ("0.18.0", 2, (0.195, 0.39, 0.78)),
        ("0.20.0", 1, (0.1, 0.25, 0.8)),
    ],
)
def test_a_graph_takes_memory_for_every_layer(
    release: str, ranks: int, mib: tuple[float, float, float]
) -> None:
    """Ten graphs of 16 layers on each of two stages."""
    inputs = inputs_of(
        LLAMA_8B,
        release=release,
        tensor_parallel=ranks,
        graph_mode="PIECEWISE",
        capture_sizes=tuple(range(1, 11)),
    )
    found = cuda_graphs(inputs, stages(32, 2)[0])
    by_hand = [160 * size * MIB for size in mib]
    assert [found.low, found.best, found.high] == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("mode", "is_v0", "graphs"),
    [
        ("FULL", False, 4),
        ("FULL_DECODE_ONLY", False, 3),  # 1, 2 and 4 sequences, not 8
        ("FULL_AND_PIECEWISE", False, 7),
        ("NONE", False, 0),
        ("NONE", True, 4),  # V0 has no modes
    ],
)
def test_graphs_of_four_sizes_for_four_sequences(mode: str, is_v0: bool, graphs: int) -> None:
    settings = {"graph_mode": mode, "is_v0": is_v0, "max_num_seqs": 4}
    assert captured_graphs(inputs_of(LLAMA_8B, capture_sizes=(1, 2, 4, 8), **settings)) == graphs


@pytest.mark.parametrize(
    ("release", "variable", "is_taken"),
    [
        ("0.17.0", True, False),  # not read yet
        ("0.18.0", True, True),
        ("0.18.0", None, False),
        ("0.20.0", None, True),
        ("0.20.0", False, False),
    ],
)
def test_the_environment_decides_about_graphs_from_0_18(
    release: str, variable: bool | None, is_taken: bool
) -> None:
    inputs = inputs_of(LLAMA_8B, release=release, graphs_in_budget=variable)
    assert are_graphs_in_budget(inputs) is is_taken
    assert are_graphs_in_budget(inputs.changed(is_v0=True)) is False
