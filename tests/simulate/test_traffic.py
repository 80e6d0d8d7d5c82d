"""Workloads as requests: lengths, arrival times, prefixes, and the two load protocols."""

from __future__ import annotations

import tracemalloc
from itertools import islice, pairwise
from math import inf
from random import Random
from statistics import mean, stdev

import pytest

from scheduler_reader.errors import UsageError
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, OpenLoop, Source
from scheduler_reader.simulate.lengths import draw
from scheduler_reader.simulate.traffic import source
from scheduler_reader.workload import Lengths, Workload, read_workload


def load(**fields: object) -> Workload:
    stated = {"protocol": "open-loop", "rate": 4.0, "input_tokens": 100, "output_tokens": 10}
    return read_workload({**stated, **fields}, "test")


def taken(requests: Source) -> list[Arrival]:
    """All requests of a source when each is through at once."""
    arrivals = []
    while not requests.is_exhausted:
        arrivals.append(requests.take())
        requests.finished(arrivals[-1].time_s or 0.0)
    return arrivals


def gaps(workload: Workload) -> list[float]:
    times = [arrival.time_s or 0.0 for arrival in taken(source(workload, 8192))]
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.parametrize(
    ("lengths", "expected_mean", "expected_std"),
    [
        (Lengths(constant=7), 7, 0),
        (Lengths(uniform=(10, 30)), 20, 6.06),
        (Lengths(normal={"mean": 500, "std": 50}), 500, 50),
        (Lengths(lognormal={"mean": 1000, "std": 900}), 1000, 900),
    ],
)
def test_lengths_have_the_stated_mean_and_deviation(lengths, expected_mean, expected_std):
    values = list(islice(draw(lengths, Random(1)), 20_000))
    assert mean(values) == pytest.approx(expected_mean, rel=0.03)
    assert stdev(values) == pytest.approx(expected_std, rel=0.1)
    assert min(values) >= 1


@pytest.mark.parametrize(
    ("arrival", "variation"), [("poisson", 1), ("constant", 0), ({"gamma": 3}, 3)]
)
def test_arrival_laws_keep_the_rate(arrival, variation):
    between = gaps(load(arrival=arrival, num_requests=20_000))
    assert mean(between) == pytest.approx(0.25, rel=0.06)
    assert stdev(between) / mean(between) == pytest.approx(variation, rel=0.1, abs=1e-9)


def test_bursts_come_together():
    assert gaps(load(arrival={"burst": 4}, num_requests=9)) == [0, 0, 0, 1, 0, 0, 0, 1]


def test_the_seed_decides_everything():
    first, again, other = (
        taken(source(load(seed=seed, input_tokens={"uniform": [1, 999]}), 8192))
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_other_lengths_do_not_move_arrivals():
    assert gaps(load(output_tokens=10)) == gaps(load(output_tokens={"uniform": [1, 50]}))


def test_a_conversation_shares_what_the_hit_rate_says():
    workload = load(prefix_cache_hit_rate=0.45, num_requests=20)
    arrivals = taken(source(workload, 8192))
    assert [a.prefix_group for a in arrivals[:4]] == [1, 2, 1, 2]
    hits = sum(a.prefix_tokens for a in arrivals[2:])
    assert hits / sum(a.prompt_tokens for a in arrivals) == pytest.approx(0.45)


def test_a_system_prompt_is_shared_by_all():
    arrivals = taken(source(load(shared_prefix_tokens=64, num_requests=3), 8192))
    assert {(a.prefix_group, a.prefix_tokens) for a in arrivals} == {(0, 64)}


def test_what_is_longer_than_the_model_is_cut_or_never_sent():
    workload = load(input_tokens={"uniform": [95, 105]}, num_requests=200)
    arrivals = taken(source(workload, max_model_len=102))
    assert {a.prompt_tokens for a in arrivals} == set(range(95, 102))
    assert all(a.prompt_tokens + a.output_tokens == 102 for a in arrivals if a.prompt_tokens > 92)


def test_a_closed_loop_sends_when_a_request_is_through():
    clients = ClosedLoop([Arrival(n, None, 5, 5) for n in range(4)], concurrency=2)
    assert [clients.take().time_s, clients.take().time_s, clients.next_s] == [0, 0, inf]
    clients.finished(3.0)
    assert clients.next_s == 3.0
    assert clients.take() == Arrival(2, 3.0, 5, 5)
    clients.finished(4.0)
    clients.take()
    clients.finished(9.0)
    assert clients.is_exhausted and clients.next_s == inf


def test_the_next_request_of_a_client_takes_its_way_to_the_engine():
    workload = load(protocol="closed-loop", concurrency=2, start="burst", num_requests=3)
    clients = source(workload, 8192, turnaround_s=0.012)
    assert [clients.take().time_s, clients.take().time_s] == [0, 0]
    clients.finished(3.0)
    assert clients.next_s == 3.012


def test_a_steady_start_spreads_the_first_requests():
    workload = load(protocol="closed-loop", concurrency=4, start="steady", num_requests=4)
    clients = source(workload, 8192, ramp_s=8.0)
    assert [clients.take().time_s for _ in range(4)] == [0, 2, 4, 6]


def test_an_open_loop_refuses_to_go_back_in_time():
    requests = OpenLoop([Arrival(0, 1.0, 5, 5), Arrival(1, 0.5, 5, 5)])
    with pytest.raises(UsageError, match="request 1 arrives before"):
        requests.take()


def test_a_trace_can_be_sent_at_another_rate_or_in_a_closed_loop(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("time_s,input_tokens,output_tokens\n0,10,1\n5,20,2\n6,30,3\n")
    recorded = read_workload({"trace": str(file)}, "test")
    assert gaps(recorded) == [5, 1]
    faster = recorded.replaced({"protocol": "open-loop", "rate": 100.0})
    assert sum(gaps(faster)) < 1
    closed = recorded.replaced({"protocol": "closed-loop", "concurrency": 3})
    assert [a.prompt_tokens for a in taken(source(closed, 8192))] == [10, 20, 30]
    constant = recorded.replaced({"input_tokens": 7})
    assert {a.prompt_tokens for a in taken(source(constant, 8192))} == {7}


def test_a_long_trace_is_never_held(tmp_path):
    file = tmp_path / "long.csv"
    with file.open("w") as out:
        out.write("time_s,input_tokens,output_tokens\n")
        out.writelines(f"{n},100,10\n" for n in range(30_000))
    workload = read_workload({"trace": str(file)}, "test")
    tracemalloc.start()
    requests = source(workload, 8192)
    while not requests.is_exhausted:
        requests.take()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000
