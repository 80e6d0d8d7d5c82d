"""What was observed of one running engine: metrics, load generators and a start-up log, joined.

Where two sources measure the same, what is nearer to the user wins: what the user states before a
client's latencies, those before the server's, the server's metrics before lines of its log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler_reader.observe.measures import (
    Measures,
    concurrency_of_client,
    is_open_loop,
    known,
)
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.value import Known
from scheduler_reader.workload import DEFAULT_WORKLOAD, Lengths, Workload

if TYPE_CHECKING:
    from scheduler_reader.capacity.plan import CapacityPlan
    from scheduler_reader.observe.bench import Benchmark
    from scheduler_reader.observe.startup_log import StartupLog

# The four that a verdict on a running engine needs, each by any of its measures.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "TTFT": ("ttft_mean_ms", "ttft_p50_ms", "ttft_p99_ms"),
    "ITL": ("itl_mean_ms", "itl_p50_ms", "itl_p99_ms", "tpot_ms"),
    "throughput": ("output_tokens_per_s", "requests_per_s"),
    "concurrency": ("running", "running_mean", "offered_concurrency"),
}
LENGTHS = {"input_tokens": "prompts", "output_tokens": "outputs"}
SEEN = 0.1  # requests open at once, in the mean: fewer are nobody, or one now and then
ENOUGH_REQUESTS = 10  # of a closed loop, for each that is open at once


class Comparison(Record):
    """One measure as predicted and as observed."""

    metric: str
    predicted: float
    observed: float

    @property
    def ratio(self) -> float | None:
        """Observed over predicted; None where nothing was predicted."""
        return self.observed / self.predicted if self.predicted else None


class Observation(Record):
    """Measures by names of `MEASURES`, and what the sources say beside them."""

    measures: Measures
    sources: tuple[str, ...]
    cache_config: Mapping[str, str] = {}  # of vllm:cache_config_info
    log: StartupLog | None = None
    benchmark: Benchmark | None = None
    unread: tuple[str, ...] = ()  # metrics that this release of ours does not know
    notes: tuple[str, ...] = ()

    def get(self, name: str) -> float | None:
        """The number behind a measure, or None."""
        return known(self.measures, name)

    @property
    def is_open_loop(self) -> bool:
        """Whether requests came at a rate, whatever was still running."""
        return is_open_loop(self.measures)

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of the four metrics of a verdict that nobody measured."""
        return tuple(
            metric
            for metric, names in NEEDED.items()
            if all(self.get(name) is None for name in names)
        )


def observe(
    metrics: Sequence[str] = (),
    bench: Sequence[str] = (),
    startup_log: str | None = None,
    interval_s: float | None = None,
    stated: Mapping[str, Known[float]] | None = None,
) -> Observation | None:
    """Read all sources; None where none is given.

    `metrics`: one page or two, files or URLs (`metrics.read_metrics`).  Of several results of load
    generators the last run counts.  `stated`: what the user observed and says (`stated.read_stated`).
    Raises `InputError` for what cannot be read.
    """
    if not (metrics or bench or startup_log or stated):
        return None
    measures: dict[str, Known[float]] = {}
    log = page = run = None
    if startup_log:
        from scheduler_reader.observe.startup_log import read_startup_log

        log = read_startup_log(startup_log)
        measures |= _only_known(log.measures)
    if metrics:
        from scheduler_reader.observe.metrics import read_metrics

        page = read_metrics(metrics, interval_s)
        measures |= _only_known(page.measures)
    notes = page.notes if page else ()
    if bench:
        from scheduler_reader.observe.bench import read_bench

        runs = [run for path in bench for run in read_bench(path)]
        run = runs[-1]
        measures |= _only_known(run.measures)
        if len(runs) > 1:
            notes += (f"of {len(runs)} benchmark runs the last one counts",)
    sources = (*metrics, *bench, *([startup_log] if startup_log else ()))
    if stated:
        from scheduler_reader.observe.stated import SOURCE

        measures |= stated
        sources += (SOURCE,)
    _per_request(measures)
    return Observation(
        measures=measures,
        sources=sources,
        cache_config=page.cache_config if page else {},
        log=log,
        benchmark=run,
        unread=page.unread if page else (),
        notes=notes,
    )


def _per_request(measures: dict[str, Known[float]]) -> None:
    """Preemptions a request, where their count and that of the requests come from two places."""
    preempted, finished = measures.get("preemptions"), measures.get("requests")
    if preempted is not None and finished is not None and finished.value > 0:
        share = Known(preempted.value / finished.value, preempted.origin)
        measures.setdefault("preemptions_per_request", share)


def _only_known(measures: Measures) -> dict[str, Known[float]]:
    return {name: value for name, value in measures.items() if isinstance(value, Known)}


