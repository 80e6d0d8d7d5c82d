"""Metrics of runs, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.simulate.metrics import measure
from scheduler_reader.simulate.percentiles import Distribution
from scheduler_reader.simulate.result import Gaps, RequestRecord, SimulationResult
from scheduler_reader.workload import Slo

# Two requests: 20 and 10 prompt tokens, first tokens after 1 s and 3 s.
FIRST = RequestRecord(0, 20, 4, 0.0, 0.0, 1.0, 1.8, 16, 0, (Gaps(0.1, 2), Gaps(0.6, 1)))
SECOND = RequestRecord(1, 10, 2, 2.0, 4.0, 5.0, 5.2, 0, 1, (Gaps(0.2, 1),))
THIRD = RequestRecord(2, 5, 0, 4.0)  # never admitted


def run(*records: RequestRecord) -> SimulationResult:
    unfinished = tuple(record.number for record in records if record.finished_s is None)
    return SimulationResult(records, 10.0, 9, 8.0, 1, 100, 16, unfinished)


def test_latencies_and_rates():
    metrics = measure(run(FIRST, SECOND, THIRD), Slo())
    assert (metrics.finished, metrics.unfinished, metrics.preemptions) == (2, 1, 1)
    assert metrics.ttft_ms is not None and metrics.ttft_ms.mean == pytest.approx(2000)
    assert metrics.ttft_ms.p99 == pytest.approx(1000 + 0.99 * 2000)
    assert metrics.e2e_ms is not None and metrics.e2e_ms.mean == pytest.approx(2500)
    # all gaps: 0.1 0.1 0.2 0.6
    assert metrics.itl_ms is not None and metrics.itl_ms.mean == pytest.approx(250)
    assert metrics.itl_ms.p50 == pytest.approx(150)
    assert metrics.itl_ms.p99 == pytest.approx(200 + 0.97 * 400)
    # means of the requests: 0.8 / 3 and 0.2
    assert metrics.tpot_ms is not None
    assert metrics.tpot_ms.mean == pytest.approx(1000 * (0.8 / 3 + 0.2) / 2)
    assert metrics.output_tokens_per_s == pytest.approx(0.6)
    assert metrics.total_tokens_per_s == pytest.approx(3.6)
    assert metrics.requests_per_s == pytest.approx(0.2)


def test_waste_hits_and_queue():
    metrics = measure(run(FIRST, SECOND, THIRD), Slo())
    assert metrics.kv_waste == pytest.approx(1 - 36 / 48)  # 24 of 32 slots, 12 of 16
    assert metrics.prefix_hit_rate == pytest.approx(16 / 30)
    # at 2 s the second waits; at 4 s it has just been admitted and the third waits
    assert metrics.queue_growth_per_s == 0.0
    assert measure(run(FIRST, THIRD), Slo()).queue_growth_per_s == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("slo", "good"),
    [
        (Slo(), 2),
        (Slo(ttft_ms=1000), 1),
        (Slo(ttft_ms=999), 0),
        (Slo(tpot_ms=250), 1),  # the first one's mean is 267 ms
        (Slo(itl_ms=591), 2),  # its 99th percentile is 590 ms
        (Slo(itl_ms=589), 1),
        (Slo(itl_ms=199), 0),
    ],
)
def test_goodput_counts_requests_that_meet_every_objective(slo, good):
    assert measure(run(FIRST, SECOND), slo).goodput_requests_per_s == pytest.approx(good / 10)


def test_the_frontend_is_part_of_ttft_only():
    metrics = measure(run(FIRST), Slo(ttft_ms=1005), frontend_s=0.01)
    assert metrics.ttft_ms is not None and metrics.ttft_ms.p50 == pytest.approx(1010)
    assert metrics.goodput_requests_per_s == 0


def test_a_run_without_a_finished_request_has_no_latency():
    metrics = measure(run(THIRD), Slo())
    assert (metrics.ttft_ms, metrics.itl_ms, metrics.requests_per_s) == (None, None, 0)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]),
)
def test_percentiles_of_runs_are_those_of_the_single_values(runs, q):
    values = sorted(value for value, count in runs for _ in range(count))
    rank = q * (len(values) - 1)
    low = int(rank)
    high = min(low + 1, len(values) - 1)
    expected = values[low] + (rank - low) * (values[high] - values[low])
    found = Distribution.of_runs(runs)
    assert found.percentile(q) == pytest.approx(expected)
    latency = found.latency()
    assert latency is not None
    assert latency.mean == pytest.approx(1000 * sum(values) / len(values))
