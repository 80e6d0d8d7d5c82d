"""The event-driven run and the stepwise one decide alike, at the same times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import repeat
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_command
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.step import StepModel
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, OpenLoop, Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.event_driven import run_event_driven
from scheduler_reader.simulate.failure import LongRunError, NotPlainError
from scheduler_reader.simulate.metrics import measure
from scheduler_reader.simulate.percentiles import Distribution, Progression, Progressions
from scheduler_reader.simulate.result import SimulationResult
from scheduler_reader.simulate.service import serve
from scheduler_reader.simulate.stepwise import run_stepwise
from scheduler_reader.value import Known
from scheduler_reader.workload import Slo

RELEASES = ("0.9.0", "0.10.2", "0.11.2", "0.12.0", "0.18.0", "0.20.2", "0.33.0")
CONFIG = EngineConfig(
    max_num_seqs=4, max_num_batched_tokens=64, max_model_len=512, num_gpu_blocks=200
)
length = st.one_of(st.sampled_from([1, 15, 16, 17, 64]), st.integers(1, 200))
request = st.tuples(
    length, st.one_of(st.sampled_from([1, 2, 16, 17]), st.integers(1, 90)), st.integers(0, 2)
)


@cache
def step_model(*arguments: str) -> StepModel:
    command = ["vllm", "serve", *arguments]
    options = ResolveOptions(vllm_version="0.18.0", gpu="h100")
    model = build_step_model(resolve(parse_command(command).engines[0], options))
    assert isinstance(model, Known)
    return model.value


MODELS = (
    ("meta-llama/Llama-3.1-8B-Instruct",),
    ("meta-llama/Llama-3.1-8B-Instruct", "--enforce-eager"),  # launches bend the line
    ("google/gemma-3-4b-it",),  # so do windows
)


@st.composite
def engines(draw: st.DrawFn) -> EngineConfig:
    seats = draw(st.sampled_from([1, 2, 4, 16]))
    budget = max(seats, draw(st.sampled_from([16, 64, 2048])))
    longest = draw(st.sampled_from([256, 2048]))
    return EngineConfig(
        max_num_seqs=seats,
        max_num_batched_tokens=budget,
        max_model_len=longest,
        policy=draw(st.sampled_from(["fcfs", "priority"])),
        enable_chunked_prefill=budget < longest or draw(st.booleans()),
        long_prefill_token_threshold=draw(st.sampled_from([0, 8, 40])),
        long_prefill_token_threshold_adaptive=draw(st.booleans()),
        num_gpu_blocks=draw(st.sampled_from([40, 200, 2000])),
        block_size=draw(st.sampled_from([1, 16, 32])),
        enable_prefix_caching=draw(st.booleans()),
        async_scheduling=draw(st.booleans()),
        scheduler_reserve_full_isl=draw(st.booleans()),
        watermark=draw(st.sampled_from([0.0, 0.1])),
    )


def arrival(number: int, time_s: float | None, prompt: int, output: int, priority: int) -> Arrival:
    return Arrival(number, time_s, prompt, output, priority=priority)


@st.composite
def sources(draw: st.DrawFn) -> Callable[[], Source]:
    lengths = draw(st.lists(request, min_size=1, max_size=30))
    if draw(st.booleans()):
        clients = draw(st.integers(1, len(lengths)))
        return lambda: ClosedLoop(
            (arrival(n, None, *size) for n, size in enumerate(lengths)), clients
        )
    times = sorted(draw(st.floats(0, 2)) for _ in lengths)
    return lambda: OpenLoop(
        arrival(n, time_s, *size)
        for n, (time_s, size) in enumerate(zip(times, lengths, strict=True))
    )


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given(engines(), st.sampled_from(RELEASES), st.sampled_from(MODELS), sources())
def test_both_ways_give_the_same_result(
    config: EngineConfig, release: str, model: tuple[str, ...], requests: Callable[[], Source]
) -> None:
    step = step_model(*model)
    try:
        fast = run_event_driven(config, Release(release), step, requests())
    except (NotPlainError, UsageError):
        assume(False)
        return
    plain = run_stepwise(config, Release(release), step, requests())
    assert (fast.steps, fast.unfinished) == (plain.steps, plain.unfinished)
    assert fast.busy_s == pytest.approx(plain.busy_s)
    assert fast.duration_s == pytest.approx(plain.duration_s)
    for ours, theirs in zip(fast.records, plain.records, strict=True):
        assert ours.number == theirs.number
        assert ours.admitted_s == approximately(theirs.admitted_s)
        assert ours.first_token_s == approximately(theirs.first_token_s)
        assert ours.finished_s == approximately(theirs.finished_s)
        if ours.finished_s is not None:
            assert ours.output_tokens == theirs.output_tokens
            assert gaps(ours) == pytest.approx(gaps(theirs))
    if not fast.unfinished:
        assert_same_metrics(fast, plain)


def approximately(seconds: float | None) -> Any:
    return None if seconds is None else pytest.approx(seconds)


def gaps(record: Any) -> list[float]:
    return [gap.seconds for gap in record.gaps for _ in range(gap.count)]


def assert_same_metrics(fast: SimulationResult, plain: SimulationResult) -> None:
    ours, theirs = measure(fast, Slo()), measure(plain, Slo())
    for limit_ms in (4.5, 6.0, 8.0, 20.0):
        objective = Slo(itl_ms=limit_ms)
        good = [measure(each, objective).goodput_requests_per_s for each in (fast, plain)]
        assert good[0] == pytest.approx(good[1])
    for name in ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"):
        left, right = getattr(ours, name), getattr(theirs, name)
        assert (left is None) == (right is None)
        if left is not None:
            values = (left.mean, left.p50, left.p99)
            assert values == pytest.approx((right.mean, right.p50, right.p99))


def test_a_threshold_keeps_several_prompts_open() -> None:
    config = replace(CONFIG, long_prefill_token_threshold=16)

    def requests() -> Source:
        return OpenLoop(Arrival(n, 0.0, 30 + 10 * n, 5) for n in range(8))

    fast = run_event_driven(config, Release("0.18.0"), step_model(*MODELS[0]), requests())
    plain = run_stepwise(config, Release("0.18.0"), step_model(*MODELS[0]), requests())
    assert fast.steps == plain.steps > 8
    assert [each.first_token_s for each in fast.records] == [
        approximately(each.first_token_s) for each in plain.records
    ]


@pytest.mark.parametrize("policy", ["fcfs", "priority"])
@pytest.mark.parametrize("blocks", [8, 12])
def test_a_preempting_run_is_the_same_either_way(blocks: int, policy: Any) -> None:
    config = EngineConfig(
        max_num_seqs=4,
        max_num_batched_tokens=64,
        max_model_len=256,
        num_gpu_blocks=blocks,
        policy=policy,
        scheduler_reserve_full_isl=False,
    )

    def requests() -> Source:
        return OpenLoop(Arrival(number, 0.0, 30, 60) for number in range(3))

    step = step_model(*MODELS[0])
    served = serve(config, Release("0.18.0"), step, requests)
    with pytest.raises(LongRunError):
        serve(config, Release("0.18.0"), step, requests, most_work=1)
    plain = run_stepwise(config, Release("0.18.0"), step, requests())
    assert served.preemptions == plain.preemptions > 0
    assert served.duration_s == pytest.approx(plain.duration_s)
    if policy == "priority":  # who gives way depends on more than the order of admission
        with pytest.raises(NotPlainError):
            run_event_driven(config, Release("0.18.0"), step, requests())


def drawn(seed: int) -> tuple[EngineConfig, str, Callable[[], Source]]:
    """An engine with few blocks, a release, and requests that want more of them, or the same."""
    pick = Random(seed)
    seats, longest = pick.choice([4, 16, 32]), pick.choice([256, 1024])
    is_async = pick.random() < 0.5
    config = EngineConfig(
        max_num_seqs=seats,
        max_num_batched_tokens=max(seats, pick.choice([16, 64, 2048])),
        max_model_len=longest,
        num_gpu_blocks=pick.choice([30, 40, 80]),
        block_size=pick.choice([4, 16, 16, 32]),
        enable_prefix_caching=pick.random() < 0.6,
        async_scheduling=is_async,
        scheduler_reserve_full_isl=pick.random() < 0.7,
        watermark=pick.choice([0, 0, 0.1]),
        long_prefill_token_threshold=pick.choice([0, 0, 8, 40]),
        long_prefill_token_threshold_adaptive=pick.random() < 0.3,
    )
    numbers = range(pick.randint(8, 40))
    prompts = [pick.choice([1, 15, 16, 17, 64, pick.randint(1, 120)]) for _ in numbers]
    outputs = [
        pick.choice([1, 2, 16, pick.randint(1, 130), pick.randint(50, 130)]) for _ in numbers
    ]
    groups = pick.choice([[None], [None, 0], [0], [0, 1, 2]])
    shared = [
        (None, 0) if group is None else (group, pick.choice([size, pick.randint(1, size)]))
        for size, group in ((size, pick.choice(groups)) for size in prompts)
    ]
    clients, release = pick.randint(1, len(numbers)), pick.choice(RELEASES[3 if is_async else 1 :])

    def requests() -> Source:
        rows = zip(
            numbers, repeat(None), prompts, outputs, *zip(*shared, strict=True), strict=False
        )
        return ClosedLoop((Arrival(*row) for row in rows), clients)

    return config, release, requests


@pytest.mark.parametrize("seeds", [range(at, at + 40) for at in range(0, 240, 40)], ids=str)
def test_preemptions_and_hits_are_those_of_the_exact_scheduler(seeds: range) -> None:
    step, preempted, found = step_model(*MODELS[0]), 0, 0
    for seed in seeds:
        config, release, requests = drawn(seed)
        try:
            fast = run_event_driven(config, Release(release), step, requests())
        except NotPlainError:  # nobody is left in a step, for one
            continue
        plain = run_stepwise(config, Release(release), step, requests())
        assert (fast.steps, fast.preemptions) == (plain.steps, plain.preemptions), seed
        assert fast.unfinished == plain.unfinished, seed
        for ours, theirs in zip(fast.records, plain.records, strict=True):
            assert ours.preemptions == theirs.preemptions, seed
            assert ours.cached_tokens == theirs.cached_tokens, seed
            assert ours.finished_s == approximately(theirs.finished_s), seed
            if ours.finished_s is not None:
                assert gaps(ours) == pytest.approx(gaps(theirs)), seed
        if not fast.unfinished:
            assert_same_metrics(fast, plain)
        preempted += fast.preemptions
        found += fast.preemptions > 0 and any(one.cached_tokens for one in fast.records)
    assert preempted > 20 and found


def test_a_shared_prefix_is_found() -> None:
    requests = OpenLoop(Arrival(n, float(n), 100, 4, 0, 64) for n in range(3))
    served = run_event_driven(CONFIG, Release("0.18.0"), step_model(*MODELS[0]), requests)
    assert [record.cached_tokens for record in served.records] == [0, 64, 64]


def test_a_request_that_never_fits_ends_the_run_unfinished() -> None:
    config = EngineConfig(
        max_num_seqs=4, max_num_batched_tokens=64, max_model_len=512, num_gpu_blocks=10
    )

    def requests() -> Source:
        return OpenLoop([Arrival(0, 0.0, 40, 2), Arrival(1, 0.0, 400, 2), Arrival(2, 1.0, 16, 2)])

    served = serve(config, Release("0.33.0"), step_model(*MODELS[0]), requests)
    assert served.unfinished == (1, 2)


@given(
    st.lists(
        st.builds(
            Progression,
            st.floats(0.001, 1),
            st.sampled_from([0.0, 1e-6, 0.01]),
            st.integers(1, 60),
            st.integers(1, 9),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_percentiles_of_progressions_are_those_of_their_values(parts: list[Progression]) -> None:
    values = [(p.first + p.growth * i, p.weight) for p in parts for i in range(p.steps)]
    ours, theirs = Progressions(tuple(parts)).latency(), Distribution.of_runs(values).latency()
    assert ours is not None and theirs is not None
    assert (ours.mean, ours.p50, ours.p99) == pytest.approx((theirs.mean, theirs.p50, theirs.p99))
