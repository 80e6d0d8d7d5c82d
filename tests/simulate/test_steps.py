"""Decisions worked out by hand, one mechanism at a time.

Requests are numbered in the order given; `s` is [request, tokens], `free` counts blocks of 16.
"""

from __future__ import annotations

import pytest

from scheduler_reader.simulate.failure import EngineError


def column(rows, name):
    return [row.get(name) for row in rows]


def test_budget_is_shared_in_order(steps):
    rows = steps([(100, 2), (10, 2)])
    # 64 tokens a step: the long prompt takes all of the first, 36 of the second.
    assert column(rows, "s") == [[[0, 64]], [[0, 36], [1, 10]], [[0, 1], [1, 1]]]
    assert column(rows, "free") == [995, 991, 991]  # 999 - 4, - 7 - 1; the 101st token fits
    assert rows[-1]["fin"] == [0, 1]


def test_a_fully_cached_prompt_still_computes_its_last_block(steps):
    shared = {"prompt_len": 32, "output_len": 1, "prefix_group": 0, "prefix_len": 32}
    rows = steps([shared, shared | {"arrival_step": 5}], enable_prefix_caching=True)
    assert rows[1]["t"] == 5
    assert rows[1]["hit"] == {"1": 16}
    assert rows[1]["s"] == [[1, 16]]


def test_only_whole_shared_blocks_hit(steps):
    shared = {"prompt_len": 64, "output_len": 1, "prefix_group": 3, "prefix_len": 40}
    rows = steps([shared, shared | {"arrival_step": 1}], enable_prefix_caching=True)
    assert rows[1]["hit"] == {"1": 32}  # 40 shared tokens are two blocks and a half


def test_blocks_being_computed_in_the_same_step_are_shared(steps):
    shared = {"prompt_len": 40, "output_len": 1, "prefix_group": 0, "prefix_len": 32}
    rows = steps([shared, shared], enable_prefix_caching=True)
    assert rows[0]["s"] == [[0, 40], [1, 8]]
    assert rows[0]["free"] == 999 - 3 - 1


def test_the_newest_is_preempted_and_starts_again(steps):
    # Seven usable blocks, two for each prompt; the 33rd token of each needs a third.
    rows = steps([(31, 4)] * 3, num_gpu_blocks=8, max_num_batched_tokens=128)
    assert rows[2]["s"] == [[0, 1], [1, 1]]
    assert rows[2]["pre"] == [2]
    assert rows[2]["free"] == 1  # 7 - 3 - 3
    assert rows[3]["wq"] == [2]  # 31 prompt and 2 output tokens need three blocks
    assert rows[4]["res"] == [2]
    assert rows[4]["s"] == [[2, 33]]


def test_admission_looks_at_the_whole_prompt_from_0_19(steps):
    # Nine usable blocks.  In step 1 the first prompt holds seven; two are free, 28 tokens left.
    requests = [(100, 2), (60, 2)]
    assert steps(requests, "0.18.0", num_gpu_blocks=10)[1]["s"] == [[0, 36], [1, 28]]
    assert steps(requests, "0.19.1", num_gpu_blocks=10)[1]["s"] == [[0, 36]]
    off = {"scheduler_reserve_full_isl": False, "num_gpu_blocks": 10}
    assert steps(requests, "0.19.1", **off)[1]["s"] == [[0, 36], [1, 28]]


def test_a_prompt_that_never_fits_blocks_the_queue_from_0_19(steps):
    requests = [(200, 2), (10, 2)]
    assert all(row["wq"] == [0, 1] for row in steps(requests, "0.33.0", num_gpu_blocks=8))
    assert steps(requests, "0.18.0", num_gpu_blocks=8)[0]["new"] == [0]


@pytest.mark.parametrize(
    ("version", "scheduled"),
    [
        ("0.10.2", [[[0, 10]], [[0, 1]], [[0, 1]], [[0, 1]]]),  # one step too many
        ("0.11.2", [[[0, 10]], [[0, 1]], [[0, 1]], []]),
        ("0.33.0", [[[0, 10]], [[0, 1]], [[0, 1]], []]),
    ],
)
def test_async_scheduling_runs_one_step_ahead(steps, version, scheduled):
    rows = steps([(10, 3)], version, async_scheduling=True)
    assert column(rows, "s") == scheduled
    assert rows[2]["fin"] == [0]  # three outputs: of steps 0, 1 and 2


