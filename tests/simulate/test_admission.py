"""Which waiting requests join a step, and the KV blocks that this takes, counted by hand.

`s` is [request, tokens], `free` counts blocks of 16; a step has 64 tokens unless a test says else.
"""

from __future__ import annotations

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.admission import Admission
from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.kv_manager import KVManager
from scheduler_reader.simulate.request import Request

DRAFTS = {"num_speculative_tokens": 3, "accept_cycle": [0]}
CACHED = {"output_len": 20, "prefix_group": 0, "prefix_len": 32}  # two blocks are found again


@pytest.mark.parametrize(
    ("prompt", "size", "scheduled"),
    [
        (33, 16, [[0, 1], [1, 1]]),  # the last token alone is no prefill
        (34, 16, [[0, 1]]),  # two are
        (32, 1, [[0, 1], [1, 1]]),  # in blocks of one token all before the last is found
    ],
)
def test_between_prefills_a_request_with_one_token_left_joins(steps, prompt, size, scheduled):
    requests = [CACHED | {"prompt_len": 40}, CACHED | {"prompt_len": prompt, "arrival_step": 1}]
    settings = {"enable_prefix_caching": True, "block_size": size}
    rows = steps(requests, prefill_schedule_interval=4, **settings)
    assert rows[1]["s"] == scheduled


@pytest.mark.parametrize(("prompt", "size", "joins"), [(33, 16, 6), (34, 16, 9), (32, 1, 6)])
def test_one_token_left_does_not_start_the_interval_again(steps, prompt, size, joins):
    cached = CACHED | {"prompt_len": prompt, "arrival_step": 5}
    requests = [CACHED | {"prompt_len": 40}, cached, (10, 5, 6)]
    settings = {"enable_prefix_caching": True, "block_size": size}
    rows = steps(requests, prefill_schedule_interval=4, **settings)
    assert [row["t"] for row in rows if row.get("new") == [2]] == [joins]


@pytest.mark.parametrize(
    ("version", "is_async", "blocks"),
    [
        ("0.19.1", False, 20 + 20),  # all 320 tokens in both groups
        ("0.20.0", False, 20 + 7),  # a window less its token and a step: 31 + 64, and one block
        ("0.20.2", True, 20 + 7),
        ("0.26.0", True, 20 + 11),  # two steps: 31 + 2 x 64, and one block
        ("0.33.0", False, 20 + 7),
    ],
)
def test_what_a_window_group_reserves(steps, version, is_async, blocks):
    settings = {"sliding_window": 32, "async_scheduling": is_async, "max_steps": 2}
    short = steps([(320, 2)], version, num_gpu_blocks=blocks, **settings)  # one is the null block
    assert not any(row.get("new") for row in short)
    enough = steps([(320, 2)], version, num_gpu_blocks=blocks + 1, **settings)
    assert enough[0]["new"] == [0]


@pytest.mark.parametrize(
    ("window", "usable", "joins"),
    [(33, 20 + 5, False), (33, 20 + 6, True), (34, 20 + 6, False), (34, 20 + 7, True)],
)
def test_the_reserve_of_a_window_is_its_other_tokens_a_step_and_a_block(
    steps, window, usable, joins
):
    """32 + 48 tokens are five blocks of 16, 33 + 48 six; and one more."""
    settings = {"sliding_window": window, "max_num_batched_tokens": 48, "max_steps": 2}
    rows = steps([(320, 2)], num_gpu_blocks=usable + 1, **settings)
    assert any(row.get("new") for row in rows) == joins


@pytest.mark.parametrize(("prompt", "joins"), [(144, True), (145, False)])
def test_the_whole_prompt_and_the_watermark_must_be_free(steps, prompt, joins):
    """19 usable blocks; 97 tokens hold 7 of them, and int(0.15 x 20) = 3 stay free: 9 are left."""
    rows = steps([(96, 3), (prompt, 2, 2)], num_gpu_blocks=20, watermark=0.15)
    assert rows[2]["s"] == ([[0, 1], [1, 63]] if joins else [[0, 1]])


@pytest.mark.parametrize(
    ("version", "length", "tokens"),
    [
        ("0.24.0", 512, 1),
        ("0.25.0", 512, 4),
        ("0.25.0", 4, 4),
        ("0.29.0", 3, 1),
        ("0.29.0", 4, 1),  # as wide as the length, or wider: no drafts
        ("0.29.0", 5, 4),
    ],
)
def test_a_prompt_of_one_token_is_filled_up_with_drafts(steps, version, length, tokens):
    rows = steps([(1, 2), (1, 2, 1)], version, max_model_len=length, **DRAFTS)
    assert dict(rows[1]["s"])[1] == tokens
    assert rows[1].get("draft", {}).get("1", 0) == tokens - 1


