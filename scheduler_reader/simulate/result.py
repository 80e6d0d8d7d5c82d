"""What a simulated run leaves behind: one record a request, and how queue and blocks went.

Latencies between tokens are kept as runs: a stretch of equal steps is one (seconds, count) pair,
so memory grows with scheduling events, not with tokens, and percentiles stay exact.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import inf
from typing import Literal, overload

from scheduler_reader.record import Record
from scheduler_reader.simulate.percentiles import Progression, Progressions


class Gaps(Record):
    """`count` gaps between output tokens of `seconds` each."""

    seconds: float
    count: int  # type: ignore[assignment]


class OwnGaps(Sequence[Gaps]):
    """The gaps of one request, told apart when they are asked for: equal ones in a row as one."""

    __slots__ = ()

    @abstractmethod
    def progressions(self) -> Iterator[Progression]:
        """The gaps in order, as stretches of rising ones."""

    def within(self, limit_s: float) -> tuple[int, int]:
        """How many gaps there are, and how many of them are within a limit."""
        size = count = 0
        for part in self.progressions():
            size += part.steps
            count += part.split(limit_s)
        return size, count

    def around(self, limit_s: float) -> tuple[float, float]:
        """The longest gap within a limit and the shortest beyond it; there are such."""
        below, above = 0.0, inf
        for part in self.progressions():
            cut = part.split(limit_s)
            if cut:
                below = max(below, part.first + part.growth * (cut - 1))
            if cut < part.steps:
                above = min(above, part.first + part.growth * cut)
        return below, above

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Gaps]:
        last: Gaps | None = None
        for part in self.progressions():
            for step in range(part.steps):
                seconds = part.first + part.growth * step
                if last is not None and last.seconds == seconds:
                    last = Gaps(seconds, last.count + 1)
                    continue
                if last is not None:
                    yield last
                last = Gaps(seconds, 1)
        if last is not None:
            yield last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @overload
    def __getitem__(self, index: int) -> Gaps: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Gaps]: ...
    def __getitem__(self, index: int | slice) -> Gaps | Sequence[Gaps]:
        return tuple(self)[index]


class RequestRecord(Record):
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


class Phase(Record):
    """A stretch of a request's life, for the timeline."""

    number: int
    kind: Literal["waiting", "prefill", "decode", "preempted"]
    start_s: float
    end_s: float
    tokens: int


class Sample(Record):
    """Queue and memory from `time_s` until the next sample."""

    time_s: float
    running: int
    waiting: int
    used_blocks: int


class SimulationResult(Record):
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
