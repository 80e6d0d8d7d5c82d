"""Runs in units of the tokens that a step with drafts yields: counts come back in tokens."""

from __future__ import annotations

import json

import pytest

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.simulate.arrivals import Arrival, OpenLoop
from scheduler_reader.simulate.drafts import InUnits, counted, in_tokens, objectives
from scheduler_reader.simulate.metrics import Metrics
from scheduler_reader.simulate.modes import Mode, bounds_of, run_mode
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo, Workload

DRAFTS = {"method": "eagle3", "model": "someone/eagle3-of-llama", "num_speculative_tokens": 3}
ENGINE = (
    "meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096 "
    f"--speculative-config '{json.dumps(DRAFTS)}'"
)
LOAD = Workload(
    concurrency=4,
    num_requests=16,
    input_tokens=Lengths(constant=1000),
    output_tokens=Lengths(constant=101),
    acceptance_length=2.5,
)


@pytest.fixture
def setup(served):
    found = set_up(*served(ENGINE, LOAD), LOAD)
    assert isinstance(found, Known), found
    return found.value


def test_what_is_left_after_whole_steps_goes_to_the_next_request():
    requests = OpenLoop(Arrival(number, float(number), 10, 8) for number in range(4))
    units = InUnits(requests, 2.0)
    taken = [units.take() for _ in range(4)]
    # 7 gaps of two tokens a step: 3.5 steps, so 3 and 4 in turn, after the first token.
    assert [each.output_tokens for each in taken] == [4, 5, 4, 5]
    assert {each.prompt_tokens for each in taken} == {5}
    assert units.is_exhausted


def test_what_requests_share_is_counted_in_units_too():
    shared = OpenLoop([Arrival(0, 0.0, 1000, 8, prefix_group=1, prefix_tokens=805)])
    taken = InUnits(shared, 2.0).take()
    assert (taken.prompt_tokens, taken.prefix_tokens, taken.prefix_group) == (500, 402, 1)


def test_limits_are_counted_in_units(setup):
    config = counted(setup).config
    # 4 sequences x (4 tokens checked - 2.5 that pass) are not there for prompts.
    assert config.max_num_batched_tokens == int((8192 - 4 * 1.5) / 2.5)
    assert config.block_size == 6  # 16 / 2.5
    usable = (setup.config.num_gpu_blocks - 1) * 16 / 2.5
    assert (config.num_gpu_blocks - 1) * 6 == pytest.approx(usable, abs=6)
    assert config.max_model_len == 1639
    assert config.num_speculative_tokens == 0


def test_a_step_takes_the_same_time_in_units(setup):
    tokens, units = setup.step_model, counted(setup).step_model
    assert units.step_seconds(8, 4000, [(400, 100)]) == pytest.approx(
        tokens.step_seconds(8, 10_000, [(1000, 250)])
    )


def test_metrics_come_back_in_tokens():
    whole = Metrics(
        finished=10, unfinished=0, duration_s=1.0, ttft_ms=None, itl_ms=Latency(20.0), tpot_ms=Latency(20.0, 18.0),
        e2e_ms=None, output_tokens_per_s=110.0, total_tokens_per_s=510.0, requests_per_s=10.0,
        goodput_requests_per_s=10.0, kv_waste=0.0, prefix_hit_rate=0.0, preemptions=0, queue_growth_per_s=0.0,
    )  # fmt: skip
    found = in_tokens(whole, 2.0)
    assert found.tpot_ms == Latency(10.0, 9.0, None)
    assert found.itl_ms == Latency(20.0)
    assert found.output_tokens_per_s == 10 + 100 * 2
    assert found.total_tokens_per_s == 400 * 2 + 210
    assert in_tokens(whole, 1.0) == whole
    assert objectives(Slo(tpot_ms=10.0, itl_ms=50.0), 2.0) == Slo(tpot_ms=20.0, itl_ms=50.0)


@pytest.mark.parametrize("mode", [Mode.naive, Mode.static, Mode.chunked])
def test_every_mode_serves_all_tokens(setup, mode):
    run = run_mode(mode, setup, bounds_of(setup), Slo())
    assert run.metrics.finished == 16
    assert run.output_tokens == pytest.approx(16 * 101, rel=0.01)
    rate = run.metrics.output_tokens_per_s
    assert rate == pytest.approx(16 * 101 / run.metrics.duration_s, rel=0.01)
    assert run.metrics.total_tokens_per_s == pytest.approx(rate * 1101 / 101, rel=0.01)
