"""From a workload to the requests of a run: lengths, times and shared prefixes.

Everything is drawn from the workload's seed, each kind from a generator of its own, so that
another output length does not move arrivals.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, OpenLoop, Source
from scheduler_reader.simulate.lengths import draw
from scheduler_reader.workload import Workload

TURNS = 10  # requests of one conversation: all but the first find its prefix in the cache
SHARED_GROUP = 0  # the prefix group of `shared_prefix_tokens`


def source(
    workload: Workload, max_model_len: int, ramp_s: float = 0.0, turnaround_s: float = 0.0
) -> Source:
    """The workload's requests under its load protocol.

    A request cannot be longer than `max_model_len`: its output is cut there, and a prompt that
    leaves no room for one output token is never sent (vLLM answers it with an error).  With
    `start: steady`, the first requests of a closed loop come evenly over `ramp_s` seconds.
    `turnaround_s` passes between the end of a client's request and the arrival of its next one.
    """
    requests = _fitted(_requests(workload), max_model_len)
    if workload.protocol == "open-loop":
        return OpenLoop(requests)
    assert workload.concurrency is not None
    ramp_s = 0.0 if workload.start == "burst" else ramp_s
    return ClosedLoop(requests, workload.concurrency, ramp_s, turnaround_s)


def _requests(workload: Workload) -> Iterator[Arrival]:
    lengths = _traced(workload) if workload.trace is not None else _drawn(workload)
    lengths = islice(lengths, workload.num_requests)
    if workload.protocol == "closed-loop" or workload.arrival == "trace":
        return lengths
    return (
        arrival._replace(time_s=time_s)
        for arrival, time_s in zip(lengths, _times(workload), strict=False)
    )


def _fitted(requests: Iterator[Arrival], max_model_len: int) -> Iterator[Arrival]:
    for arrival in requests:
        room = max_model_len - arrival.prompt_tokens
        if room >= arrival.output_tokens:
            yield arrival
        elif room > 0:
            yield arrival._replace(output_tokens=room)


def _traced(workload: Workload) -> Iterator[Arrival]:
    from scheduler_reader.traces import read_trace

    assert workload.trace is not None
    for number, row in enumerate(read_trace(workload.trace)):
        yield Arrival(number, *row)


def _drawn(workload: Workload) -> Iterator[Arrival]:
    inputs = draw(workload.input_tokens, Random(f"{workload.seed} input"))
    outputs = draw(workload.output_tokens, Random(f"{workload.seed} output"))
    conversations = -(-workload.num_requests // TURNS)
    share = min(1.0, workload.prefix_cache_hit_rate * TURNS / (TURNS - 1))
    for number, (prompt, output) in enumerate(zip(inputs, outputs, strict=False)):
        if share:
            group, shared = SHARED_GROUP + 1 + number % conversations, round(share * prompt)
        else:
            group, shared = SHARED_GROUP, min(workload.shared_prefix_tokens, prompt)
        yield Arrival(number, None, prompt, output, group if shared else None, shared)


def _times(workload: Workload) -> Iterator[float]:
    """When an open loop's requests come, in seconds: `rate` a second on average."""
    assert workload.rate is not None
    law, random = workload.arrival, Random(f"{workload.seed} arrival")
    burst = law["burst"] if isinstance(law, dict) and "burst" in law else 1.0
    time_s, number = 0.0, 0
    while True:
        yield time_s
        number += 1
        if number % max(1, round(burst)) == 0:
            time_s += _gap(workload.rate / max(1, round(burst)), law, random)


def _gap(rate: float, law: str | dict[str, float] | object, random: Random) -> float:
    if isinstance(law, dict) and "gamma" in law:
        variation = law["gamma"] ** 2
        return random.gammavariate(1 / variation, variation / rate)
    return random.expovariate(rate) if law == "poisson" else 1 / rate
