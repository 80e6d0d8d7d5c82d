"""Why a change helps and which metric shows it, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_reader.diagnosis.candidates import (
    CHUNKED_PREFILL,
    CUDA_GRAPHS,
    FP8_CACHE,
    LARGER_BUDGET,
    MORE_RANKS,
    MORE_REPLICAS,
    OVERLAP,
    SMALLER_BUDGET,
)
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.tune.space import DRAFTS, current_value


class Reason(Record):
    """`watch` is a metric of `metric_names.yaml`."""

    because: str
    watch: str


def reason(engine: ResolvedEngine, change: Mapping[str, Any]) -> Reason:
    """What one change of the search does in the scheduler."""
    name = list(change)[-1] if "enable_chunked_prefill" not in change else "enable_chunked_prefill"
    new, old = change[name], current_value(engine, name)
    if name == "max_num_batched_tokens":
        return _budget(new < old)
    if name == "max_num_seqs":
        return _seats(new > old)
    if name == "enable_chunked_prefill":
        return Reason(CHUNKED_PREFILL if new else WHOLE_PROMPTS, "inter_token_latency")
    if name in ("tensor_parallel_size", "data_parallel_size"):
        return _split(engine, change)
    if name in REASONS:
        return REASONS[name]
    return Reason(f"{old} → {new}", "inter_token_latency")


WHOLE_PROMPTS = (
    "prompts are computed whole, in fewer steps, and hold up the other streams meanwhile"
)

REASONS = {
    "gpu_memory_utilization": Reason(
        "more of the card for KV blocks, where nothing else runs on it", "kv_cache_usage"
    ),
    "long_prefill_token_threshold": Reason(
        "no prompt takes more than this of a step, so that short ones are not held up by long ones",
        "time_to_first_token",
    ),
    "max_num_partial_prefills": Reason(
        "several long prompts are computed side by side", "time_to_first_token"
    ),
    "enable_prefix_caching": Reason(
        "what prompts have in common is computed once", "time_to_first_token"
    ),
    DRAFTS: Reason(
        "as many drafts a step as are likely to be accepted at this load", "inter_token_latency"
    ),
    "enforce_eager": Reason(CUDA_GRAPHS, "inter_token_latency"),
    "async_scheduling": Reason(OVERLAP, "inter_token_latency"),
    "kv_cache_dtype": Reason(FP8_CACHE, "kv_cache_usage"),
    "max_model_len": Reason("a request whose KV cache is sure to fit", "kv_cache_usage"),
}

HELD_BACK = {
    "kv_cache_dtype": "accuracy-relevant: evaluate the model's answers before use",
    "max_model_len": "longer requests are refused",
}


def _budget(is_smaller: bool) -> Reason:
    if is_smaller:
        return Reason(SMALLER_BUDGET, "inter_token_latency")
    return Reason(LARGER_BUDGET, "time_to_first_token")


def _seats(is_more: bool) -> Reason:
    if is_more:
        return Reason("requests that wait for a seat run at once", "requests_waiting")
    return Reason(
        "fewer requests share a step, so that each of them is shorter", "requests_running"
    )


def _split(engine: ResolvedEngine, change: Mapping[str, Any]) -> Reason:
    old = current_value(engine, "tensor_parallel_size")
    new = change.get("tensor_parallel_size", old)
    if new > old:
        return Reason(MORE_RANKS, "inter_token_latency")
    if new < old:
        return Reason(MORE_REPLICAS, "generation_tokens")
    return Reason("replicas on GPUs that are there and not used", "generation_tokens")
