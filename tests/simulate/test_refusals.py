"""Options that a release refuses, and cases that are none."""

from __future__ import annotations

import pytest

from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.case import read_case
from scheduler_reader.simulate.failure import EngineError


@pytest.mark.parametrize(
    ("version", "options", "why"),
    [
        ("0.33.0", {"max_num_seqs": 65}, "below max_num_seqs"),
        ("0.11.2", {"enable_chunked_prefill": False}, "chunked prefill is off"),
        ("0.26.0", {"max_num_partial_prefills": 2}, "partial prefills"),
        ("0.14.1", {"async_scheduling": True, "pipeline_parallel_size": 2}, "pipeline_parallel"),
        ("0.31.0", {"async_scheduling": True, "num_speculative_tokens": 2}, "n-gram"),
        ("0.27.1", {"long_prefill_token_threshold": 513}, "above max_model_len"),
        ("0.31.0", {"max_num_active_seqs": 9}, "above max_num_seqs"),
        ("0.24.0", {"watermark": 1.0}, "watermark"),
        ("0.33.0", {"policy": "random"}, "policy"),
        ("0.9.1", {"policy": "priority"}, "priority policy"),
        ("0.9.0", {"sliding_window": 64}, "sliding-window"),
        ("0.9.0", {"pipeline_parallel_size": 2}, "distributed_executor_backend"),
        ("0.8.5", {}, "from vLLM 0.9.0 on"),
    ],
)
def test_refused(steps, version, options, why):
    with pytest.raises(UsageError, match=why):
        steps([(10, 2)], version, **options)


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("0.9.0", {"enable_chunked_prefill": False}),
        ("0.9.0", {"pipeline_parallel_size": 2, "distributed_executor_backend": "mp"}),
        ("0.9.1", {"pipeline_parallel_size": 2}),
        ("0.9.1", {"sliding_window": 64}),
        ("0.9.2", {"policy": "priority"}),
        ("0.27.1", {"max_num_partial_prefills": 2}),  # the option is gone
        ("0.15.1", {"async_scheduling": True, "pipeline_parallel_size": 2}),
        ("0.33.0", {"async_scheduling": True, "num_speculative_tokens": 2}),
        ("0.26.0", {"long_prefill_token_threshold": 513}),
    ],
)
def test_accepted(steps, version, options):
    assert steps([(10, 2)], version, **options)[-1]


def test_a_victim_that_stays_scheduled_breaks_async_0_10_2(steps):
    """Its output comes when it no longer awaits any: an assertion of vLLM fails."""
    requests = [
        {"prompt_len": 31, "output_len": 9, "priority": 1},
        {"prompt_len": 31, "output_len": 9, "priority": 0, "arrival_step": 1},
    ]
    options = {"policy": "priority", "num_gpu_blocks": 6, "async_scheduling": True}
    with pytest.raises(EngineError, match="does not await"):
        steps(requests, "0.10.2", **options)
    assert steps(requests, "0.12.0", **options)[-1]


def test_a_victim_that_stays_listed_ends_the_engine_until_0_10_1(steps):
    """Of two running requests one is preempted for the other, and both are listed as scheduled."""
    requests = [
        {"prompt_len": 31, "output_len": 9, "priority": 1},
        {"prompt_len": 31, "output_len": 9, "priority": 0, "arrival_step": 1},
    ]
    options = {"policy": "priority", "num_gpu_blocks": 6}
    with pytest.raises(EngineError, match="2 requests are scheduled, preempted ones too, of 1"):
        steps(requests, "0.10.1", **options)
    assert steps(requests, "0.10.2", **options)[-1]


def test_hashing_on_from_a_block_given_back_ends_the_engine_until_0_10_0(steps):
    """The 64th token looks 15 back, so blocks 0 to 2 are free when it completes block 3."""
    options = {"sliding_window": 16, "enable_prefix_caching": True}
    with pytest.raises(EngineError, match="a block it gave back"):
        steps([(63, 3)], "0.10.0", **options)
    assert steps([(63, 3)], "0.10.1", **options)[-1]
    assert steps([(63, 3)], "0.10.0", **options | {"sliding_window": 17})[-1]


def test_a_lookup_past_the_last_hash_ends_the_engine_in_0_9_0(steps):
    """Two usable blocks of four.  Three accepted drafts fill the second, which is not hashed yet when
    the ninth token preempts the request: of its two whole blocks only the first can be found."""
    options = {"num_gpu_blocks": 3, "block_size": 4, "enable_prefix_caching": True}
    options |= {"max_num_seqs": 1, "max_num_batched_tokens": 4}
    drafts = {"num_speculative_tokens": 3, "accept_cycle": [3]}
    with pytest.raises(EngineError, match="past its last hash"):
        steps([(4, 9)], "0.9.0", **options, **drafts)
    assert steps([(4, 9)], "0.9.1", **options, **drafts)[3]["hit"] == {"0": 4}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"engine": {}, "requests": []}',
        '{"engine": {"speed": 3}, "requests": []}',
        '{"engine": {"max_num_seqs": 1, "max_num_batched_tokens": 1, "num_gpu_blocks": 9},'
        ' "requests": [{"arrival_step": 0, "prompt_len": 0, "output_len": 1}]}',
    ],
)
def test_no_case(text):
    with pytest.raises(InputError):
        read_case(text, Release("0.33.0"))
