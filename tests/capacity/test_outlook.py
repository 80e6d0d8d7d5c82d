"""Whether an engine starts at the edges: no memory, room for no block, a check that may fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import H100, LLAMA_8B

from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import ModelFacts

COMPRESSED = replace(LLAMA_8B, extra={"compress_ratios": [4]})  # no KV layout is known for it


def look(model: ModelFacts = LLAMA_8B, **changes: Any) -> Outlook:
    return outlook(inputs_of(model, **changes))


def test_a_layout_that_is_not_known_holds_no_length() -> None:
    found = look(COMPRESSED, max_model_len=None)
    assert (found.longest, found.surely_longest, found.served_length) == (0, 0, 0)
    assert look(COMPRESSED, max_model_len=4096).served_length == 4096


@pytest.mark.parametrize(("memory", "starts"), [(0, False), (1, None)])
def test_without_any_memory_no_layout_starts(memory: int, starts: bool | None) -> None:
    assert look(COMPRESSED, kv_cache_memory_bytes=memory).starts is starts


@pytest.mark.parametrize(("blocks", "starts"), [(0.5, False), (1, True)])
def test_an_automatic_length_needs_room_for_a_block(blocks: float, starts: bool) -> None:
    memory = int(blocks * 16 * 128 * 1024)
    assert look(max_model_len=None, kv_cache_memory_bytes=memory).starts is starts


def test_a_check_that_may_fail_leaves_the_start_open() -> None:
    """0.45 GiB are left of the card, and the CUDA context takes 0.35 to 0.6."""
    asked = 1 - 0.45 * GIB / H100.memory_bytes
    found = look(utilization=asked)
    assert (found.starts, found.check) == (None, "free_memory")
    assert "to be free at start" in found.cause
    too_much = look(utilization=1 - 0.3 * GIB / H100.memory_bytes)
    assert (too_much.starts, too_much.check) == (False, "free_memory")


def test_a_check_that_fails_for_sure_decides_where_memory_may_be_enough() -> None:
    edge = look(max_model_len=None, utilization=0.35).longest
    open_ = {"max_model_len": edge, "length_cap": edge, "utilization": 0.35}
    assert look(**open_).starts is None
    beside = look(**open_, used_bytes=60 * GIB)
    assert (beside.starts, beside.check) == (False, "free_memory")
