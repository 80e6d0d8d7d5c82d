"""The reported estimate comes from a run, and agrees with the closed form where both apply."""

from __future__ import annotations

import pytest
from loads import closed

from scheduler_reader.performance import estimate_performance
from scheduler_reader.simulate.estimate import simulated_estimate, simulated_lift
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Lengths, Slo, Workload

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
STEADY = Workload(
    concurrency=32,
    num_requests=640,
    start="steady",
    input_tokens=Lengths(uniform=(820, 1024)),
    output_tokens=Lengths(uniform=(205, 256)),
)
OPEN = Workload(
    protocol="open-loop",
    rate=10.0,
    num_requests=600,
    input_tokens=Lengths(uniform=(820, 1024)),
    output_tokens=Lengths(uniform=(205, 256)),
)

SHORT_OF_BLOCKS = f"{MODEL} --gpu-memory-utilization 0.3 --max-model-len 4096"
LONG_OUTPUTS = {"input_tokens": 64, "output_tokens": 2000, "concurrency": 200, "num_requests": 240}
BY_PRIORITY = f"{SHORT_OF_BLOCKS} --scheduling-policy priority"


def both(served, arguments, workload, slo=None):
    engine, plan = served(arguments, workload)
    found = [
        way(engine, plan, workload, slo or Slo())
        for way in (simulated_estimate, estimate_performance)
    ]
    assert all(isinstance(one, Known) for one in found), found
    return [one.value for one in found]


@pytest.mark.parametrize("workload", [DEFAULT_WORKLOAD, STEADY, OPEN])
@pytest.mark.parametrize("arguments", [MODEL, f"{MODEL} -tp 2", f"{MODEL} --enforce-eager"])
def test_the_closed_form_agrees_on_plain_loads(served, arguments, workload):
    run, instant = both(served, arguments, workload)
    assert run.tpot_ms == pytest.approx(instant.tpot_ms, rel=0.1)
    assert run.output_tokens_per_s == pytest.approx(instant.output_tokens_per_s, rel=0.1)
    assert run.ttft_ms.mean == pytest.approx(instant.ttft_ms.mean, rel=0.35)
    assert not any("not simulated" in note for note in run.not_modeled)


def test_a_burst_lengthens_the_tail_and_not_the_steady_one(served):
    run, _ = both(served, MODEL, DEFAULT_WORKLOAD)
    assert run.steady_ttft_p99_ms < run.ttft_ms.p99
    assert run.ttft_ms.p50 < run.ttft_ms.mean


def test_the_range_stays_around_the_run(served):
    run, _ = both(served, MODEL, DEFAULT_WORKLOAD)
    for of in (lambda e: e.tpot_ms, lambda e: e.ttft_ms.mean, lambda e: 1 / e.requests_per_s):
        assert sorted(map(of, (run.high, run, run.low))) == [of(run.high), of(run), of(run.low)]


def test_seats_that_are_short_show_as_waiting(served):
    run, _ = both(served, f"{MODEL} --max-num-seqs 16", DEFAULT_WORKLOAD)
    assert run.running == pytest.approx(16, rel=0.05)
    assert run.waiting == pytest.approx(48, rel=0.1)  # 64 less those that run


def test_two_replicas_serve_twice_the_rate_of_half_the_load(served):
    half = DEFAULT_WORKLOAD.replaced({"concurrency": 32, "num_requests": 320})
    run, _ = both(served, f"{MODEL} -dp 2", DEFAULT_WORKLOAD)
    one, _ = both(served, MODEL, half)
    assert run.requests_per_s == pytest.approx(2 * one.requests_per_s, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "changes", "reason"),
    [
        (MODEL, {"num_requests": 20_000}, "20,000 requests"),
        (BY_PRIORITY, {**LONG_OUTPUTS, "num_requests": 2000}, "too much to decide"),
    ],
)
def test_a_run_that_would_be_slow_is_not_made_and_said_so(served, arguments, changes, reason):
    run, instant = both(served, arguments, DEFAULT_WORKLOAD.replaced(changes))
    assert run.tpot_ms == instant.tpot_ms
    assert any("not simulated" in note and reason in note for note in run.not_modeled)