@pytest.mark.parametrize(("version", "first"), [("0.28.0", 32), ("0.31.0", 64)])
def test_a_lone_prompt_ignores_the_threshold_from_0_31(steps, version, first):
    rows = steps([(100, 1)], version, long_prefill_token_threshold=32)
    assert rows[0]["s"] == [[0, first]]


def test_the_adaptive_threshold_is_a_fair_share(steps):
    options = {"long_prefill_token_threshold": 8, "long_prefill_token_threshold_adaptive": True}
    rows = steps([(100, 1), (100, 1)], **options)
    assert rows[0]["s"] == [[0, 32], [1, 32]]


def test_pipeline_stages_share_the_work_of_different_requests(steps):
    rows = steps([(10, 3)], "0.18.0", pipeline_parallel_size=2)
    # Without async scheduling a request waits for its own output, so every other step is empty.
    assert [row["s"] for row in rows if row["s"]] == [[[0, 10]], [[0, 1]], [[0, 1]]]


def test_async_pipeline_decodes_every_stages_steps(steps):
    rows = steps([(10, 3)], async_scheduling=True, pipeline_parallel_size=2)
    assert [row["t"] for row in rows if row["s"]] == [0, 2, 4]


def test_accepted_drafts_are_output(steps):
    rows = steps([(10, 8)], num_speculative_tokens=3, accept_cycle=[3, 0])
    # 1 output, then 3 accepted + 1, then 0 + 1, then 3 + 1 of which two are wanted.
    assert column(rows, "acc") == [None, {"0": 3}, {"0": 0}, {"0": 3}]
    assert column(rows, "s") == [[[0, 10]], [[0, 4]], [[0, 4]], [[0, 4]]]
    assert rows[-1]["fin"] == [0]


def test_drafts_stop_before_max_model_len(steps):
    rows = steps([(10, 30)], num_speculative_tokens=4, accept_cycle=[0], max_model_len=15)
    # The last position is for the sampled token: 15 - 1 - computed.
    assert column(rows, "s") == [[[0, 10]], [[0, 4]], [[0, 3]], [[0, 2]], [[0, 1]]]


def test_drafts_reach_max_model_len_until_0_9_1(steps):
    rows = steps([(10, 30)], "0.9.1", num_speculative_tokens=4, accept_cycle=[0], max_model_len=15)
    # 15 - computed: one position more than later releases.
    assert column(rows, "s") == [[[0, 10]], [[0, 5]], [[0, 4]], [[0, 3]], [[0, 2]]]


@pytest.mark.parametrize(("version", "known"), [("0.9.2", 32), ("0.10.0", 33)])
def test_output_of_a_request_preempted_meanwhile_is_lost_until_0_9_2(steps, version, known):
    # Four usable blocks, two of each prompt; step 2 takes them for the first one's 33rd token while
    # the second one's prompt is still in the other stage.
    rows = steps([(32, 2), (32, 2, 1)], version, num_gpu_blocks=5, pipeline_parallel_size=2)
    assert column(rows[:5], "s") == [[[0, 32]], [[1, 32]], [[0, 1]], [], [[1, known]]]
    assert rows[2]["pre"] == [1]


def test_a_draft_in_flight_leaves_fewer_than_no_tokens_to_schedule(steps):
    # The second request keeps a draft over its preemption in step 6.  Steps 7 and 8 take eight of its
    # nine tokens, then the ninth and the draft; the output of step 7 brings no draft: 9 + 0 - 10.
    options = {"num_gpu_blocks": 6, "block_size": 4, "max_num_batched_tokens": 8}
    drafts = {"num_speculative_tokens": 1, "accept_cycle": [1], "pipeline_parallel_size": 2}
    rows = steps([(4, 6), (4, 6)], "0.9.2", **options, **drafts)
    assert rows[6]["pre"] == [1]
    assert column(rows[7:], "s") == [[[1, 8]], [[1, 2]], [[1, -1]]]
    with pytest.raises(EngineError, match="scheduled for -1 tokens"):
        steps([(4, 6), (4, 6)], "0.10.0", **options, **drafts)


