"""The values of each setting that are tried to make room, and the lengths that are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B, LLAMA_70B_FP8

from scheduler_reader.capacity import remedies
from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.remedies import find_remedies, safe_length
from scheduler_reader.knowledge.gpus import GIB


@pytest.mark.parametrize(
    ("seats", "tried"),
    [(256, [128, 64, 32, 16]), (33, [16]), (32, [16]), (31, []), (100, [50, 25])],
)
def test_seats_are_halved_down_to_sixteen(seats: int, tried: list[int]) -> None:
    assert remedies._sequences(inputs_of(LLAMA_8B, max_num_seqs=seats)) == tried


@pytest.mark.parametrize(
    ("changes", "tried"),
    [
        ({"token_budget": 16384}, [8192, 4096, 2048]),
        ({"token_budget": 4095}, []),
        ({"token_budget": 4096}, [2048]),
        ({"token_budget": 16384, "block_size": 8192}, [8192]),  # a block is computed at once
    ],
)
def test_token_budgets_hold_a_block(changes: dict[str, int], tried: list[int]) -> None:
    assert remedies._token_budgets(inputs_of(LLAMA_8B, **changes)) == tried


@pytest.mark.parametrize(
    ("capability", "kv_dtype", "tried"),
    [
        ("9.0", "bfloat16", ["fp8"]),
        ("8.9", "bfloat16", ["fp8"]),
        ("8.6", "bfloat16", []),
        ("9.0", "fp8", []),
        ("9.0", "fp8_e5m2", []),
    ],
)
def test_eight_bits_for_kv_where_the_card_computes_in_them(
    capability: str, kv_dtype: str, tried: list[str]
) -> None:
    card = replace(H100, compute_capability=capability)
    assert remedies._kv_dtypes(inputs_of(LLAMA_8B, gpu=card, kv_dtype=kv_dtype)) == tried


@pytest.mark.parametrize(
    ("changes", "tried"),
    [
        ({"utilization": 0.93}, [0.94, 0.95]),
        ({"utilization": 0.945}, [0.95]),
        ({"utilization": 0.95}, []),
        ({"utilization": 0.96}, [0.95]),
        ({"utilization": 0.93, "kv_cache_memory_bytes": 10**9}, []),  # it would change nothing
        ({"utilization": 0.93, "used_bytes": 7.92 * GIB}, [0.89]),  # 0.9 less a context of 0.6
        ({"utilization": 0.88, "used_bytes": 7.92 * GIB}, [0.89]),
        ({"utilization": 0.93, "used_bytes": 79 * GIB}, []),
        ({"utilization": 0.93, "used_bytes": 7.92 * GIB, "release": "0.9.0"}, [0.94, 0.95]),
    ],
)
def test_utilizations_up_to_what_others_leave(changes: dict[str, Any], tried: list[float]) -> None:
    assert remedies._utilizations(inputs_of(LLAMA_8B, **changes)) == tried


@pytest.mark.parametrize(
    ("heads", "ranks", "stated", "counts"),
    [
        (32, 1, None, [2, 4, 8]),
        (32, 2, None, [4, 8]),
        (28, 1, None, [2, 4]),  # eight do not divide them
        (32, 1, 5, [2, 4]),
        (32, 8, None, []),
    ],
)
def test_ranks_are_doubled(heads: int, ranks: int, stated: int | None, counts: list[int]) -> None:
    model = replace(LLAMA_8B, attention_heads=heads)
    inputs = inputs_of(model, tensor_parallel=ranks, gpus_stated=stated)
    assert remedies._rank_counts(inputs) == counts


def holding(tokens: int, block_size: int = 16, **changes: Any) -> Outlook:
    """An engine whose blocks hold so many tokens, at both ends."""
    settings = {"block_size": block_size, "kv_cache_memory_bytes": tokens * 128 * 1024}
    return outlook(inputs_of(LLAMA_8B, **settings | changes))


@pytest.mark.parametrize(
    ("tokens", "length"),
    [
        (9216, 9216),
        (9215, 8192),
        (8192, 8192),
        (8191, 7936),  # 31 x 256
        (1280, 1280),
        (1279, 1024),
        (1024, 1024),
        (1023, 1008),  # 63 blocks
        (16, 16),
        (15, 0),
    ],
)
def test_lengths_that_are_written(tokens: int, length: int) -> None:
    assert safe_length(holding(tokens)) == length


def test_a_length_within_the_first_block_is_written_as_it_is() -> None:
    assert safe_length(holding(64, block_size=64, length_cap=40)) == 40
    assert safe_length(holding(2048, length_cap=1000)) == 992  # 62 whole blocks
    unknown = replace(LLAMA_8B, extra={"compress_ratios": [4]})
    assert safe_length(outlook(inputs_of(unknown))) == 0


@pytest.mark.parametrize(("tokens", "proposed"), [(2048, [2048]), (2047, [])])
def test_a_length_below_2048_is_no_help(tokens: int, proposed: list[int]) -> None:
    found = find_remedies(
        holding(tokens, gpus_stated=1, gpu=replace(H100, compute_capability="8.0"))
    )
    assert [one.value for one in found if one.setting == "max_model_len"] == proposed


def test_the_first_step_that_is_enough_is_named() -> None:
    """One step less, and it does not surely start."""
    settings = {"utilization": 0.3, "max_model_len": 57344, "gpus_stated": 1}
    found = {one.setting: one for one in find_remedies(outlook(inputs_of(LLAMA_8B, **settings)))}
    raised, fewer = found["gpu_memory_utilization"].value, found["max_num_seqs"].value
    for changes, less in (
        ({"utilization": raised}, {"utilization": round(raised - 0.01, 2)}),
        ({"max_num_seqs": fewer}, {"max_num_seqs": 2 * fewer}),
    ):
        assert outlook(inputs_of(LLAMA_8B, **settings | changes)).starts is True
        assert outlook(inputs_of(LLAMA_8B, **settings | less)).starts is not True
    assert found["max_num_seqs"].max_model_len is None


def test_an_automatic_length_is_not_shortened() -> None:
    """70B in 8 bits at 0.86: the budget is below weights and libraries."""
    settings = {"utilization": 0.86, "gpus_stated": 1, "max_num_seqs": 16, "token_budget": 2048}
    fixed = find_remedies(outlook(inputs_of(LLAMA_70B_FP8, **settings)))
    assert [one.setting for one in fixed if one.max_model_len] == ["gpu_memory_utilization"]
    automatic = find_remedies(outlook(inputs_of(LLAMA_70B_FP8, **settings, max_model_len=None)))
    assert not any(one.max_model_len for one in automatic)
