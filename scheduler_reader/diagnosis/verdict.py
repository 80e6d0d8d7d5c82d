"""The verdict: which of vLLM's three defaults is the bottleneck, and what to change in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from scheduler_reader.record import Record
from scheduler_reader.value import Origin

Default = Literal["paged_attention", "continuous_batching", "chunked_prefill", "none"]
Kind = Literal[
    "kv_starvation",
    "hbm_capacity",
    "admission_stall",
    "chunk_too_large",
    "chunk_too_small",
    "prefill_unchunked",
    "decode_floor",
    "compute_bound",
    "communication_bound",
    "host_bound",
    "saturated",
    "not_scheduler",
    "none",
]

Confidence = Literal["high", "medium", "low"]
OBSERVED = Origin("derived", "observed metrics")  # of a verdict that what was observed decides


class Lift(Record):
    """One limit lifted alone: the objective before and after.  `gain` is relative, > 0 is better.

    `sets`: the settings that lift it so far; None where no setting lifts it wholly.
    """

    limit: str
    metric: str
    before: float
    after: float
    gain: float
    sets: Mapping[str, Any] | None = None


class Bottleneck(Record):
    default: Default
    kind: Kind
    confidence: Confidence
    evidence: tuple[str, ...]
    lifted: tuple[Lift, ...]


class TuningStep(Record):
    """One change, its reason, what it is predicted to do, and the metric that will show it."""

    order: int
    set: Mapping[str, Any]
    because: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    watch: str
