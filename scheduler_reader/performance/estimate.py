"""The performance estimate: what the declared workload gets from this engine."""

from __future__ import annotations

from scheduler_reader.record import Record


class Latency(Record):
    """Milliseconds.  p50 and p99 are None where the load is saturated: no tail is printed then."""

    mean: float
    p50: float | None = None
    p99: float | None = None


class Floor(Record):
    """The fastest possible inter-token latency of one stream, and what bounds it."""

    itl_ms: float
    bound: str  # memory, compute, communication, host


class StepShares(Record):
    """Where the time of a typical step goes; the four shares sum to 1."""

    memory: float
    compute: float
    communication: float
    host: float


class SpeculationEffect(Record):
    """What drafts do for this load.  `acceptance_length` is in tokens a step, low, best and high.

    `speedup` is the request rate over that without drafts, with as many requests running;
    `speedup_range` the same with the least and the most that drafts are known to gain.
    `break_even_concurrency`: from that many running requests on it is below 1; None: nowhere up to
    what the engine takes.
    """

    method: str
    drafts: int
    acceptance_length: tuple[float, float, float]
    is_stated: bool
    speedup: float
    speedup_range: tuple[float, float]
    break_even_concurrency: int | None


class PerformanceEstimate(Record):
    """One operating point: best estimate, with the low and high end as further estimates."""

    ttft_ms: Latency
    itl_ms: Latency
    tpot_ms: float
    output_tokens_per_s: float
    total_tokens_per_s: float
    requests_per_s: float
    goodput_requests_per_s: float
    saturated: bool
    capacity_requests_per_s: float | None  # highest sustainable open-loop rate
    running: float  # requests in the running queue, average
    waiting: float
    preemptions_per_request: float
    floor: Floor
    shares: StepShares
    not_modeled: tuple[str, ...]
    queue_growth_per_s: float | None = None  # what an open loop offers beyond the capacity
    steady_ttft_p99_ms: float | None = None  # without the requests of a start-up burst
    speculation: SpeculationEffect | None = None
    assumptions: tuple[str, ...] = ()
    low: PerformanceEstimate | None = None
    high: PerformanceEstimate | None = None
