"""The closed form of requests that stay in step, against runs of the same loads."""

from __future__ import annotations

from statistics import median

import pytest
from loads import closed

from scheduler_reader.performance import estimate_performance, operating_estimate
from scheduler_reader.performance.load import OUT_OF_STEP
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
ENGINES = (
    f"{LLAMA_8B} --max-num-batched-tokens 2048",
    "Qwen/Qwen3-32B -tp 4",
    "meta-llama/Llama-3.3-70B-Instruct -tp 8 --max-num-batched-tokens 16384",
    "openai/gpt-oss-120b -tp 4 --long-prefill-token-threshold 1024",
)
# clients, prompt, output: prompts of a group, of a step, longer than a step; the last has no pause
LOADS = ((4, 128, 512), (16, 3000, 700), (32, 1024, 1024), (100, 700, 300), (24, 8192, 60))


def run_and_form(served, arguments, load, version="0.18.0"):
    engine, plan = served(arguments, load, version=version)
    run = simulated_estimate(engine, plan, load, Slo())
    form = operating_estimate(engine, plan, load, Slo())
    assert isinstance(run, Known) and isinstance(form, Known)
    return run.value, form.value


def off(form, run):
    return abs(form / run - 1)


@pytest.mark.parametrize("version", ["0.12.0", "0.18.0"])  # without and with a step decided ahead
def test_equal_outputs_agree_with_their_runs(served, version):
    pairs = [
        run_and_form(served, arguments, closed(*load), version)
        for arguments in ENGINES
        for load in LOADS
    ]
    ttft = sorted(off(form.ttft_ms.mean, run.ttft_ms.mean) for run, form in pairs)
    assert median(ttft) < 0.03
    assert ttft[-2] < 0.15 and ttft[-1] < 0.3
    for run, form in pairs:
        assert form.tpot_ms == pytest.approx(run.tpot_ms, rel=0.05)
        assert form.output_tokens_per_s == pytest.approx(run.output_tokens_per_s, rel=0.03)
        assert form.ttft_ms.p99 == pytest.approx(run.ttft_ms.p99, rel=0.2)


def test_the_load_whose_waits_were_a_third_out_of_step(served):
    run, form = run_and_form(served, "Qwen/Qwen3-32B -tp 4", closed(32, 1024, 1024))
    assert run.ttft_ms.mean > 400
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.05)


@pytest.mark.parametrize("requests", [40, 100, 250])  # less than a round of 64, and parts of one
def test_the_last_round_may_be_of_some_clients_only(served, requests):
    load = closed(64, 1000, 200, num_requests=requests)
    run, form = run_and_form(served, LLAMA_8B, load)
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.1)
    assert form.tpot_ms == pytest.approx(run.tpot_ms, rel=0.02)
    assert form.output_tokens_per_s == pytest.approx(run.output_tokens_per_s, rel=0.02)


@pytest.mark.parametrize("seats", [8, 40])
def test_clients_without_a_seat_wait_for_rounds_of_the_others(served, seats):
    run, form = run_and_form(served, f"{LLAMA_8B} --max-num-seqs {seats}", closed(64, 500, 300))
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.05)
    assert form.ttft_ms.p99 == pytest.approx(run.ttft_ms.p99, rel=0.05)
    assert form.output_tokens_per_s == pytest.approx(run.output_tokens_per_s, rel=0.02)
    assert form.running == pytest.approx(run.running, rel=0.03)
    assert form.waiting == pytest.approx(run.waiting, rel=0.12)


def test_a_queue_shorter_than_a_group_lets_a_few_wait_for_long(served):
    run, form = run_and_form(served, f"{LLAMA_8B} --max-num-seqs 62", closed(64, 500, 300))
    assert run.ttft_ms.p99 > 5 * run.ttft_ms.p50
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.15)
    assert form.ttft_ms.p99 == pytest.approx(run.ttft_ms.p99, rel=0.15)


@pytest.mark.parametrize("shortest", [1020, 1000, 820])
def test_outputs_that_differ_spread_a_round(served, shortest):
    load = closed(64, 1024, 1024).replaced({"output_tokens": Lengths(uniform=(shortest, 1024))})
    run, form = run_and_form(served, "Qwen/Qwen3-32B -tp 4", load)
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.25)
    assert form.tpot_ms == pytest.approx(run.tpot_ms, rel=0.05)


def test_one_output_token_is_prefill_alone(served):
    run, form = run_and_form(served, LLAMA_8B, closed(16, 3000, 1))
    assert form.tpot_ms == 0
    assert form.ttft_ms.mean == pytest.approx(run.ttft_ms.mean, rel=0.1)
    assert form.requests_per_s == pytest.approx(run.requests_per_s, rel=0.03)


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (LLAMA_8B, {"start": "steady"}),
        (f"{LLAMA_8B} --gpu-memory-utilization 0.25 --max-model-len 4096", {}),
    ],
)
def test_what_is_not_followed_is_said(served, arguments, more):
    load = closed(64, 1500, 700, **more)
    engine, plan = served(arguments, load)
    found = estimate_performance(engine, plan, load, Slo())
    assert isinstance(found, Known)
    assert OUT_OF_STEP in found.value.not_modeled
    spread = load.replaced({"output_tokens": Lengths(uniform=(400, 1000))})
    loose = estimate_performance(engine, plan, spread, Slo())
    assert isinstance(loose, Known)
    assert OUT_OF_STEP not in loose.value.not_modeled


def test_a_run_does_not_say_what_the_closed_form_leaves_out(served):
    load = closed(16, 1500, 700, start="steady")
    engine, plan = served(LLAMA_8B, load)
    found = simulated_estimate(engine, plan, load, Slo())
    assert isinstance(found, Known)
    assert OUT_OF_STEP not in found.value.not_modeled


def test_where_no_run_is_made_requests_are_in_step_too(served):
    load = closed(32, 1024, 1024, num_requests=9_000)
    engine, plan = served("Qwen/Qwen3-32B -tp 4", load)
    found = simulated_estimate(engine, plan, load, Slo())
    assert isinstance(found, Known)
    assert any("not simulated" in note for note in found.value.not_modeled)
    assert found.value.ttft_ms.mean == pytest.approx(501, rel=0.02)  # of a run of 7,990
    low, high = found.value.low, found.value.high
    assert low is not None and high is not None
    assert low.ttft_ms.mean > found.value.ttft_ms.mean > high.ttft_ms.mean
