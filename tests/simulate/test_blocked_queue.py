"""Whether the head of the queue stays blocked while others only decode, counted by hand.

Eleven blocks of 16 can be used.  One request runs and has all but `free` of them; its first `hit`
tokens are those of the request that waits.  0.18.0 looks at the first chunk, 0.33.0 at all tokens.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.admission import Admission
from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.kv_manager import NO_HIT
from scheduler_reader.simulate.prefix_cache import PrefixKVManager
from scheduler_reader.simulate.request import Request


def queue_of_one(
    prompt: int,
    *,
    free: int,
    hit: int = 0,
    version: str = "0.18.0",
    stale: int = 0,
    computed: int = 0,
    **settings: Any,
) -> Admission:
    config = EngineConfig(
        max_num_seqs=8,
        max_num_batched_tokens=512,
        max_model_len=512,
        num_gpu_blocks=12,
        **settings,
    )
    behaviour = behaviour_of(Release(version))
    kv = PrefixKVManager(config, behaviour, Overlap(1))
    runs = Request(0, 0, 16 * (11 - free), 9, prefix_group=0, prefix_tokens=hit)
    assert kv.admit(runs, runs.prompt_tokens, NO_HIT, beside_others=False)
    assert kv.free == free
    queue = Admission(config, behaviour, kv, [runs])
    waits = Request(1, 1, prompt, 9, prefix_group=0, prefix_tokens=hit, stale=stale)
    waits.computed = computed
    queue.add(waits)
    return queue


def stays_blocked(prompt: int, *, budget: int, **settings: Any) -> bool:
    return queue_of_one(prompt, **settings).stays_blocked(budget)


@pytest.mark.parametrize(("prompt", "is_blocked"), [(144, False), (145, True)])
def test_what_is_found_in_the_cache_needs_no_blocks(prompt: int, is_blocked: bool) -> None:
    """Nine blocks, two of them found and held by the other: the seven that are free are enough."""
    found = {"version": "0.33.0", "hit": 32, "budget": 512}
    assert stays_blocked(prompt, free=7, **found) == is_blocked
    assert stays_blocked(prompt, free=7, version="0.33.0", budget=512)  # nothing in common


@pytest.mark.parametrize(
    ("prompt", "budget", "threshold", "is_blocked"),
    [
        (200, 64, 0, True),  # four blocks for a chunk of 64
        (200, 32, 0, False),  # two for one of 32
        (200, 64, 32, False),
        (200, 24, 64, False),
        (32, 64, 64, False),  # two for the whole prompt
        (33, 64, 64, True),
    ],
)
def test_two_free_blocks_hold_a_first_chunk_of_32(
    prompt: int, budget: int, threshold: int, is_blocked: bool
) -> None:
    settings = {"long_prefill_token_threshold": threshold}
    assert stays_blocked(prompt, free=2, budget=budget, **settings) == is_blocked


@pytest.mark.parametrize(
    ("budget", "threshold", "is_sure"),
    [(64, 0, True), (63, 0, False), (100, 0, True), (100, 64, True), (100, 63, False)],
)
def test_a_chunk_behind_a_hit_is_unsure_unless_the_whole_prompt_fits_the_step(
    budget: int, threshold: int, is_sure: bool
) -> None:
    """What is found may be gone later, and then the chunk of 63 tokens begins at the first."""
    settings = {"hit": 32, "free": 1, "long_prefill_token_threshold": threshold}
    assert stays_blocked(64, budget=budget, **settings) == is_sure
    settings["hit"] = 0  # nothing is found: a chunk is the same later
    assert stays_blocked(64, budget=budget, **settings)
    assert stays_blocked(64, budget=budget, version="0.33.0", **settings)


@pytest.mark.parametrize(("free", "is_blocked"), [(1, True), (2, False)])
def test_a_whole_prompt_behind_a_hit_takes_the_blocks_of_its_rest(
    free: int, is_blocked: bool
) -> None:
    assert stays_blocked(64, hit=32, free=free, budget=64) == is_blocked


def test_who_is_passed_over_is_not_blocked() -> None:
    """With its own output in flight, or with more tokens than an unchunked step takes."""
    assert stays_blocked(16, free=0, budget=64)
    assert not stays_blocked(16, free=0, budget=64, stale=1)
    whole = {"enable_chunked_prefill": False, "version": "0.33.0"}
    assert not stays_blocked(101, free=0, budget=100, **whole)
    assert stays_blocked(100, free=0, budget=100, **whole)
    assert stays_blocked(10, free=0, budget=100, **whole)
    assert not stays_blocked(133, hit=32, free=0, budget=100, **whole)
    assert stays_blocked(132, hit=32, free=0, budget=100, **whole)
    assert stays_blocked(101, free=0, budget=100, version="0.33.0")  # in chunks it is looked at


def test_the_watermark_is_kept_beside_those_who_run() -> None:
    """A quarter of twelve blocks: of three, none can be had."""
    assert stays_blocked(16, free=3, budget=64, watermark=0.25)
    assert not stays_blocked(16, free=4, budget=64, watermark=0.25)


@pytest.mark.parametrize(("free", "joins"), [(4, False), (5, True)])
def test_who_owes_a_rejected_draft_is_not_looked_up(free: int, joins: bool) -> None:
    """To 0.11.0 a rejection may leave a preempted request one token short of nothing: it computes
    66 tokens for its 65, in five blocks, though two of them could be found.
    """
    settings = {"free": free, "hit": 32, "computed": -1, "version": "0.10.0"}
    assert stays_blocked(65, budget=100, **settings) != joins
    queue, batch = queue_of_one(65, **settings), Batch(100)
    queue.admit(batch, chunk_limit=0, holds_prefill=False)
    found = [(share.start, share.tokens) for share in batch.shares.values()]
    assert found == [(-1, 66)] * joins
