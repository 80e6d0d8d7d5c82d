"""What makes room, and how much of a card is there at all, worked by hand."""

from __future__ import annotations

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B, LLAMA_70B

from scheduler_reader.capacity import remedies
from scheduler_reader.capacity.refusals import free_memory
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