def test_a_window_group_gives_blocks_back(steps):
    rows = steps([(100, 2)], sliding_window=32)
    # Two groups; after 64 tokens the next looks at 33-64, so two blocks of 16 are behind.
    assert column(rows, "free") == [999 - 8, 999 - 14 + 2, 999 - 14 + 4]


@pytest.mark.parametrize(
    ("version", "scheduled"),
    [("0.10.2", [[0, 1], [1, 1]]), ("0.12.0", [[1, 1]]), ("0.33.0", [[1, 1]])],
)
def test_a_priority_victim_is_withdrawn_from_the_step(steps, version, scheduled):
    # Five usable blocks; in step 3 the urgent request needs its third when all are taken.
    requests = [
        {"prompt_len": 31, "output_len": 6, "priority": 1},
        {"prompt_len": 31, "output_len": 6, "priority": 0, "arrival_step": 1},
    ]
    rows = steps(requests, version, policy="priority", num_gpu_blocks=6)
    assert rows[3]["pre"] == [0]
    assert rows[3]["s"] == scheduled


def test_the_urgent_wait_first(steps):
    requests = [{"prompt_len": 10, "output_len": 2, "priority": priority} for priority in (2, 0, 1)]
    rows = steps(requests, policy="priority", max_num_seqs=1)
    assert [row["new"] for row in rows if "new" in row] == [[1], [2], [0]]


@pytest.mark.parametrize(
    ("version", "scheduled"),
    [
        ("0.10.2", [[0, 40], [1, 24]]),  # chunked all the same
        ("0.11.2", [[0, 40], [2, 10]]),  # passed over
        ("0.12.0", [[0, 40]]),
    ],
)
def test_a_prompt_that_may_not_be_chunked(steps, version, scheduled):
    options = {"enable_chunked_prefill": False, "max_model_len": 64}
    assert steps([(40, 2), (40, 2), (10, 2)], version, **options)[0]["s"] == scheduled


def test_watermark_is_kept_free_beside_running_requests(steps):
    options = {"num_gpu_blocks": 12, "watermark": 0.25}  # int(0.25 x 12) = 3 blocks
    rows = steps([(64, 2), (80, 2)], max_num_batched_tokens=256, **options)
    assert rows[0]["new"] == [0]  # 11 - 4 free, 5 + 3 needed
    assert rows[2]["new"] == [1]


def test_active_limit_is_below_max_num_seqs(steps):
    assert steps([(10, 2)] * 3, max_num_active_seqs=2)[0]["run"] == [0, 1]
    assert steps([(10, 2)] * 3, "0.28.0", max_num_active_seqs=2)[0]["run"] == [0, 1, 2]


def test_prefill_waits_for_its_interval(steps):
    requests = [(10, 9), (10, 9, 1)]
    assert steps(requests, prefill_schedule_interval=4)[4]["new"] == [1]
    assert steps(requests, "0.32.0", prefill_schedule_interval=4)[1]["new"] == [1]


@pytest.mark.parametrize(("version", "hit"), [("0.22.1", None), ("0.24.0", {"3": 16})])
def test_freed_blocks_without_content_are_taken_first_from_0_24(steps, version, hit):
    # Nine usable blocks: one hashed and freed, then one unhashed and freed, then eight taken.
    cached = {"prompt_len": 17, "output_len": 1, "prefix_group": 0, "prefix_len": 16}
    requests = [cached, (5, 1, 1), (128, 1, 2), cached | {"arrival_step": 3}]
    options = {"enable_prefix_caching": True, "num_gpu_blocks": 10, "max_num_batched_tokens": 128}
    assert steps(requests, version, **options)[3].get("hit") == hit


@pytest.mark.parametrize(("version", "first"), [("0.11.2", 100), ("0.12.0", 32)])
def test_unchunked_prefill_drops_the_threshold_in_0_11(steps, version, first):
    options = {"enable_chunked_prefill": False, "long_prefill_token_threshold": 32}
    rows = steps([(100, 1)], version, max_num_batched_tokens=512, **options)
    assert rows[0]["s"] == [[0, first]]