@pytest.mark.parametrize("version", ["0.25.0", "0.29.0"])
@pytest.mark.parametrize(
    ("budget", "scheduled"),
    [(7, [[0, 4]]), (8, [[0, 4], [1, 4]]), (9, [[0, 4], [1, 4]])],
)
def test_it_is_held_where_its_drafts_exceed_the_budget(steps, version, budget, scheduled):
    settings = {"max_num_batched_tokens": budget, "max_num_seqs": 4}
    rows = steps([(4, 30), (1, 9, 1)], version, **settings, **DRAFTS)
    assert rows[1]["s"] == scheduled


@pytest.mark.parametrize(("version", "tokens"), [("0.29.0", 1), ("0.30.0", 4)])
def test_drafts_follow_a_prefix_hit_without_decodes_from_0_30(steps, version, tokens):
    cached = CACHED | {"prompt_len": 33, "output_len": 1}
    requests = [cached, cached | {"arrival_step": 2, "output_len": 4}]
    rows = steps(requests, version, enable_prefix_caching=True, **DRAFTS)
    assert (rows[1]["t"], rows[1]["s"]) == (2, [[1, tokens]])


def test_a_window_gives_back_in_time_what_its_next_block_takes(steps):
    """Nine usable blocks, four of 16 in each of two groups; windows of 32.

    The 61st token looks at 30 to 61, so one block is behind it; the 64th looks at 33 to 64, which
    leaves two behind, and the 65th takes a block in both groups.
    """
    rows = steps([(60, 8)], num_gpu_blocks=10, sliding_window=32)
    assert [row["free"] for row in rows] == [1, 2, 2, 2, 3, 1, 1, 1]
    assert rows[-1]["fin"] == [0]


def test_a_window_of_blocks_of_one_token_begins_with_the_first(steps):
    """Three tokens in two groups; the fifth looks at four, so the first is behind its window."""
    rows = steps([(3, 3)], num_gpu_blocks=100, sliding_window=4, block_size=1)
    assert [row["free"] for row in rows[:2]] == [99 - 6, 99 - 8]
    assert rows[2]["fin"] == [0]


def test_a_token_that_needs_no_block_is_computed_with_none_free(steps):
    """60 tokens hold four of eight usable blocks in each of two groups, with room for four more."""
    rows = steps([(60, 4)], num_gpu_blocks=9, sliding_window=100)
    assert [(row["s"], row["free"]) for row in rows[:3]] == [
        ([[0, 60]], 0),
        ([[0, 1]], 0),
        ([[0, 1]], 0),
    ]


def test_a_prompt_of_one_token_alone_gets_no_drafts_without_a_hit(steps):
    assert steps([(1, 2)], "0.30.0", **DRAFTS)[0]["s"] == [[0, 1]]


def test_what_a_second_chunk_computes_is_found_in_the_same_step(steps):
    """Six whole blocks: three of the first step's 48 tokens, three of the second step's."""
    shared = {"prompt_len": 97, "output_len": 2, "prefix_group": 0, "prefix_len": 96}
    options = {"enable_prefix_caching": True, "long_prefill_token_threshold": 48}
    rows = steps([shared, shared | {"arrival_step": 1}], "0.28.0", **options)
    assert [row["s"] for row in rows[:2]] == [[[0, 48]], [[0, 48], [1, 1]]]
    assert rows[1]["hit"] == {"1": 96}


@pytest.mark.parametrize(("length", "tokens"), [(36, 1), (37, 4)])
def test_drafts_behind_a_hit_fit_below_the_length(steps, length, tokens):
    """The 33rd token and three drafts end at 36, which is no longer below a length of 36."""
    cached = CACHED | {"prompt_len": 33, "output_len": 1}
    requests = [cached, cached | {"arrival_step": 2, "output_len": 2}]
    rows = steps(requests, "0.30.0", enable_prefix_caching=True, max_model_len=length, **DRAFTS)
    assert (rows[1]["t"], rows[1]["s"]) == (2, [[1, tokens]])


@pytest.mark.parametrize(
    ("version", "free"),
    [("0.25.0", [3, 4, 4, 4, 5, 3, 3]), ("0.26.0", [3, 3, 4, 4, 4, 3, 3])],
)
def test_a_window_gives_back_when_the_output_has_come_from_0_26(steps, version, free):
    """With a step in flight that is a step later: eleven usable blocks, as in the test before."""
    rows = steps([(60, 8)], version, num_gpu_blocks=12, sliding_window=32, async_scheduling=True)
    assert [row["free"] for row in rows][:7] == free


def waiting(version: str, policy: str = "fcfs") -> tuple[Admission, list[Request]]:
    """A queue of its own, and who runs."""
    config = EngineConfig(
        max_num_seqs=8,
        max_num_batched_tokens=64,
        max_model_len=256,
        num_gpu_blocks=100,
        policy=policy,
    )
    behaviour, running = behaviour_of(Release(version)), []
    kv = KVManager(config, behaviour, Overlap(1))
    return Admission(config, behaviour, kv, running), running


