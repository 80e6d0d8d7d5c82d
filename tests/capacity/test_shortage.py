"""Why an engine does not start, in words and with the bytes that are short."""

from __future__ import annotations

from typing import Any

import pytest
from capacity_inputs import inputs_of
from known_models import LLAMA_8B, LLAMA_70B, LLAMA_70B_FP8

from scheduler_reader.capacity.fit import Outlook, outlook
from scheduler_reader.capacity.shortage import explain
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.knowledge.models import ModelFacts


def look(model: ModelFacts = LLAMA_8B, **changes: Any) -> Outlook:
    return outlook(inputs_of(model, **changes))


@pytest.mark.parametrize(
    ("memory_gib", "length", "words"),
    [
        (
            2,
            32768,
            "32,768 needs 4.00 GiB of KV cache a GPU and 2.00 GiB is left, 2.00 GiB short; the "
            "largest max_model_len that fits is 16,384",
        ),
        (
            0.001,
            16384,
            "16,384 needs 2.00 GiB of KV cache a GPU and 0.00 GiB is left, 2.00 GiB short; none fits",
        ),
        (
            0.001,
            None,
            "1 needs 0.00 GiB of KV cache a GPU and 0.00 GiB is left, 0.00 GiB short; none fits",
        ),
    ],
)
def test_one_request_is_too_long(memory_gib: float, length: int | None, words: str) -> None:
    """A token takes 128 KiB, a block of 16 takes 2 MiB."""
    memory = int(memory_gib * GIB)
    found = look(kv_cache_memory_bytes=memory, max_model_len=length)
    assert explain(found) == f"does not start: one request of max_model_len {words}"


def test_one_request_may_be_too_long() -> None:
    longest = look(LLAMA_70B_FP8).longest
    at_the_edge = look(LLAMA_70B_FP8, max_model_len=longest)
    room = longest * 327_680 / GIB
    assert explain(at_the_edge) == (
        f"may not start: one request of max_model_len {longest:,} needs {room:.2f} GiB of KV cache "
        f"and about {room:.2f} GiB is left, within the spread of the estimate"
    )
    beyond = explain(look(LLAMA_70B_FP8, max_model_len=longest + 200))
    assert beyond.startswith("may not start") and "a GPU and" in beyond
    assert explain(look()) == "starts"


def test_weights_that_exceed_the_budget_are_named_with_it() -> None:
    assert explain(look(LLAMA_70B, max_model_len=2048)) == (
        "does not start: weights alone need 131.4 GiB a GPU and the budget is 71.3 GiB (0.9 of "
        "79.2): 60.2 GiB short"
    )
    assert "31.7 GiB (0.4 of 79.2): 99.8 GiB short" in explain(look(LLAMA_70B, utilization=0.4))


def test_what_others_hold_is_named_where_the_budget_pays_for_it() -> None:
    found = look(LLAMA_70B_FP8, utilization=0.87, release="0.8.5", used_bytes=2.6 * GIB)
    assert "weights 67.7 GiB, other processes' 2.6 GiB and working memory" in explain(found)


@pytest.mark.parametrize("memory", [0, 1])
def test_no_memory_for_blocks_is_no_short_length(memory: int) -> None:
    words = explain(look(kv_cache_memory_bytes=memory, max_model_len=16))
    assert ("no memory is left for KV blocks" in words) == (memory == 0)
