"""The highest rate that is sustained, by runs, beside the closed form's; saturated loads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import loads
import pytest

from scheduler_reader.diagnosis import find_bottleneck
from scheduler_reader.diagnosis.confirmation import Simulator
from scheduler_reader.diagnosis.evidence import figure
from scheduler_reader.performance import operating_estimate
from scheduler_reader.simulate.estimate import is_simulated, simulated_estimate, simulated_lift
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.sustained import sustained_rate
from scheduler_reader.value import Known
from scheduler_reader.workload import Slo

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
offered = partial(loads.offered, requests=200)
AGREE = 0.06  # share of the closed form's capacity that a search may be off by


SEATS = LLAMA_8B + " --max-num-seqs 24"


@pytest.mark.parametrize(
    ("arguments", "prompt", "output"),
    [
        (SEATS, 300, 300),
        (LLAMA_8B + " --max-num-seqs 8", 1000, 200),
        (LLAMA_8B + " --max-model-len 16384", 6000, 200),
        (LLAMA_8B + " --max-model-len 8192 --gpu-memory-utilization 0.3", 2000, 100),
    ],
)
def test_the_search_agrees_with_the_closed_form(served, arguments, prompt, output):
    workload = offered(1.0, prompt, output)
    engine, plan = served(arguments, workload)
    closed_form = operating_estimate(engine, plan, workload, Slo())
    setup = set_up(engine, plan, workload)
    assert isinstance(closed_form, Known)
    assert isinstance(setup, Known)
    expected = closed_form.value.capacity_requests_per_s
    assert sustained_rate(setup.value, expected) == pytest.approx(expected, rel=AGREE)


@pytest.mark.parametrize("off_by", [0.4, 1.8])
def test_a_wrong_expectation_is_left(served, off_by):
    """The bounds move until one rate is sustained and one is not."""
    workload = offered(1.0, 300, 300)
    setup = set_up(*served(SEATS, workload), workload)
    assert isinstance(setup, Known)
    right = sustained_rate(setup.value, 10.0)
    assert right is not None
    assert sustained_rate(setup.value, right * off_by) == pytest.approx(right, rel=0.12)


def test_seats_bound_the_rate_by_littles_law(served):
    """24 seats, each held for as long as a request takes beside 23 others."""
    workload = offered(1.0, 300, 300)
    setup = set_up(*served(SEATS, workload), workload)
    assert isinstance(setup, Known)
    model = setup.value.step_model
    fastest = 24 / (300 * model.step_seconds(24, 24 * 450))
    found = sustained_rate(setup.value, fastest)
    assert found is not None
    assert 0.9 * fastest < found < 1.02 * fastest


def test_more_than_is_sustained_has_the_capacity_and_no_tail(served):
    engine, plan = served(SEATS, offered(1.0, 300, 300))
    sustained = simulated_estimate(engine, plan, offered(1.0, 300, 300), Slo())
    assert isinstance(sustained, Known)
    assert not sustained.value.saturated
    assert sustained.value.ttft_ms.p99 is not None
    capacity = sustained.value.capacity_requests_per_s
    for factor in (1.2, 1.5, 10):
        workload = offered(factor * capacity, 300, 300)
        found = simulated_estimate(engine, plan, workload, Slo())
        assert isinstance(found, Known)
        estimate = found.value
        assert estimate.saturated
        assert estimate.capacity_requests_per_s == pytest.approx(capacity, rel=0.01)
        tails = (estimate.ttft_ms.p99, estimate.itl_ms.p99, estimate.steady_ttft_p99_ms)
        assert tails == (None, None, None)
        for end in (estimate.low, estimate.high):
            assert end.ttft_ms.p99 is None


def test_the_evidence_says_how_fast_the_queue_grows(served):
    workload = offered(300, 1000, 100)
    engine, plan = served(LLAMA_8B, workload)
    base = simulated_estimate(engine, plan, workload, Slo())
    assert isinstance(base, Known)
    assert is_simulated(base)
    simulator = Simulator(base.value, simulated_lift)
    found = find_bottleneck(engine, plan, workload, Slo(), simulator=simulator)
    assert isinstance(found, Known)
    assert found.value.kind == "saturated"
    capacity = base.value.capacity_requests_per_s
    assert found.value.evidence == (
        f"300 requests/s are offered, the engine sustains {figure(capacity)}: the queue grows by "
        f"{figure(300 - capacity)} requests a second for as long as the load lasts, so no latency "
        "tail is given",
    )
    assert all(lift.before == capacity for lift in found.value.lifted)


def test_a_closed_loop_always_has_an_answer(served):
    workload = replace(offered(1.0, 300, 300), protocol="closed-loop", rate=None, concurrency=512)
    found = simulated_estimate(*served(SEATS, workload), workload, Slo())
    assert isinstance(found, Known)
    assert not found.value.saturated
    assert found.value.capacity_requests_per_s is None
    assert found.value.ttft_ms.p99 is not None


def test_shared_prefixes_are_not_searched(served):
    workload = replace(offered(1.0, 300, 300), shared_prefix_tokens=100)
    setup = set_up(*served(SEATS, workload), workload)
    assert isinstance(setup, Known)
    assert sustained_rate(setup.value, 10.0) is None
