"""Changes are predicted by the same engine, in the order of what they gain."""

from __future__ import annotations

from itertools import pairwise

import pytest
from loads import closed, offered

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.diagnosis import next_steps, tune
from scheduler_reader.performance import estimate_out_of_step
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Slo

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LOAD = closed(64, 300, 300)


def test_seats_come_first_where_they_bind_and_the_promise_is_the_prediction(served):
    engine, plan = served(LLAMA_8B + " --max-num-seqs 4", LOAD)
    first = tune(engine, plan, LOAD, Slo())[0]
    assert dict(first.set) == {"max_num_seqs": 64}
    assert first.watch == "vllm:num_requests_waiting"
    changed = engine.with_values(max_num_seqs=64)
    again = estimate_out_of_step(changed, plan_capacity(changed, LOAD), LOAD, Slo()).value
    assert first.after["output_tokens_per_s"] == again.output_tokens_per_s
    assert first.after["output_tokens_per_s"] > 5 * first.before["output_tokens_per_s"]


def test_each_step_starts_where_the_one_before_ends(served):
    load = LOAD.replaced({"input_tokens": 4000, "concurrency": 128, "num_requests": 1280})
    settings = " --max-num-seqs 8 --gpu-memory-utilization 0.35 --max-model-len 8192"
    engine, plan = served(LLAMA_8B + settings, load)
    steps = tune(engine, plan, load, Slo())
    assert [step.order for step in steps] == list(range(1, len(steps) + 1))
    for earlier, later in pairwise(steps):
        assert later.before == earlier.after
    assert {"gpu_memory_utilization": 0.95} in [dict(step.set) for step in steps]


def test_a_smaller_budget_for_an_itl_objective(served):
    load = offered(1.5, 7000, 250)
    engine, plan = served(LLAMA_8B + " --max-model-len 16384", load)
    first = tune(engine, plan, load, Slo(ttft_ms=3000, itl_ms=50))[0]
    assert first.set["max_num_batched_tokens"] < 8192
    assert first.watch == "vllm:inter_token_latency_seconds"
    assert first.after["goodput_requests_per_s"] > first.before["goodput_requests_per_s"]


def test_no_change_for_a_load_that_nothing_limits(served):
    load = LOAD.replaced({"concurrency": 1, "num_requests": 10})
    engine, plan = served(LLAMA_8B, load)
    assert tune(engine, plan, load, Slo()) == ()


def test_what_makes_an_engine_start_comes_with_the_numbers_it_then_gets(served):
    engine, plan = served("nvidia/Llama-3.3-70B-Instruct-FP8", LOAD, gpu_count=1)
    assert plan.starts is False
    steps = tune(engine, plan, LOAD, Slo())
    assert steps[0].set["max_model_len"] <= plan.largest_max_model_len
    for step in steps:
        assert plan_capacity(engine.with_values(**step.set), LOAD).starts
        assert step.after["output_tokens_per_s"] > 0


def test_no_change_needs_more_gpus(served):
    engine, plan = served("nvidia/Llama-3.3-70B-Instruct-FP8", LOAD, gpu_count=1)
    assert all("tensor_parallel_size" not in step.set for step in tune(engine, plan, LOAD, Slo()))
    engine, plan = served("nvidia/Llama-3.3-70B-Instruct-FP8", LOAD, gpu_count=2)
    assert any("tensor_parallel_size" in step.set for step in tune(engine, plan, LOAD, Slo()))


@pytest.mark.parametrize(
    ("version", "usage"),
    [("0.9.1", "vllm:gpu_cache_usage_perc"), ("0.9.2", "vllm:kv_cache_usage_perc")],
)
def test_metrics_are_named_as_the_release_names_them(served, version, usage):
    load = LOAD.replaced({"input_tokens": 3000, "concurrency": 200, "num_requests": 2000})
    engine, plan = served(
        LLAMA_8B + " --gpu-memory-utilization 0.3 --max-model-len 8192", load, version=version
    )
    assert usage in [step.watch for step in tune(engine, plan, load, Slo())]


def test_what_to_read_names_the_exact_release(served):
    engine, _ = served(LLAMA_8B, LOAD, version="0.18.0")
    following = next_steps(engine, Unknown("no matter"))
    assert following.read.endswith("github.com/vllm-project/vllm/releases/tag/v0.18.0")
    assert "vllm:inter_token_latency_seconds" in following.measure
