"""Steps made at once, where all that run decode: the same run as step by step."""

from __future__ import annotations

from random import Random

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, OpenLoop, Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import LongRunError
from scheduler_reader.simulate.metrics import measure
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.stepwise import run_stepwise
from scheduler_reader.value import Known
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

RELEASES = ("0.10.2", "0.11.2", "0.14.0", "0.18.0", "0.23.0", "0.27.0", "0.33.0")
NO_ASYNC_STAGES = ("0.10.2", "0.11.2", "0.14.0")  # refuse them together
RECORDED = {"record_phases": True, "record_samples": True}  # every step is made alone


@pytest.fixture(scope="module")
def step_model(served):
    model = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"
    setup = set_up(*served(model, DEFAULT_WORKLOAD), DEFAULT_WORKLOAD)
    assert isinstance(setup, Known)
    return setup.value.step_model


def drawn(seed: int) -> tuple[EngineConfig, Release, list[Arrival], int]:
    """Settings, a release, requests without times, and how many of them a closed loop keeps going."""
    pick = Random(seed)
    seats, length = pick.choice([1, 2, 4, 16, 32]), pick.choice([256, 1024])
    budget = max(seats, pick.choice([16, 64, 2048]))
    release, is_async = pick.choice(RELEASES), pick.random() < 0.5
    stages = pick.choice([1, 1, 1, 2, 3])
    if is_async and release in NO_ASYNC_STAGES:
        stages = 1
    config = EngineConfig(
        max_num_seqs=seats,
        max_num_batched_tokens=budget,
        max_model_len=length,
        num_gpu_blocks=pick.choice([20, 40, 80, 200]),
        block_size=pick.choice([16, 16, 32]),
        enable_prefix_caching=pick.random() < 0.6,
        async_scheduling=is_async,
        scheduler_reserve_full_isl=pick.random() < 0.7,
        watermark=pick.choice([0, 0, 0.1]),
        policy=pick.choice(["fcfs", "fcfs", "priority"]),
        long_prefill_token_threshold=pick.choice([0, 0, 8, 40]),
        enable_chunked_prefill=pick.random() < 0.85 or budget < length,
        pipeline_parallel_size=stages,
    )
    requests = []
    for number in range(pick.randint(1, 40)):
        prompt = pick.choice([1, 15, 16, 17, 64, pick.randint(1, 200)])
        output = pick.choice([1, 2, 16, 17, pick.randint(1, 150), pick.randint(50, 190)])
        group = pick.choice([None, None, 0, 1])
        shared = 0 if group is None else pick.randint(1, prompt)
        row = (prompt, min(output, length - prompt), group, shared, pick.randint(0, 3))
        requests.append(Arrival(number, None, *row))
    return config, Release(release), requests, pick.randint(0, len(requests))


def started(requests: list[Arrival], concurrency: int, seed: int) -> Source:
    if concurrency:
        return ClosedLoop(iter(requests), concurrency)
    pick = Random(seed)
    times = sorted(pick.uniform(0, 1) for _ in requests)
    return OpenLoop(one._replace(time_s=time) for one, time in zip(requests, times, strict=True))


@pytest.mark.parametrize(
    "seeds", [range(start, start + 30) for start in range(0, 150, 30)], ids=str
)
def test_the_run_is_the_same_as_step_by_step(step_model, seeds):
    made_at_once = preempted = 0
    for seed in seeds:
        config, release, requests, concurrency = drawn(seed)

        def run(**recorded: bool) -> SimulationResult:
            return run_stepwise(
                config,  # noqa: B023 - called in this turn
                release,  # noqa: B023
                step_model,
                started(requests, concurrency, seed),  # noqa: B023
                **recorded,
            )

        exact, found = run(**RECORDED), run()
        assert (found.steps, found.preemptions) == (exact.steps, exact.preemptions), seed
        assert found.unfinished == exact.unfinished, seed
        for one, other in zip(found.records, exact.records, strict=True):
            assert one[:3] == other[:3] and one.preemptions == other.preemptions, seed
            assert one.cached_tokens == other.cached_tokens, seed
            for name in ("admitted_s", "first_token_s", "finished_s"):
                assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9), seed
            assert sum(gap.count for gap in one.gaps) == sum(gap.count for gap in other.gaps)
        if found.records and not found.unfinished:
            quick, slow = measure(found, Slo()), measure(exact, Slo())
            assert (quick.itl_ms is None) == (slow.itl_ms is None)
            if quick.itl_ms and slow.itl_ms:
                assert quick.itl_ms == pytest.approx(slow.itl_ms, rel=1e-6), seed
        made_at_once += any(len(tuple(record.gaps)) > 20 for record in found.records)
        preempted += exact.preemptions > 0
    assert made_at_once and preempted


def test_requests_that_preempt_each_other_for_ever_end_as_unfinished(step_model):
    config = EngineConfig(
        max_num_seqs=4,
        max_num_batched_tokens=64,
        max_model_len=256,
        num_gpu_blocks=66,
        block_size=1,
        enable_prefix_caching=False,
        async_scheduling=True,
        long_prefill_token_threshold=40,
        scheduler_reserve_full_isl=False,
    )
    requests = [Arrival(number, None, 64, 60, None, 0, 0) for number in range(4)]
    stuck = run_stepwise(config, Release("0.9.2"), step_model, ClosedLoop(iter(requests), 4))
    assert stuck.unfinished and stuck.preemptions


def test_a_run_of_more_work_than_it_is_given_is_broken_off(step_model):
    config, release, requests, _ = drawn(1)
    with pytest.raises(LongRunError):
        run_stepwise(config, release, step_model, ClosedLoop(iter(requests), 2), most_work=10)
