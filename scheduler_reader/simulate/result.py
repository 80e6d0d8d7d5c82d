"""What a simulated run leaves behind: one record a request, and how queue and blocks went.

Latencies between tokens are kept as runs: a stretch of equal steps is one (seconds, count) pair,
so memory grows with scheduling events, not with tokens, and percentiles stay exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from scheduler_reader.simulate.percentiles import Progressions


class Gaps(NamedTuple):
    """`count` gaps between output tokens of `seconds` each."""

    seconds: float
    count: int  # type: ignore[assignment]


class RequestRecord(NamedTuple):
    """The life of one request in simulated seconds; None: it did not get that far."""

    number: int
    prompt_tokens: int
    output_tokens: int  # received so far
    arrival_s: float
    admitted_s: float | None = None
    first_token_s: float | None = None
    finished_s: float | None = None
    cached_tokens: int = 0  # prompt tokens found in the prefix cache at its first admission
    preemptions: int = 0
    gaps: Sequence[Gaps] = ()


class Phase(NamedTuple):
    """A stretch of a request's life, for the timeline."""

    number: int
    kind: Literal["waiting", "prefill", "decode", "preempted"]
    start_s: float
    end_s: float
    tokens: int


class Sample(NamedTuple):
    """Queue and memory from `time_s` until the next sample."""

    time_s: float
    running: int
    waiting: int
    used_blocks: int


class SimulationResult(NamedTuple):
    """A whole run.  `phases` and `samples` are empty when they were not asked for.

    `token_gaps` are the gaps of all requests together, where the run kept them by step.
    """

    records: Sequence[RequestRecord]  # in order of request number
    duration_s: float
    steps: int
    busy_s: float  # engine time inside steps
    preemptions: int
    num_blocks: int
    block_size: int
    unfinished: tuple[int, ...] = ()  # requests that can never be scheduled, or cut short
    phases: tuple[Phase, ...] = ()
    samples: tuple[Sample, ...] = ()
    token_gaps: Progressions | None = None
