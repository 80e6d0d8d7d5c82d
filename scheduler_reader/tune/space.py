"""The settings that are searched: axes of values, within the same GPUs and what the release has.

Whether a combination is refused or fits is not asked here: every point is resolved and checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.capacity.read_inputs import read_inputs
from scheduler_reader.capacity.remedies import FP8_CAPABILITY, highest_utilization
from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown
from scheduler_reader.workload import Workload

SEATS = (16, 32, 64, 128, 256, 512, 1024)
TOKEN_BUDGETS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
THRESHOLDS = (512, 1024, 2048, 4096)
UTILIZATIONS = (0.9, 0.92, 0.95)
PARTIAL_PREFILLS = (2, 4)
DRAFT_TOKENS = (1, 2, 3, 4, 5, 7)
DRAFTS = "speculative_config.num_speculative_tokens"


class Axis(Record):
    """One decision: the other values that it can take, the mildest change first.

    An option is the settings it needs.      `needs_leave` names the setting where a change alters answers, or what requests are accepted.
    """

    name: str
    options: tuple[Mapping[str, Any], ...]
    needs_leave: str = ""


def axes(engine: ResolvedEngine, plan: CapacityPlan, workload: Workload) -> tuple[Axis, ...]:
    """Every axis on which the engine has another value to try, the coarse ones first."""
    found = (
        Axis("max_num_seqs", tuple(_seats(engine, workload))),
        Axis("max_num_batched_tokens", tuple(_budgets(engine))),
        Axis("parallel_sizes", tuple(_splits(engine))),
        Axis("gpu_memory_utilization", tuple(_utilizations(engine))),
        Axis("long_prefill_token_threshold", tuple(_thresholds(engine))),
        Axis("max_num_partial_prefills", tuple(_partial_prefills(engine))),
        Axis("enable_prefix_caching", tuple(_other_way(engine, "enable_prefix_caching"))),
        Axis("num_speculative_tokens", tuple(_drafts(engine))),
        Axis("enforce_eager", tuple(_only(engine, "enforce_eager", False))),
        Axis("async_scheduling", tuple(_only(engine, "async_scheduling", True))),
        Axis("kv_cache_dtype", tuple(_kv_dtypes(engine)), "kv_cache_dtype"),
        Axis("max_model_len", tuple(_lengths(engine, plan)), "max_model_len"),
    )
    return tuple(
        axis._replace(options=tuple(_mildest_first(engine, axis.options)))
        for axis in found
        if axis.options and _has(engine, axis.options[0])
    )


def _mildest_first(
    engine: ResolvedEngine, options: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Options by how far their number is from the one that runs now, on a logarithmic scale."""

    def distance(option: Mapping[str, Any]) -> tuple[bool, float]:
        name, value = list(option.items())[-1]
        current = current_value(engine, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value:
            return True, 0.0
        if not isinstance(current, int | float) or not current:
            return False, -float(value)  # no limit at all: a large one is the mildest
        return False, abs(log(value / current))

    return sorted(options, key=distance)


def _seats(engine: ResolvedEngine, workload: Workload) -> Iterator[Mapping[str, Any]]:
    """Powers of two up to the next one above the load, and the load's own concurrency."""
    current = _known(engine, "max_num_seqs")
    if not isinstance(current, int):
        return
    values = {*SEATS}
    if workload.concurrency is not None:
        most = max(workload.concurrency, current)
        values = {n for n in SEATS if n < 2 * most} | {workload.concurrency}
    for value in sorted(values - {current}):
        yield {"max_num_seqs": value}


def _budgets(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    """Token budgets, with chunks off or on where the other way is the change."""
    current, length = _known(engine, "max_num_batched_tokens"), _known(engine, "max_model_len")
    is_chunked = _known(engine, "enable_chunked_prefill")
    if not isinstance(current, int):
        return
    chunked = {} if is_chunked is not False else {"enable_chunked_prefill": True}
    for value in TOKEN_BUDGETS:
        if chunked or value != current:
            yield {**chunked, "max_num_batched_tokens": value}
    if is_chunked is True and isinstance(length, int):
        yield {"enable_chunked_prefill": False, "max_num_batched_tokens": max(current, length)}


def _splits(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    """Tensor ranks × replicas on the GPUs that are there, in powers of two."""
    tensor, data = _known(engine, "tensor_parallel_size"), _known(engine, "data_parallel_size")
    pipeline = _known(engine, "pipeline_parallel_size") or 1
    if not isinstance(tensor, int) or isinstance(engine.model, Unknown):
        return
    gpus, heads = engine.hardware.count // pipeline, engine.model.value.attention_heads
    replicas = [1, 2, 4, 8] if isinstance(data, int) else [1]
    for ranks in (1, 2, 4, 8):
        for count in replicas:
            if ranks * count > gpus or heads % ranks or (ranks, count) == (tensor, data or 1):
                continue
            change = {}
            if ranks != tensor:
                change["tensor_parallel_size"] = ranks
            if isinstance(data, int) and count != data:
                change["data_parallel_size"] = count
            if change:
                yield change


def _utilizations(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    """Larger shares of the card: a smaller one gains nothing and may be there for others' sake."""
    current, inputs = _known(engine, "gpu_memory_utilization"), read_inputs(engine)
    if isinstance(inputs, Unknown) or not isinstance(current, float):
        return
    highest = highest_utilization(inputs) / 100
    for value in sorted({*UTILIZATIONS, highest}):
        if current < value <= highest:
            yield {"gpu_memory_utilization": value}


def _thresholds(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    current = _known(engine, "long_prefill_token_threshold")
    for value in (*THRESHOLDS, 0):
        if current is not None and value != current:
            yield {"long_prefill_token_threshold": value}


def _partial_prefills(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    current = _known(engine, "max_num_partial_prefills")
    for value in PARTIAL_PREFILLS:
        if isinstance(current, int) and value != current:
            yield {"max_num_partial_prefills": value}


def _other_way(engine: ResolvedEngine, name: str) -> Iterator[Mapping[str, Any]]:
    current = _known(engine, name)
    if isinstance(current, bool):
        yield {name: not current}


def _only(engine: ResolvedEngine, name: str, better: bool) -> Iterator[Mapping[str, Any]]:
    """A switch that somebody set to the slower side."""
    if _known(engine, name) is (not better) and engine.is_set(name):
        yield {name: better}


def _drafts(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    current = current_value(engine, DRAFTS)
    for value in DRAFT_TOKENS:
        if isinstance(current, int) and value != current:
            yield {DRAFTS: value}


def _kv_dtypes(engine: ResolvedEngine) -> Iterator[Mapping[str, Any]]:
    is_whole = _known(engine, "kv_cache_dtype") in ("auto", "bfloat16", "float16")
    if is_whole and engine.hardware.gpu.capability >= FP8_CAPABILITY:
        yield {"kv_cache_dtype": "fp8"}


def _lengths(engine: ResolvedEngine, plan: CapacityPlan) -> Iterator[Mapping[str, Any]]:
    """For an engine that does not fit: what is sure to fit, alone or with the rest of a remedy."""
    if plan.starts is not False:
        return
    lengths = [remedy.changes.get("max_model_len") for remedy in plan.remedies]
    for length in dict.fromkeys([*lengths, plan.safe_max_model_len]):
        if length:
            yield {"max_model_len": length}


def _has(engine: ResolvedEngine, change: Mapping[str, Any]) -> bool:
    """Whether the release has the options of a change."""
    table = flag_table(engine.release)
    return all(table.argument(name.partition(".")[0]) is not None for name in change)


def current_value(engine: ResolvedEngine, name: str) -> Any:
    """The value of an argument, or of a key of a JSON argument, that runs now; None: not known."""
    base, _, key = name.partition(".")
    value = _known(engine, base)
    if not key:
        return value
    return value.get(key) if isinstance(value, Mapping) else None


def _known(engine: ResolvedEngine, name: str) -> Any:
    """The resolved value, or None where the release has no such setting or it is not known."""
    setting = engine.settings.get(name)
    return setting.value.value if setting and isinstance(setting.value, Known) else None
