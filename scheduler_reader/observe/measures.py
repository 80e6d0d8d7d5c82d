"""What can be measured on a running engine, and how it is said."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from scheduler_reader.value import Known, Value

# Name → unit and meaning.  Latencies and rates are named as in a performance estimate.
MEASURES: dict[str, str] = {
    "ttft_mean_ms": "TTFT mean, ms",
    "ttft_p50_ms": "TTFT p50, ms",
    "ttft_p99_ms": "TTFT p99, ms",
    "itl_mean_ms": "ITL mean, ms",
    "itl_p50_ms": "ITL p50, ms",
    "itl_p99_ms": "ITL p99, ms",
    "tpot_ms": "mean gap of a request, ms",
    "e2e_mean_ms": "whole request, mean, ms",
    "queue_mean_ms": "time in the waiting queue, mean, ms",
    "prefill_mean_ms": "prefill of a request, mean, ms",
    "output_tokens_per_s": "output tokens/s",
    "total_tokens_per_s": "prompt and output tokens/s",
    "requests_per_s": "requests/s",
    "goodput_requests_per_s": "requests/s within the objectives",
    "offered_requests_per_s": "requests/s that the client sent",
    "offered_concurrency": "requests that the client kept open",
    "running": "requests running",
    "running_mean": "requests in flight, average",
    "waiting": "requests waiting",
    "waiting_deferred": "of those waiting, deferred by LoRA slots, KV transfers or structured output",
    "kv_cache_usage": "share of KV blocks in use",
    "preemptions": "preemptions",
    "preemptions_per_request": "preemptions a request",
    "prefix_cache_hit_rate": "share of prompt tokens found in the prefix cache",
    "acceptance_length": "tokens a speculative step",
    "step_tokens_mean": "tokens a step, mean",
    "input_tokens_mean": "prompt tokens a request, mean",
    "output_tokens_mean": "output tokens a request, mean",
    "requests": "requests finished",
    "failed_requests": "requests that failed",
    "offered_requests": "requests that the client had",
    "duration_s": "seconds measured",
    "engines": "data-parallel engines",
    "kv_cache_tokens": "KV tokens, as printed at start-up",
    "num_blocks": "KV blocks of an engine",
    "block_size": "tokens a block",
    "max_concurrency": "requests of full length, as printed at start-up",
    "max_model_len": "max_model_len in use",
    "weights_gib": "weights of a GPU, GiB",
    "activation_gib": "peak of the profile run, GiB",
    "non_torch_gib": "memory outside PyTorch, GiB",
    "cuda_graph_gib": "CUDA graphs, GiB",
    "kv_cache_gib": "KV cache of a GPU, GiB",
    "cuda_graph_capture_s": "capture of CUDA graphs, s",
    "load_s": "loading of the weights, s",
    "engine_init_s": "profile run, KV cache and warm-up, s",
    "start_s": "start of the process until it serves, s",
    "num_cpu_blocks": "KV blocks in CPU memory",
    "prompt_tokens_per_s": "prompt tokens/s",
}

Measures = Mapping[str, Value[float]]


def known(measures: Measures, name: str) -> float | None:
    """The number behind a measure, or None where it is missing or unknown."""
    value = measures.get(name)
    return value.value if isinstance(value, Known) else None


def is_open_loop(measures: Measures) -> bool:
    """Whether requests came at a rate, whatever was still running.

    A rate that is held back by a cap of open requests is a closed loop.
    """
    if known(measures, "offered_requests_per_s") is None:
        return False
    cap, running = known(measures, "offered_concurrency"), known(measures, "running_mean")
    return cap is None or running is None or running < 0.9 * cap


def concurrency_of_client(measures: Measures) -> float | None:
    """Requests that the client kept open: as stated, else, where it had no rate, all of them."""
    stated = known(measures, "offered_concurrency")
    if stated is None and known(measures, "offered_requests_per_s") is None:
        return known(measures, "offered_requests")
    return stated


def number(value: object) -> float | None:
    """A finite number as float; None for everything else (a bool, a text, infinity)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


def at(document: Any, path: str) -> Any:
    """What stands at `key.key` of nested mappings; None where a key is missing."""
    for key in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document
