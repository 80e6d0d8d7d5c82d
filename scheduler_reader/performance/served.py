"""Which requests of a workload an engine takes: a prompt must leave room for one token."""

from __future__ import annotations

from math import erf, log, sqrt

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Unknown
from scheduler_reader.workload import Lengths, Workload

NEXT_TO_NONE = 0.005  # a smaller share of served, or of refused, requests is not told apart


def longest_request(engine: ResolvedEngine, plan: CapacityPlan) -> int | None:
    """Tokens of prompt and output together that a request can have; None: not known."""
    length = engine.value("max_model_len")
    if isinstance(length, Unknown) or not isinstance(length.value, int) or length.value < 1:
        return None
    if engine.fits_length_to_memory and plan.largest_max_model_len:
        return min(length.value, plan.largest_max_model_len)
    return length.value


def unserved(engine: ResolvedEngine, plan: CapacityPlan, workload: Workload) -> Unknown | None:
    """Why nothing can be predicted where vLLM answers all requests with an error, or None."""
    longest = longest_request(engine, plan)
    if longest is None or share_within(workload.input_tokens, longest - 1) >= NEXT_TO_NONE:
        return None
    return Unknown(
        f"no request is served: a prompt of {workload.input_tokens.summary} tokens leaves no room "
        f"for an answer in max_model_len ({longest:,}), vLLM refuses it with an error"
    )


def refused_sentences(
    engine: ResolvedEngine, plan: CapacityPlan, workload: Workload
) -> tuple[str, ...]:
    """What is taken for granted where some of the requests are refused."""
    longest = longest_request(engine, plan)
    refused = 0.0 if longest is None else 1 - share_within(workload.input_tokens, longest - 1)
    if refused < NEXT_TO_NONE:
        return ()
    return (
        f"about {refused:.0%} of the requests are refused, their prompts leave no room in "
        f"max_model_len ({longest:,}): a run leaves them out, the closed form takes them as served",
    )


def share_within(lengths: Lengths, tokens: float) -> float:
    """The share of the lengths that are at most `tokens`."""
    if lengths.uniform is not None:
        low, high = lengths.uniform
        return min(max((tokens - low + 1) / (high - low + 1), 0.0), 1.0)
    law = lengths.normal or lengths.lognormal
    if law is None or law["std"] == 0:
        return float(lengths.mean <= tokens)
    mean, std = law["mean"], law["std"]
    if lengths.normal is not None:
        return _normal_below((tokens - mean) / std)
    variance = log(1 + (std / mean) ** 2)
    middle = log(mean) - variance / 2
    return _normal_below((log(tokens) - middle) / sqrt(variance)) if tokens > 0 else 0.0


def _normal_below(deviations: float) -> float:
    return (1 + erf(deviations / sqrt(2))) / 2
