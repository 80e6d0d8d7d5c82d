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
        ("0.9.2", {}, "from vLLM 0.10.2 on"),
    ],
)
def test_refused(steps, version, options, why):
    with pytest.raises(UsageError, match=why):
        steps([(10, 2)], version, **options)


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("0.10.2", {"enable_chunked_prefill": False}),
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
