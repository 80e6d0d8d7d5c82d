"""What makes room, and how much of a card is there at all, worked by hand."""

from __future__ import annotations

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B, LLAMA_70B, LLAMA_70B_FP8

from scheduler_reader.capacity import remedies
from scheduler_reader.capacity.fit import outlook
from scheduler_reader.capacity.refusals import free_memory
from scheduler_reader.capacity.remedies import find_remedies
from scheduler_reader.knowledge.gpus import GIB


def test_the_cuda_context_is_gone_before_the_engine_starts() -> None:
    """0.35 to 0.6 GiB, best 0.45, and what others hold: the more is gone, the less is left."""
    free = free_memory(inputs_of(LLAMA_8B))
    left = [(H100.memory_bytes - bytes_) / GIB for bytes_ in (free.low, free.best, free.high)]
    assert left == pytest.approx([0.6, 0.45, 0.35])


@pytest.mark.parametrize(
    ("utilization", "first"), [(0.5, 0.51), (0.9, 0.91), (0.29, 0.3)]
)  # 0.29 x 100 is 28.999…
def test_utilizations_above_the_present_one_are_tried(utilization: float, first: float) -> None:
    tried = remedies._utilizations(inputs_of(LLAMA_8B, utilization=utilization))
    assert (
        tried[0] == first and tried[-1] == remedies.highest_utilization(inputs_of(LLAMA_8B)) / 100
    )


@pytest.mark.parametrize(
    ("gpus", "pipeline", "data", "counts"),
    [(8, 1, 1, [2, 4, 8]), (8, 2, 1, [2, 4]), (8, 2, 2, [2]), (6, 3, 1, [2]), (None, 1, 1, None)],
)
def test_ranks_are_of_the_gpus_that_are_stated(gpus, pipeline, data, counts) -> None:
    inputs = inputs_of(LLAMA_70B, gpus_stated=gpus, pipeline_parallel=pipeline, data_parallel=data)
    found = remedies._rank_counts(inputs)
    assert found == (counts if counts is not None else [2, 4, 8, 16][: len(found)])
    assert found[-1] <= (gpus or remedies.MOST_RANKS)


def test_more_gpus_come_after_every_setting_that_is_enough() -> None:
    """24 GiB of the card, of which weights take 15: a length of 131,072 tokens needs 16."""
    found = find_remedies(outlook(inputs_of(LLAMA_8B, utilization=0.3)))
    assert [remedy.setting for remedy in found] == [
        "max_model_len",
        "gpu_memory_utilization",
        "tensor_parallel_size",
    ]
    assert found[0].value <= found[0].largest_max_model_len < 131072
    assert found[1].largest_max_model_len == 131072


def test_where_no_length_is_sure_settings_make_room_for_one_before_gpus_are_named() -> None:
    """Weights of 68 GiB on a card of 79: at the low end, 1,536 tokens are left."""
    settings = {"utilization": 0.9, "max_num_seqs": 1024}
    *ours, last = find_remedies(outlook(inputs_of(LLAMA_70B_FP8, **settings)))
    assert [remedy.setting for remedy in ours] == [
        "gpu_memory_utilization",
        "max_num_batched_tokens",
        "max_num_seqs",
        "kv_cache_dtype",
    ]
    assert ours[0].value == 0.95  # all the room that it can make
    for remedy in ours:
        assert remedy.max_model_len is not None
        changed = {
            "gpu_memory_utilization": "utilization",
            "max_num_batched_tokens": "token_budget",
        }
        changed |= {"kv_cache_dtype": "kv_dtype"}
        field = changed.get(remedy.setting, remedy.setting)
        then = settings | {field: remedy.value, "max_model_len": remedy.max_model_len}
        assert outlook(inputs_of(LLAMA_70B_FP8, **then)).starts is True
    assert (last.setting, last.max_model_len) == ("tensor_parallel_size", None)


@pytest.mark.parametrize(
    ("changes", "budgets"),
    [
        ({}, [4096, 2048]),
        ({"max_num_seqs": 4096}, [4096]),  # each sequence takes a token of a step
        ({"chunks_prompts": False}, []),  # a prompt has to fit into one step
    ],
)
def test_token_budgets_are_halved_as_far_as_they_serve(changes, budgets) -> None:
    inputs = inputs_of(LLAMA_8B, **{"max_num_seqs": 256, "token_budget": 8192} | changes)
    assert remedies._token_budgets(inputs) == budgets
