"""What an organisation asks of every engine: thresholds, each with the place where it is stated.

A threshold is only a name and a number here; what it is compared with stands in the rules
`rules/policy/`, which read it with `policy("min_kv_tokens")`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin

Policy = Mapping[str, Known[Any]]  # thresholds by name
NO_POLICY: Policy = {}


class Threshold(Record):
    """One name of the policy: the type of its value, what it asks, and whether it takes a prediction."""

    kind: type
    meaning: str
    is_predicted: bool = False


THRESHOLDS = {
    "min_kv_tokens": Threshold(int, "the KV cache holds so many tokens"),
    "min_concurrency": Threshold(float, "so many requests of full length fit at once"),
    "min_workload_concurrency": Threshold(float, "so many requests of the workload fit at once"),
    "min_max_model_len": Threshold(int, "max_model_len is at least so many tokens"),
    "max_gpu_count": Threshold(int, "the engine takes no more GPUs"),
    "allowed_vllm": Threshold(str, "the vLLM release is one of these, as in >=0.18,<0.34"),
    "max_ttft_p99_ms": Threshold(float, "the time to the first token, 99th percentile", True),
    "max_itl_p99_ms": Threshold(float, "the inter-token latency, 99th percentile", True),
    "max_tpot_ms": Threshold(float, "the time per output token, mean", True),
    "min_output_tokens_per_s": Threshold(float, "output tokens per second of the engine", True),
    "max_preemptions_per_request": Threshold(float, "preemptions per request", True),
}
MAY_BE_ZERO = ("max_preemptions_per_request",)
WORDS = {int: "a whole number", float: "a number", str: 'a version specifier (">=0.18,<0.34")'}


def checked_threshold(name: str, value: Any, origin: Origin) -> Known[Any]:
    """A threshold with its place; a `UsageError` says what is wrong with its name or value."""
    threshold = THRESHOLDS.get(name)
    if threshold is None:
        raise UsageError(f"policy: no threshold {name}; there are {', '.join(THRESHOLDS)}", origin)
    wanted = f"policy: {name}: takes {WORDS[threshold.kind]}, not {_shown(value)}"
    if threshold.kind is str:
        if not isinstance(value, str) or not _is_specifier(value):
            raise UsageError(wanted, origin)
        return Known(value, origin)
    kinds = int if threshold.kind is int else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not isfinite(value):
        raise UsageError(wanted, origin)
    if value < 0 or (value == 0 and name not in MAY_BE_ZERO):
        raise UsageError(f"policy: {name}: takes a positive number, not {value}", origin)
    return Known(threshold.kind(value), origin)


def read_policy(stated: Policy, options: Iterable[str]) -> dict[str, Known[Any]]:
    """The thresholds of a settings file, and over them those of `--policy NAME=VALUE`."""
    policy = dict(stated)
    for option in options:
        name, sign, text = option.partition("=")
        if not sign:
            raise UsageError(f"--policy {option}: write NAME=VALUE")
        origin = Origin("option", "--policy")
        policy[name.strip()] = checked_threshold(name.strip(), _number(text.strip()), origin)
    return policy


def needs_prediction(policy: Policy) -> bool:
    """Whether a threshold is about latency or throughput, which only a prediction tells."""
    return any(THRESHOLDS[name].is_predicted for name in policy)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_specifier(text: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return bool(text.strip()) and len(SpecifierSet(text)) > 0
    except InvalidSpecifier:
        return False


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