def preempted(number: int, priority: int = 0) -> Request:
    """Two tokens of it are in flight, so the step passes it over."""
    return Request(number, number, 10, 5, priority, stale=2)


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("0.13.0", [9, 2, 1]),  # back to the head one by one, so turned round
        ("0.14.0", [9, 1, 2]),
        ("0.18.0", [1, 2, 9]),  # in a queue of their own, which is looked at first
        ("0.31.0", [9, 1, 2]),
    ],
)
def test_who_was_passed_over_waits_in_front(version, order):
    queue, running = waiting(version)
    for number in (1, 2):
        queue.add(preempted(number))
    assert queue.is_backed_up
    queue.admit(Batch(64), chunk_limit=0, holds_prefill=False)
    assert not running
    assert not queue.is_backed_up  # each of them had its reason
    queue.put_back(Request(9, 9, 10, 5))
    assert [request.number for request in queue] == order
    assert queue.is_backed_up


@pytest.mark.parametrize(("priority", "order"), [(0, [9, 1]), (2, [1, 9])])
def test_the_urgent_go_before_those_passed_over(priority, order):
    queue, running = waiting("0.20.0", policy="priority")
    late = preempted(1, priority=1)
    queue.add(late)
    queue.admit(Batch(64), chunk_limit=0, holds_prefill=False)
    late.stale = 0
    queue.add(Request(9, 9, 10, 5, priority))
    queue.admit(Batch(64), chunk_limit=0, holds_prefill=False)
    assert [request.number for request in running] == order


def test_a_step_without_tokens_left_looks_at_nobody():
    """Nobody is passed over either, and the last token of a step is enough for one who needs one."""
    queue, running = waiting("0.18.0")
    queue.add(preempted(1))
    queue.admit(Batch(0), chunk_limit=0, holds_prefill=False)
    assert queue.is_backed_up
    queue, running = waiting("0.18.0")
    queue.add(Request(1, 1, 1, 5))
    queue.admit(Batch(1), chunk_limit=0, holds_prefill=False)
    assert [request.number for request in running] == [1]


def test_all_who_wait_are_counted_in_both_queues():
    queue, _ = waiting("0.18.0")
    queue.add(preempted(1))
    queue.admit(Batch(64), chunk_limit=0, holds_prefill=False)
    for number in (2, 3, 4):
        queue.add(Request(number, number, 10, 5))
    assert len(queue) == 4


def test_those_passed_over_come_first_though_others_are_older():
    queue, running = waiting("0.18.0")
    late = preempted(9)
    queue.add(late)
    queue.admit(Batch(64), chunk_limit=0, holds_prefill=False)
    late.stale = 0
    queue.add(Request(1, 1, 10, 5))
    queue.admit(Batch(64), chunk_limit=0, holds_prefill=False)
    assert [request.number for request in running] == [9, 1]


def test_an_unchunked_prompt_may_fill_the_step(steps):
    settings = {"enable_chunked_prefill": False, "max_model_len": 64}
    assert steps([(64, 1)], **settings)[0]["s"] == [[0, 64]]
    assert steps([(40, 9), (24, 1)], **settings)[0]["s"] == [[0, 40], [1, 24]]


def test_a_threshold_of_one_token(steps):
    rows = steps([(3, 1), (3, 1)], "0.28.0", long_prefill_token_threshold=1)
    assert [row["s"] for row in rows] == [[[0, 1], [1, 1]]] * 3


def test_only_a_single_token_beside_decodes_is_filled_up_with_drafts(steps):
    five = steps([(1, 9), (5, 1, 1)], **DRAFTS)
    assert dict(five[1]["s"])[1] == 5
    beside_a_prefill = steps([(100, 9), (1, 1, 1)], **DRAFTS)
    assert beside_a_prefill[1]["s"] == [[0, 36], [1, 1]]


@pytest.mark.parametrize(("length", "tokens"), [(19, 1), (20, 4)])
def test_drafts_behind_a_hit_of_single_tokens(steps, length, tokens):
    """Blocks of one token: the sixteenth and three drafts end at 19, which must be below the length."""
    cached = {"prompt_len": 16, "output_len": 1, "prefix_group": 0, "prefix_len": 15}
    requests = [cached, cached | {"arrival_step": 2, "output_len": 2}]
    settings = {"block_size": 1, "enable_prefix_caching": True, "max_model_len": length}
    rows = steps(requests, "0.30.0", **settings, **DRAFTS)
    assert rows[1]["s"] == [[1, tokens]]


def test_a_hit_of_one_token_is_a_hit(steps):
    cached = {"prompt_len": 2, "output_len": 1, "prefix_group": 0, "prefix_len": 1}
    requests = [cached, cached | {"arrival_step": 2, "output_len": 2}]
    rows = steps(requests, "0.30.0", block_size=1, enable_prefix_caching=True, **DRAFTS)
    assert rows[1]["s"] == [[1, 4]]