def observed_workload(observation: Observation) -> Workload | None:
    """The load that was observed, with mean lengths; None where none of it is known.

    What is not known of it is as in the default load, but for an offered rate: whether one is
    sustained hangs on both lengths, so without them it says nothing.
    """
    shape = _observed_lengths(observation) or _lengths_by_their_ratio(observation)
    rate = observation.get("offered_requests_per_s")
    if observation.is_open_loop and rate:
        if len(shape) < len(LENGTHS):
            return None
        count = observation.get("offered_requests") or observation.get("requests")
        shape |= {
            "protocol": "open-loop",
            "rate": rate,
            "concurrency": None,
            "num_requests": max(1, round(count or DEFAULT_WORKLOAD.num_requests)),
        }
    else:
        concurrency = concurrency_of(observation)
        if concurrency is not None:
            shape |= {"concurrency": concurrency, "num_requests": ENOUGH_REQUESTS * concurrency}
    if not shape:
        return None
    hits = observation.get("prefix_cache_hit_rate")
    if hits is not None:
        shape["prefix_cache_hit_rate"] = min(max(hits, 0.0), 1.0)
    return DEFAULT_WORKLOAD.replaced(shape)


def workload_note(observation: Observation) -> str:
    """What of the load is observed, where nobody states one."""
    known = [LENGTHS[name] for name in _observed_lengths(observation)]
    if _lengths_by_their_ratio(observation):
        known.append("ratio of prompt to output")
    if observation.is_open_loop:
        known.append("rate")
    elif concurrency_of(observation) is not None:
        known.append("concurrency")
    if len(known) > len(LENGTHS):
        return "workload: of what was observed, with mean lengths (nobody states one)"
    return f"workload: {' and '.join(known)} as observed, the rest as where nobody states one"


def _observed_lengths(observation: Observation) -> dict[str, Any]:
    """Mean lengths as measured, else as tokens a second over requests a second."""
    requests = observation.get("requests_per_s")
    found: dict[str, Any] = {}
    for name, rate in (
        ("input_tokens", "prompt_tokens_per_s"),
        ("output_tokens", "output_tokens_per_s"),
    ):
        length, tokens = observation.get(f"{name}_mean"), observation.get(rate)
        if length is None and tokens is not None and requests:
            length = tokens / requests
        if length is not None and length >= 1:
            found[name] = Lengths(constant=round(length))
    return found


def _lengths_by_their_ratio(observation: Observation) -> dict[str, Any]:
    """Where nobody counts requests: the default lengths, one cut to what tokens a second say of both."""
    prompts, outputs = (observation.get(f"{name}_tokens_per_s") for name in ("prompt", "output"))
    if not prompts or not outputs or _observed_lengths(observation):
        return {}
    prompt, output = DEFAULT_WORKLOAD.input_tokens.mean, DEFAULT_WORKLOAD.output_tokens.mean
    if prompts * output >= outputs * prompt:
        cut = {"output_tokens": prompt * outputs / prompts}
    else:
        cut = {"input_tokens": output * prompts / outputs}
    return {name: Lengths(constant=max(1, round(length))) for name, length in cut.items()}


def concurrency_of(observation: Observation) -> int | None:
    """Requests that were open at once: as the client kept them, else as the server saw them."""
    stated = concurrency_of_client(observation.measures)
    running, waiting = observation.get("running"), observation.get("waiting")
    seen = None if running is None else running + (waiting or 0.0)
    for found in (stated, observation.get("running_mean"), seen):
        if found is not None and found >= SEEN:
            return max(1, round(found))
    return None


def compared(
    observation: Observation, plan: CapacityPlan, estimate: PerformanceEstimate | None
) -> tuple[Comparison, ...]:
    """Every measure that was both predicted and observed, in reading order."""
    pairs = ((name, value, observation.get(name)) for name, value in _predicted(plan, estimate))
    return tuple(
        Comparison(name, value, observed)
        for name, value, observed in pairs
        if value is not None and observed is not None
    )


def _predicted(
    plan: CapacityPlan, estimate: PerformanceEstimate | None
) -> Iterator[tuple[str, float | None]]:
    if estimate is not None:
        for name, latency in (("ttft", estimate.ttft_ms), ("itl", estimate.itl_ms)):
            for part, value in zip(("mean", "p50", "p99"), latency, strict=True):
                yield f"{name}_{part}_ms", value
        yield "tpot_ms", estimate.tpot_ms
        yield "output_tokens_per_s", estimate.output_tokens_per_s
        yield "total_tokens_per_s", estimate.total_tokens_per_s
        yield "requests_per_s", estimate.requests_per_s
        yield "running", estimate.running
        yield "waiting", estimate.waiting
        yield "preemptions_per_request", estimate.preemptions_per_request
    yield "kv_cache_tokens", plan.kv_cache_tokens
    yield "num_blocks", plan.num_blocks
    yield "max_concurrency", plan.max_concurrency
    memory = plan.memory
    if memory is not None:
        gib = 1024**3
        yield "weights_gib", memory.weights / gib
        yield "activation_gib", memory.activation / gib
        yield "kv_cache_gib", memory.kv_cache / gib