def test_without_a_cache_shared_prompts_are_computed(served):
    shared = DEFAULT_WORKLOAD.replaced({"prefix_cache_hit_rate": 0.5})
    run, _ = both(served, f"{MODEL} --no-enable-prefix-caching", shared)
    plain, _ = both(served, f"{MODEL} --no-enable-prefix-caching", DEFAULT_WORKLOAD)
    assert run.ttft_ms == plain.ttft_ms


def test_more_than_the_engine_sustains_has_a_capacity_and_no_tail(served):
    run, _ = both(served, MODEL, OPEN.replaced({"rate": 500.0}))
    assert run.saturated and run.ttft_ms.p99 is None
    assert run.capacity_requests_per_s == pytest.approx(run.requests_per_s, rel=0.05)


def test_requests_of_one_token_have_a_first_token_and_no_gaps(served):
    run, instant = both(served, MODEL, DEFAULT_WORKLOAD.replaced({"output_tokens": 1}))
    assert run.tpot_ms == instant.tpot_ms == 0
    assert run.output_tokens_per_s == pytest.approx(run.requests_per_s)
    assert run.low is not None and run.low.ttft_ms.mean > run.ttft_ms.mean


def test_preempted_requests_are_simulated(served):
    run, instant = both(served, SHORT_OF_BLOCKS, DEFAULT_WORKLOAD.replaced(LONG_OUTPUTS))
    assert run.preemptions_per_request > 0.1
    assert run.waiting > 1 and run.running + run.waiting < 200.5
    assert run.output_tokens_per_s == pytest.approx(instant.output_tokens_per_s, rel=0.35)
    assert not any("not simulated" in note for note in run.not_modeled)


@pytest.mark.parametrize("prompt", [512, 7000])
def test_the_tokenizer_delays_the_first_token_and_no_other(served, monkeypatch, prompt):
    load = STEADY.replaced(
        {"concurrency": 1, "num_requests": 8, "input_tokens": prompt, "output_tokens": 64}
    )
    with_it = both(served, MODEL, load)
    monkeypatch.setattr("scheduler_reader.performance.build.tokenizer_seconds", lambda: 0.0)
    without = both(served, MODEL, load)
    for slow, fast in zip(with_it, without, strict=True):
        assert slow.ttft_ms.mean - fast.ttft_ms.mean == pytest.approx(prompt * 1.5e-3, rel=0.05)
        assert slow.tpot_ms == pytest.approx(fast.tpot_ms, rel=1e-3)
        assert slow.requests_per_s < fast.requests_per_s  # a client waits for its prompt


def test_a_run_that_would_be_broken_off_is_not_begun(served, monkeypatch):
    """512 requests with outputs that differ: one ends in every step, so each token is decided alone."""
    load = closed(512, 900, 230, num_requests=640)
    various = load.replaced({"output_tokens": Lengths(uniform=(200, 260))})
    engine, plan = served("meta-llama/Llama-3.1-8B-Instruct -pp 4", load)
    assert isinstance(simulated_lift(engine, plan, load, Slo()), Known)
    begun = []
    monkeypatch.setattr("scheduler_reader.simulate.estimate.serve", begun.append)
    found = simulated_lift(engine, plan, various, Slo())
    assert isinstance(found, Unknown)
    assert "too much to decide" in found.reason
    assert not begun


def test_one_client_keeps_one_of_two_replicas_busy(served):
    """Both ways: as many requests a second as on a single replica."""
    load = closed(1, 500, 100, num_requests=6)
    alone = both(served, MODEL, load)
    beside = both(served, f"{MODEL} -dp 2", load)
    for one, other in zip(alone, beside, strict=True):
        assert other.requests_per_s == pytest.approx(one.requests_per_s)
        assert other.running <= 1
