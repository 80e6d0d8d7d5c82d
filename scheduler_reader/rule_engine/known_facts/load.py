"""Facts about the declared workload, its objectives, and what is predicted for it."""

from __future__ import annotations

from scheduler_reader.diagnosis.objective import GOODPUT
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD


def workload_is_declared(sources: Sources) -> bool:
    """Somebody stated the workload; otherwise the default one is assumed."""
    return sources.workload != DEFAULT_WORKLOAD


def input_tokens(sources: Sources) -> float:
    """Prompt length, mean."""
    return sources.workload.input_tokens.mean


def largest_input_tokens(sources: Sources) -> float:
    """Prompt length, the longest that matters."""
    return sources.workload.input_tokens.largest


def output_tokens(sources: Sources) -> float:
    """Output length, mean."""
    return sources.workload.output_tokens.mean


def largest_request_tokens(sources: Sources) -> float:
    """Prompt and output together, the longest that matters."""
    workload = sources.workload
    return workload.input_tokens.largest + workload.output_tokens.largest


def shared_prefix_share(sources: Sources) -> float:
    """Share of prompt tokens that the workload says are found in the prefix cache, 0 to 1."""
    return sources.workload.prefix_cache_hit_rate


def offered_concurrency(sources: Sources) -> int | Unknown:
    """Requests in flight of a closed loop."""
    workload = sources.workload
    if workload.protocol != "closed-loop" or workload.concurrency is None:
        return Unknown("an open loop has no fixed number of requests in flight")
    return workload.concurrency


def offered_rate(sources: Sources) -> float | Unknown:
    """Requests per second of an open loop."""
    return sources.workload.rate or Unknown("a closed loop has no rate of its own")


def slo_ttft_ms(sources: Sources) -> float | Unknown:
    """Objective for the time to the first token."""
    return sources.slo.ttft_ms or Unknown("no TTFT objective is stated (--slo-ttft-ms)")


def slo_itl_ms(sources: Sources) -> float | Unknown:
    """Objective for a request's 99th-percentile inter-token latency."""
    return sources.slo.itl_ms or Unknown("no ITL objective is stated (--slo-itl-ms)")


def ttft_p99_ms(sources: Sources) -> float | Unknown:
    """Predicted 99th percentile of the time to the first token."""
    performance = sources.performance
    if isinstance(performance, Unknown):
        return performance
    return _tail(performance.value.ttft_ms.p99)


def itl_p99_ms(sources: Sources) -> float | Unknown:
    """Predicted 99th percentile of the inter-token latency."""
    performance = sources.performance
    if isinstance(performance, Unknown):
        return performance
    return _tail(performance.value.itl_ms.p99)


def tpot_ms(sources: Sources) -> float | Unknown:
    """Predicted mean time per output token of a request."""
    performance = sources.performance
    return performance if isinstance(performance, Unknown) else performance.value.tpot_ms


def itl_floor_ms(sources: Sources) -> float | Unknown:
    """The fastest possible inter-token latency of one stream."""
    performance = sources.performance
    return performance if isinstance(performance, Unknown) else performance.value.floor.itl_ms


def output_tokens_per_s(sources: Sources) -> float | Unknown:
    """Predicted output tokens per second of the engine."""
    performance = sources.performance
    return (
        performance if isinstance(performance, Unknown) else performance.value.output_tokens_per_s
    )


def running_requests(sources: Sources) -> float | Unknown:
    """Predicted mean length of the running queue."""
    performance = sources.performance
    return performance if isinstance(performance, Unknown) else performance.value.running


def waiting_requests(sources: Sources) -> float | Unknown:
    """Predicted mean length of the waiting queue."""
    performance = sources.performance
    return performance if isinstance(performance, Unknown) else performance.value.waiting


def preemptions_per_request(sources: Sources) -> float | Unknown:
    """Predicted preemptions (by recompute) per request."""
    performance = sources.performance
    if isinstance(performance, Unknown):
        return performance
    return performance.value.preemptions_per_request


def is_saturated(sources: Sources) -> bool | Unknown:
    """The offered rate is above what the engine can sustain."""
    performance = sources.performance
    return performance if isinstance(performance, Unknown) else performance.value.saturated


def bottleneck_kind(sources: Sources) -> str | Unknown:
    """The binding limit, found by lifting one at a time."""
    bottleneck = sources.bottleneck
    return bottleneck if isinstance(bottleneck, Unknown) else bottleneck.value.kind


def more_seats_cost_goodput(sources: Sources) -> bool:
    """With max_num_seqs lifted, fewer requests are predicted to meet the stated objectives; False without any."""
    if not sources.slo.is_set or isinstance(sources.bottleneck, Unknown):
        return False
    return any(
        (lift.limit, lift.metric) == ("max_num_seqs", GOODPUT) and lift.gain < 0
        for lift in sources.bottleneck.value.lifted
    )


def _tail(value: float | None) -> float | Unknown:
    return Unknown("no latency tail is predicted for a saturated load") if value is None else value
