"""Facts that were measured: from /metrics, a benchmark result or a start-up log."""

from __future__ import annotations

from scheduler_reader.rule_engine.finding import NO_OBSERVATION
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Known, Unknown


def observed_running(sources: Sources) -> float | Unknown:
    """Requests in the running queue (vllm:num_requests_running)."""
    return _observed(sources, "running")


def observed_waiting(sources: Sources) -> float | Unknown:
    """Requests in the waiting queue (vllm:num_requests_waiting)."""
    return _observed(sources, "waiting")


def nobody_waits(sources: Sources) -> bool:
    """Whether a look at the queue found fewer than one waiting request; False where nobody looked."""
    waiting = _observed(sources, "waiting")
    return not isinstance(waiting, Unknown) and waiting < 1


def observed_kv_cache_usage(sources: Sources) -> float | Unknown:
    """Share of KV blocks in use, 0 to 1 (vllm:kv_cache_usage_perc)."""
    return _observed(sources, "kv_cache_usage")


def observed_preemptions_per_request(sources: Sources) -> float | Unknown:
    """Preemptions per finished request (vllm:num_preemptions_total)."""
    return _observed(sources, "preemptions_per_request")


def observed_prefix_cache_hit_rate(sources: Sources) -> float | Unknown:
    """Share of prompt tokens found in the prefix cache, 0 to 1."""
    return _observed(sources, "prefix_cache_hit_rate")


def observed_output_tokens_per_s(sources: Sources) -> float | Unknown:
    """Output tokens per second of the engine."""
    return _observed(sources, "output_tokens_per_s")


def observed_ttft_p99_ms(sources: Sources) -> float | Unknown:
    """99th percentile of the time to the first token."""
    return _observed(sources, "ttft_p99_ms")


def observed_itl_p99_ms(sources: Sources) -> float | Unknown:
    """99th percentile of the inter-token latency."""
    return _observed(sources, "itl_p99_ms")


def observed_acceptance_length(sources: Sources) -> float | Unknown:
    """Tokens a speculative step yields, the target's own token included."""
    return _observed(sources, "acceptance_length")


def observed_kv_cache_tokens(sources: Sources) -> float | Unknown:
    """KV-cache size in tokens that the start-up log prints."""
    return _observed(sources, "kv_cache_tokens")


def observed_concurrency(sources: Sources) -> float | Unknown:
    """Requests that the client kept open, as its result file says."""
    return _observed(sources, "offered_concurrency")


def observed_requests(sources: Sources) -> float | Unknown:
    """Requests that finished while it was measured."""
    return _observed(sources, "requests")


def observed_prefix_caching(sources: Sources) -> bool | Unknown:
    """Whether the running engine caches prefixes (vllm:cache_config_info)."""
    if sources.observation is None:
        return Unknown(NO_OBSERVATION)
    label = sources.observation.cache_config.get("enable_prefix_caching")
    if label not in {"True", "False"}:
        return Unknown("no vllm:cache_config_info with enable_prefix_caching was observed")
    return label == "True"


def observed_vllm_version(sources: Sources) -> str | Unknown:
    """The release that the start-up log names."""
    if sources.observation is None:
        return Unknown(NO_OBSERVATION)
    log = sources.observation.log
    if log is None or not isinstance(log.version, Known):
        return Unknown("no start-up log names a release")
    return log.version.value


def observed_arguments_differ(sources: Sources) -> str | Unknown:
    """Arguments with which the engine was started otherwise than the file says; empty: none."""
    if sources.observation is None:
        return Unknown(NO_OBSERVATION)
    log = sources.observation.log
    if log is None or isinstance(log.arguments, Unknown):
        return Unknown("no start-up log lists the arguments")
    from scheduler_reader.observe.differences import differing_arguments

    return "; ".join(differing_arguments(sources.engine, log.arguments.value))


def observed_failure(sources: Sources) -> str | Unknown:
    """The error that ended the start, as the log prints it; empty: it did not fail."""
    if sources.observation is None:
        return Unknown(NO_OBSERVATION)
    if sources.observation.log is None:
        return Unknown("no start-up log was given")
    failure = sources.observation.log.failure
    return "" if failure is None else f"{failure.error}: {failure.message}"


def observed_failure_advice(sources: Sources) -> str:
    """What a failed start means and what to change, or that it is not known; empty: it did not fail."""
    log = None if sources.observation is None else sources.observation.log
    if log is None or log.failure is None:
        return ""
    return ". ".join(filter(None, (log.failure.means, log.failure.change)))


def _observed(sources: Sources, name: str) -> float | Unknown:
    if sources.observation is None:
        return Unknown(NO_OBSERVATION)
    value = sources.observation.get(name)
    return Unknown(f"{name} was not observed") if value is None else value
