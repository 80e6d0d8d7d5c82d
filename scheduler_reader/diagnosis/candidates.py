"""The single changes worth trying on an engine: within its GPUs and what its release accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, prod
from typing import Any

from scheduler_reader.capacity.plan import CapacityPlan, Remedy
from scheduler_reader.capacity.read_inputs import read_inputs
from scheduler_reader.capacity.remedies import highest_utilization
from scheduler_reader.diagnosis.verdict import Bottleneck
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import Workload

FIRST_BUDGETS = (2048, 1024, 512, 4096)  # where prompts were whole; equal gains: the first
BUDGET_FACTORS = (0.125, 0.25, 0.5, 2)
SMALLEST_BUDGET = 256

CUDA_GRAPHS = "CUDA graphs take the launch of every kernel off the CPU"
OVERLAP = "the next step is scheduled while the GPU works on this one"
CHUNKED_PREFILL = "a long prompt is cut into slices that share steps with decodes"
FP8_CACHE = "one byte instead of two a cached value, twice the KV blocks"
SMALLER_BUDGET = "shorter steps: a prompt holds up the other streams for less time"
LARGER_BUDGET = "fewer steps a prompt, each reading all weights once"
MORE_RANKS = "weights and KV cache are split over more GPUs"
MORE_REPLICAS = "more replicas of fewer ranks spend less of their time on all-reduces"


class Change(Record):
    """Settings to set together; `watch` is a metric of `metric_names.yaml`."""

    set: Mapping[str, Any]
    because: str
    watch: str


def named_change(verdict: Bottleneck) -> Change | None:
    """What lifts the limit that a verdict names; None where no setting of its own does."""
    if verdict.default != "chunked_prefill":
        return None
    lift = max(verdict.lifted, key=lambda one: one.gain, default=None)
    if lift is None or lift.sets is None:
        return None
    if verdict.kind == "chunk_too_small":
        return Change(lift.sets, LARGER_BUDGET, "time_to_first_token")
    return Change(lift.sets, SMALLER_BUDGET, "inter_token_latency")


def changes(
    engine: ResolvedEngine, workload: Workload, estimate: PerformanceEstimate
) -> Iterator[Change]:
    """Changes that keep the outputs as they are."""
    yield from _switches(engine)
    yield from _seats(engine, workload, estimate)
    yield from _utilization(engine, estimate.waiting >= 1 or estimate.preemptions_per_request > 0)
    yield from _token_budgets(engine, workload)
    yield from _parallel_sizes(engine)


def lossy_changes(engine: ResolvedEngine) -> Iterator[Change]:
    """Changes that may alter the outputs: to be tried after the others, and evaluated."""
    if _known(engine, "kv_cache_dtype") in ("auto", "bfloat16", "float16"):
        yield Change(
            {"kv_cache_dtype": "fp8"},
            f"{FP8_CACHE}; accuracy-relevant: evaluate the model's answers before use",
            "kv_cache_usage",
        )


def starting_changes(engine: ResolvedEngine, plan: CapacityPlan) -> Iterator[Change]:
    """Changes each of which may be enough for an engine that does not fit to start."""
    for remedy in plan.remedies:
        if remedy.setting == "tensor_parallel_size" and not _fits_gpus(engine, remedy.value):
            continue
        yield Change(remedy.changes, _why_it_starts(remedy), "kv_cache_usage")
    named = {remedy.setting for remedy in plan.remedies}
    length = plan.safe_max_model_len
    if length and "max_model_len" not in named:
        yield Change(
            {"max_model_len": length},
            "a request whose KV cache is sure to fit; much longer ones are refused",
            "kv_cache_usage",
        )
    if "gpu_memory_utilization" not in named:
        yield from _utilization(engine, True)
    if "tensor_parallel_size" not in named:
        yield from _parallel_sizes(engine)
    if "kv_cache_dtype" not in named:
        yield from lossy_changes(engine)


def _why_it_starts(remedy: Remedy) -> str:
    if remedy.max_model_len:
        return f"as much room as {remedy.setting} can make, and a max_model_len that is sure to fit"
    return f"the smallest change of {remedy.setting} with which the engine starts"


def _switches(engine: ResolvedEngine) -> Iterator[Change]:
    if _known(engine, "enforce_eager") is True:
        yield Change(
            {"enforce_eager": False},
            CUDA_GRAPHS,
            "inter_token_latency",
        )
    if _known(engine, "async_scheduling") is False and engine.is_set("async_scheduling"):
        yield Change(
            {"async_scheduling": True},
            OVERLAP,
            "inter_token_latency",
        )
    if _known(engine, "enable_chunked_prefill") is False:
        seats = _known(engine, "max_num_seqs") or 0
        for budget in FIRST_BUDGETS:
            if budget >= seats:
                yield Change(
                    {"enable_chunked_prefill": True, "max_num_batched_tokens": budget},
                    CHUNKED_PREFILL,
                    "inter_token_latency",
                )


def _seats(
    engine: ResolvedEngine, workload: Workload, estimate: PerformanceEstimate
) -> Iterator[Change]:
    """As many seats as the load has requests, where seats may be what it waits for."""
    seats, budget = _known(engine, "max_num_seqs"), _known(engine, "max_num_batched_tokens")
    if not isinstance(seats, int) or not isinstance(budget, int) or estimate.waiting < 1:
        return
    wanted = workload.concurrency or ceil(estimate.running + estimate.waiting)
    wanted = min(max(wanted, 2 * seats) if workload.concurrency is None else wanted, budget)
    if wanted > seats:
        yield Change(
            {"max_num_seqs": wanted},
            f"{estimate.waiting:,.0f} requests wait for one of {seats:,} seats",
            "requests_waiting",
        )


def _utilization(engine: ResolvedEngine, is_short: bool) -> Iterator[Change]:
    current = _known(engine, "gpu_memory_utilization")
    inputs = read_inputs(engine)
    if isinstance(inputs, Unknown) or not is_short or not isinstance(current, float):
        return
    highest = highest_utilization(inputs) / 100
    if current < highest:
        rest = "as far as others leave it" if inputs.used_bytes else "where nothing else runs on it"
        yield Change(
            {"gpu_memory_utilization": highest},
            f"more of the card for KV blocks, {rest}",
            "kv_cache_usage",
        )


def _token_budgets(engine: ResolvedEngine, workload: Workload) -> Iterator[Change]:
    current, seats = _known(engine, "max_num_batched_tokens"), _known(engine, "max_num_seqs")
    if not isinstance(current, int) or not isinstance(seats, int):
        return
    if _known(engine, "enable_chunked_prefill") is False:
        return
    for factor in BUDGET_FACTORS:
        budget = int(current * factor)
        if budget < max(SMALLEST_BUDGET, seats):
            continue
        yield Change(
            {"max_num_batched_tokens": budget},
            SMALLER_BUDGET if factor < 1 else LARGER_BUDGET,
            "inter_token_latency" if factor < 1 else "time_to_first_token",
        )


def _parallel_sizes(engine: ResolvedEngine) -> Iterator[Change]:
    """Other splits of the same GPUs: unused ones, or fewer ranks and more replicas."""
    tensor, data = _known(engine, "tensor_parallel_size"), _known(engine, "data_parallel_size")
    if (
        not isinstance(tensor, int)
        or not isinstance(data, int)
        or isinstance(engine.model, Unknown)
    ):
        return
    heads = engine.model.value.attention_heads
    pipeline = _known(engine, "pipeline_parallel_size") or 1
    gpus = engine.hardware.count
    if 2 * tensor * data * pipeline <= gpus and heads % (2 * tensor) == 0:
        yield Change(
            {"tensor_parallel_size": 2 * tensor},
            f"{gpus} GPUs are there and {tensor * data * pipeline} are used: {MORE_RANKS}",
            "inter_token_latency",
        )
    if tensor > 1 and tensor % 2 == 0:
        yield Change(
            {"tensor_parallel_size": tensor // 2, "data_parallel_size": data * 2},
            MORE_REPLICAS,
            "generation_tokens",
        )


def _fits_gpus(engine: ResolvedEngine, tensor: int) -> bool:
    """Whether the GPUs that are there are enough for that many tensor-parallel ranks."""
    others = (
        _known(engine, name) or 1 for name in ("pipeline_parallel_size", "data_parallel_size")
    )
    return tensor * prod(others) <= engine.hardware.count


def _known(engine: ResolvedEngine, name: str) -> Any:
    """The resolved value, or None where the release has no such setting or it is not known."""
    setting = engine.settings.get(name)
    return setting.value.value if setting and isinstance(setting.value, Known) else None
