"""What the quoted figures are about, computed by the stages that read a user's configuration."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.capacity.fragmentation import fragmentation
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.claims.claim import Case, Measured
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.parse import parse_command
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.simulate.metrics import Metrics
from scheduler_reader.simulate.modes import Mode, bounds_of, run_mode
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.value import Unknown, Value
from scheduler_reader.workload import Slo

BLOCK_TOKENS = 16
RESERVED_TOKENS = 8192  # that a contiguous allocator keeps for each request


def output_tokens_per_s(case: Case) -> Measured | Unknown:
    """Of the workload, simulated."""
    engine, plan = _served(case)
    found = _estimate(engine, plan, case)
    if isinstance(found, Unknown):
        return found
    beside = f"{found.value.running:,.0f} of {case.workload.concurrency} requests run at once"
    return _with_ends(found.value, lambda one: one.output_tokens_per_s, beside)


def itl_p50_ms(case: Case) -> Measured | Unknown:
    """Median gap between two tokens."""
    return _latency(case, lambda estimate: estimate.itl_ms.p50)


def itl_p99_ms(case: Case) -> Measured | Unknown:
    """99th percentile of all gaps between two tokens."""
    return _latency(case, lambda estimate: estimate.itl_ms.p99)


def ttft_mean_ms(case: Case) -> Measured | Unknown:
    """Mean time to the first token."""
    return _latency(case, lambda estimate: estimate.ttft_ms.mean, with_floor=False)


def one_stream_tokens_per_s(case: Case) -> Measured | Unknown:
    """What `case.streams` streams get at most: one token each time the weights are read."""
    found = _estimate(*_served(case), case)
    if isinstance(found, Unknown):
        return found
    floor = found.value.floor.itl_ms
    return Measured(case.streams * 1e3 / floor, beside=f"floor {floor:.1f} ms a step")


def kv_cache_tokens(case: Case) -> Measured | Unknown:
    """Tokens that the KV blocks hold."""
    _, plan = _served(case)
    if plan.kv_cache_tokens is None or plan.low is None or plan.high is None:
        return Unknown(plan.reason)
    low, high = plan.low.kv_cache_tokens, plan.high.kv_cache_tokens
    return Measured(plan.kv_cache_tokens, low, high)


def kv_gib(case: Case) -> Measured | Unknown:
    """GiB of `case.tokens` tokens on each GPU."""
    _, plan = _served(case)
    if plan.kv_bytes_per_token is None:
        return Unknown(plan.reason)
    kib = plan.kv_bytes_per_token / 1024
    value = case.tokens * plan.kv_bytes_per_token / GIB
    return Measured(value, beside=f"{kib:,.0f} KiB a token on each GPU")


def block_waste_percent(case: Case) -> Measured:
    """Expected empty slots of the last block, of a request's tokens."""
    found = fragmentation([case.tokens], RESERVED_TOKENS, BLOCK_TOKENS)
    return Measured(100 * found.expected_waste)


def paged_gain(case: Case) -> Measured:
    """How many times as many requests blocks hold as contiguous reservation does."""
    return Measured(fragmentation([case.tokens], RESERVED_TOKENS, BLOCK_TOKENS).gain)


def chunking_gain_percent(case: Case) -> Measured | Unknown:
    """Tokens/s of chunked over whole prompts."""
    return _compared(
        case, Mode.continuous, lambda whole, chunked: 100 * (_ratio(chunked, whole) - 1)
    )


def chunking_ttft_saving_percent(case: Case) -> Measured | Unknown:
    """How much shorter the p99 of TTFT is with chunks than with whole prompts."""
    return _compared(case, Mode.continuous, _ttft_saving)


def continuous_gain(case: Case) -> Measured | Unknown:
    """Tokens/s with chunks and continuous batching over static batches."""
    return _compared(case, Mode.static, lambda static, chunked: _ratio(chunked, static))


MEASURES: dict[str, Callable[[Case], Measured | Unknown]] = {
    measure.__name__: measure
    for measure in (
        output_tokens_per_s,
        itl_p50_ms,
        itl_p99_ms,
        ttft_mean_ms,
        one_stream_tokens_per_s,
        kv_cache_tokens,
        kv_gib,
        block_waste_percent,
        paged_gain,
        chunking_gain_percent,
        chunking_ttft_saving_percent,
        continuous_gain,
    )
}


def _served(case: Case) -> tuple[ResolvedEngine, CapacityPlan]:
    parsed = parse_command(["vllm", "serve", *shlex.split(case.arguments)]).engines[0]
    engine = resolve(parsed, ResolveOptions(case.release, case.gpu))
    return engine, plan_capacity(engine, case.workload)


def _estimate(engine: ResolvedEngine, plan: CapacityPlan, case: Case) -> Value[PerformanceEstimate]:
    if plan.starts is False:
        return Unknown(plan.reason)
    return simulated_estimate(engine, plan, case.workload, Slo())


def _latency(
    case: Case, read: Callable[[PerformanceEstimate], float | None], *, with_floor: bool = True
) -> Measured | Unknown:
    found = _estimate(*_served(case), case)
    if isinstance(found, Unknown):
        return found
    beside = f"floor {found.value.floor.itl_ms:.1f} ms" if with_floor else ""
    return _with_ends(found.value, read, beside)


def _with_ends(
    best: PerformanceEstimate, read: Callable[[PerformanceEstimate], float | None], beside: str
) -> Measured | Unknown:
    value = read(best)
    if value is None:
        return Unknown("the load is above the capacity")
    ends = [read(end) for end in (best.low, best.high) if end is not None]
    known = sorted(end for end in ends if end is not None)
    if not known:
        return Measured(value, beside=beside)
    return Measured(value, known[0], known[-1], beside)


def _compared(
    case: Case, before: Mode, read: Callable[[Metrics, Metrics], float]
) -> Measured | Unknown:
    """Chunked prefill against another way to batch, on the same requests."""
    metrics = _metrics(case, before), _metrics(case, Mode.chunked)
    for one in metrics:
        if isinstance(one, Unknown):
            return one
    return Measured(read(*metrics))  # type: ignore[arg-type]


def _metrics(case: Case, mode: Mode) -> Metrics | Unknown:
    setup = set_up(*_served(case), case.workload)
    if isinstance(setup, Unknown):
        return setup
    return run_mode(mode, setup.value, bounds_of(setup.value), Slo()).metrics


def _ratio(after: Metrics, before: Metrics) -> float:
    return after.output_tokens_per_s / before.output_tokens_per_s


def _ttft_saving(before: Metrics, after: Metrics) -> float:
    assert before.ttft_ms and after.ttft_ms and before.ttft_ms.p99 and after.ttft_ms.p99
    return 100 * (1 - after.ttft_ms.p99 / before.ttft_ms.p99)
