"""What was observed decides the verdict, each class by its own signs."""

from __future__ import annotations

import pytest

from scheduler_reader.diagnosis import find_bottleneck
from scheduler_reader.diagnosis.measured import outranked
from scheduler_reader.observe.bench import Benchmark
from scheduler_reader.observe.observation import Observation
from scheduler_reader.performance import estimate_performance
from scheduler_reader.value import Known, Origin
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

HERE = Origin("file", path="metrics.txt")
FOUR = {"ttft_mean_ms": 200.0, "itl_mean_ms": 12.0, "output_tokens_per_s": 2000.0}
MODEL = "meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 64 --max-model-len 16384"


def seen(is_benchmark: bool = False, **measures: float) -> Observation:
    known = {name: Known(value, HERE) for name, value in {**FOUR, **measures}.items()}
    run = Benchmark("bench.json", "vllm bench serve", None, known) if is_benchmark else None
    return Observation(known, ("metrics.txt",), benchmark=run)


@pytest.fixture(scope="module")
def verdict(served):
    def run(observation: Observation, arguments: str = MODEL):
        engine, plan = served(arguments)
        estimate = estimate_performance(engine, plan, DEFAULT_WORKLOAD, Slo())
        predicted = find_bottleneck(engine, plan, DEFAULT_WORKLOAD, Slo())
        found = outranked(engine, plan, predicted, estimate, observation)
        assert isinstance(found, Known)
        return found.value

    return run


SIGNS = {
    "blocks full and requests wait": (
        {"running": 40.0, "waiting": 25.0, "kv_cache_usage": 0.99},
        "kv_starvation",
        "99% of the KV blocks are used and 25 requests wait",
    ),
    "preempted all the time": (
        {"running": 40.0, "waiting": 0.0, "kv_cache_usage": 0.8, "preemptions_per_request": 0.4},
        "kv_starvation",
        "0.40 preemptions a request",
    ),
    "seats full beside free blocks": (
        {"running": 64.0, "waiting": 80.0, "kv_cache_usage": 0.2},
        "admission_stall",
        "64 requests run of 64 that max_num_seqs allows, 80 wait, and 20% of the KV blocks are used",
    ),
    "prefill fills every step": (
        {"running": 30.0, "waiting": 50.0, "kv_cache_usage": 0.3, "step_tokens_mean": 7900.0},
        "compute_bound",
        "a step computes 7,900 tokens of at most 8,192",
    ),
    "hardly anybody is in the engine": (
        {"running": 0.2, "waiting": 0.0, "kv_cache_usage": 0.0, "output_tokens_per_s": 11.0},
        "not_scheduler",
        "the load does not reach the engine",
    ),
    "the client keeps more open than run": (
        {"running": 6.0, "waiting": 0.0, "kv_cache_usage": 0.05, "offered_concurrency": 64.0},
        "not_scheduler",
        "the client keeps 64 requests open, 6 run, none wait",
    ),
    "gaps of a whole budget": (
        {"running": 8.0, "waiting": 0.0, "itl_p50_ms": 9.0, "itl_p99_ms": 260.0},
        "chunk_too_large",
        "ITL p99 is 260 ms beside a median of 9 ms",
    ),
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_names_its_class(verdict, name):
    measures, kind, words = SIGNS[name]
    found = verdict(seen(**measures))
    assert found.kind == kind, found.evidence
    assert found.confidence == "high"
    assert words in found.evidence[0]


def test_more_sent_than_served_is_saturated(verdict):
    run = seen(
        True, offered_requests_per_s=50.0, requests_per_s=11.0, ttft_mean_ms=60_000.0, tpot_ms=30.0
    )
    found = verdict(run)
    assert found.kind == "saturated"
    assert "50 requests/s were sent and 11 served" in found.evidence[0]


def test_a_predicted_queue_that_nobody_sees_does_not_bind(verdict):
    few_seats = MODEL.replace("64", "4")
    observation = seen(running=3.0, waiting=0.0, kv_cache_usage=0.1)
    found = verdict(observation, few_seats)
    assert found.default == "none"
    assert found.evidence[0].startswith("nobody waits, so neither KV blocks nor max_num_seqs bind")


def test_what_rests_on_prediction_is_said(verdict):
    observation = Observation({"running": Known(30.0, HERE)}, ("metrics.txt",))
    found = verdict(observation)
    assert found.evidence[-1] == (
        "no TTFT, ITL, throughput observed: the verdict rests on prediction there"
    )
