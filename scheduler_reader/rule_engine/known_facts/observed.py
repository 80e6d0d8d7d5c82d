"""Facts that were measured: from /metrics, a benchmark result or a start-up log."""

from __future__ import annotations

from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Unknown


def observed_running(sources: Sources) -> float | Unknown:
    """Requests in the running queue (vllm:num_requests_running)."""
    return _observed(sources, "observed_running")


def observed_waiting(sources: Sources) -> float | Unknown:
    """Requests in the waiting queue (vllm:num_requests_waiting)."""
    return _observed(sources, "observed_waiting")


def observed_kv_cache_usage(sources: Sources) -> float | Unknown:
    """Share of KV blocks in use, 0 to 1 (vllm:kv_cache_usage_perc)."""
    return _observed(sources, "observed_kv_cache_usage")


def observed_preemptions_per_request(sources: Sources) -> float | Unknown:
    """Preemptions per finished request (vllm:num_preemptions_total)."""
    return _observed(sources, "observed_preemptions_per_request")


def observed_prefix_cache_hit_rate(sources: Sources) -> float | Unknown:
    """Share of prompt tokens found in the prefix cache, 0 to 1."""
    return _observed(sources, "observed_prefix_cache_hit_rate")


def observed_output_tokens_per_s(sources: Sources) -> float | Unknown:
    """Output tokens per second of the engine."""
    return _observed(sources, "observed_output_tokens_per_s")


def observed_ttft_p99_ms(sources: Sources) -> float | Unknown:
    """99th percentile of the time to the first token."""
    return _observed(sources, "observed_ttft_p99_ms")


def observed_itl_p99_ms(sources: Sources) -> float | Unknown:
    """99th percentile of the inter-token latency."""
    return _observed(sources, "observed_itl_p99_ms")


def observed_acceptance_length(sources: Sources) -> float | Unknown:
    """Tokens a speculative step yields, the target's own token included."""
    return _observed(sources, "observed_acceptance_length")


def observed_kv_cache_tokens(sources: Sources) -> float | Unknown:
    """KV-cache size in tokens that the start-up log prints."""
    return _observed(sources, "observed_kv_cache_tokens")


def _observed(sources: Sources, name: str) -> float | Unknown:
    value = sources.observed.get(name)
    return (
        Unknown("no metrics are given (--metrics, --bench, --startup-log)")
        if value is None
        else value
    )
