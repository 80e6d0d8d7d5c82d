"""Runs short of KV blocks, from event to event, against the exact scheduler step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler_reader.simulate.crowded import run_crowded
from scheduler_reader.simulate.event_driven import NotPlainError
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.stepwise import run_stepwise
from scheduler_reader.simulate.traffic import source
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Workload

LENGTH = 4096
CLOSED = Workload(
    concurrency=16,
    num_requests=48,
    input_tokens=Lengths(uniform=(50, 200)),
    output_tokens=Lengths(uniform=(100, 400)),
)
OPEN = Workload(
    protocol="open-loop",
    rate=20.0,
    num_requests=40,
    input_tokens=Lengths(uniform=(50, 200)),
    output_tokens=Lengths(uniform=(100, 400)),
)


@pytest.fixture(scope="module")
def runs(served):
    """`runs(workload, version="…", **settings)`: the same run step by step and by events."""

    def both(workload, version="0.18.0", **settings):
        command = f"meta-llama/Llama-3.1-8B-Instruct --max-model-len {LENGTH}"
        setup = set_up(*served(command, workload, version=version), workload)
        assert isinstance(setup, Known)
        changes = {"enable_prefix_caching": False, "async_scheduling": False} | settings
        config = replace(setup.value.config, **changes)
        return [
            run(config, setup.value.release, setup.value.step_model, source(workload, LENGTH))
            for run in (run_stepwise, run_crowded)
        ]

    return both


@pytest.mark.parametrize("version", ["0.10.2", "0.18.0", "0.33.0"])
@pytest.mark.parametrize("workload", [CLOSED, OPEN])
@pytest.mark.parametrize("budget", [64, 8192])
def test_every_request_is_served_as_step_by_step(runs, workload, version, budget):
    exact, found = runs(
        workload, version, num_gpu_blocks=150, max_num_batched_tokens=budget, max_num_seqs=32
    )
    assert exact.preemptions > 10
    assert (found.preemptions, found.steps) == (exact.preemptions, exact.steps)
    for one, other in zip(found.records, exact.records, strict=True):
        assert one.number == other.number and one.preemptions == other.preemptions
        for name in ("admitted_s", "first_token_s", "finished_s"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
        assert sum(gap.count for gap in one.gaps) == one.output_tokens - 1


def test_outputs_in_flight_change_little(runs):
    exact, found = runs(CLOSED, num_gpu_blocks=150, async_scheduling=True)
    assert found.duration_s == pytest.approx(exact.duration_s, rel=0.02)
    assert found.preemptions == pytest.approx(exact.preemptions, rel=0.1)


def test_a_watermark_keeps_blocks_free_at_admission(runs):
    exact, found = runs(CLOSED, num_gpu_blocks=150, watermark=0.1)
    assert found.preemptions == exact.preemptions


def test_enough_blocks_preempt_nobody(runs):
    exact, found = runs(CLOSED, num_gpu_blocks=2000)
    assert found.preemptions == exact.preemptions == 0
    assert found.duration_s == pytest.approx(exact.duration_s)


def test_a_request_longer_than_all_blocks_is_refused(runs):
    with pytest.raises(NotPlainError, match="more KV blocks than there are"):
        runs(CLOSED.replaced({"input_tokens": 4000}), num_gpu_blocks=150)
