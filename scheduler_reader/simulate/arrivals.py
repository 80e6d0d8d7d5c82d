"""Where requests come from: a time-ordered stream, or clients that send the next when one ends.

A run pulls from a source: `next_s` is when the next request arrives, `take` hands it out, and
`finished` tells the source that one is through.  Requests are read one at a time, so a trace of a
million rows is never held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record


class Arrival(Record):
    """A request as it is sent.  `time_s` None: a closed loop decides when.

    Requests of one `prefix_group` have their first `prefix_tokens` in common.
    """

    number: int
    time_s: float | None
    prompt_tokens: int
    output_tokens: int
    prefix_group: int | None = None
    prefix_tokens: int = 0
    priority: int = 0


class Source(Protocol):
    """What a run pulls requests from."""

    @property
    def next_s(self) -> float:
        """Time of the next arrival; infinite while none comes before another request finishes,
        and for good once `is_exhausted`.
        """
        ...

    @property
    def is_exhausted(self) -> bool:
        """Whether no request will come any more, whatever finishes."""
        ...

    def take(self) -> Arrival:
        """The request that arrives at `next_s`, with that time."""
        ...

    def finished(self, time_s: float) -> None:
        """A request is through at `time_s`; call once for each."""
        ...


class OpenLoop:
    """Requests that arrive at their own times, whatever the engine does."""

    def __init__(self, requests: Iterable[Arrival]) -> None:
        self._requests: Iterator[Arrival] = iter(requests)
        self._head: Arrival | None = None
        self.next_s = 0.0
        self._advance()

    @property
    def is_exhausted(self) -> bool:
        return self._head is None

    def take(self) -> Arrival:
        """The request that arrives at `next_s`.  Raises `UsageError` when the next is earlier."""
        arrival = self._head
        assert arrival is not None
        self._advance()
        return arrival

    def finished(self, time_s: float) -> None:
        """Nobody waits for an answer before sending the next request."""

    def _advance(self) -> None:
        self._head = next(self._requests, None)
        if self._head is None:
            self.next_s = inf
            return
        assert self._head.time_s is not None
        if self._head.time_s < self.next_s:
            raise UsageError(f"request {self._head.number} arrives before the one ahead of it")
        self.next_s = self._head.time_s


class ClosedLoop:
    """`concurrency` clients, each of which sends its next request when its last one is through.

    The first requests come together (a burst), or evenly over `ramp_s` seconds.  A client's next
    request reaches the engine `turnaround_s` after its last one ended there: by then the step that
    began meanwhile has to end first.
    """

    def __init__(
        self,
        requests: Iterable[Arrival],
        concurrency: int,
        ramp_s: float = 0.0,
        turnaround_s: float = 0.0,
    ) -> None:
        self._turnaround_s = turnaround_s
        self._requests: Iterator[Arrival] = iter(requests)
        self._head = next(self._requests, None)
        self._idle = [client * ramp_s / concurrency for client in range(concurrency)]
        self.next_s = 0.0 if self._head else inf

    @property
    def is_exhausted(self) -> bool:
        return self._head is None

    def take(self) -> Arrival:
        """The next request, sent at `next_s`."""
        arrival = self._head
        assert arrival is not None
        time_s = heappop(self._idle)
        self._head = next(self._requests, None)
        self.next_s = self._idle[0] if self._idle and self._head else inf
        return arrival._replace(time_s=time_s)

    def finished(self, time_s: float) -> None:
        """A client has its last token at `time_s`, and sends the next request."""
        heappush(self._idle, time_s + self._turnaround_s)
        if self._head:
            self.next_s = self._idle[0]
