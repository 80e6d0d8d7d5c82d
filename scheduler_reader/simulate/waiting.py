"""Queues of waiting requests: first come first served, and by priority."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

# Order under the priority policy: urgent first, then first come by microsecond and number.
Rank: TypeAlias = tuple[int, int, int]
TICKS_PER_S = 1_000_000


class Ranked(Protocol):
    """What can wait."""

    @property
    def rank(self) -> Rank: ...


R = TypeVar("R", bound=Ranked)


class WaitingQueue(ABC, Generic[R]):
    """What admission reads from.  `put_back` is for requests that go before all others."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[R]: ...

    @abstractmethod
    def add(self, request: R) -> None: ...

    @abstractmethod
    def put_back(self, request: R) -> None: ...

    @abstractmethod
    def peek(self) -> R: ...

    @abstractmethod
    def pop(self) -> R: ...

    @abstractmethod
    def remove(self, request: R) -> None: ...


class FirstCome(WaitingQueue[R]):
    """First come, first served; a preempted request goes to the head."""

    def __init__(self) -> None:
        self._requests: deque[R] = deque()

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[R]:
        return iter(self._requests)

    def add(self, request: R) -> None:
        self._requests.append(request)

    def put_back(self, request: R) -> None:
        self._requests.appendleft(request)

    def peek(self) -> R:
        return self._requests[0]

    def pop(self) -> R:
        return self._requests.popleft()

    def remove(self, request: R) -> None:
        self._requests.remove(request)


class ByPriority(WaitingQueue[R]):
    """The most urgent first, whatever way a request came in."""

    def __init__(self) -> None:
        self._heap: list[tuple[Rank, R]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[R]:
        return (request for _, request in sorted(self._heap, key=lambda entry: entry[0]))

    def add(self, request: R) -> None:
        heapq.heappush(self._heap, (request.rank, request))

    def put_back(self, request: R) -> None:
        self.add(request)

    def peek(self) -> R:
        return self._heap[0][1]

    def pop(self) -> R:
        return heapq.heappop(self._heap)[1]

    def remove(self, request: R) -> None:
        self._heap = [entry for entry in self._heap if entry[1] is not request]
        heapq.heapify(self._heap)


def queue_of(policy: str) -> WaitingQueue[R]:
    """An empty queue of a scheduling policy."""
    return ByPriority() if policy == "priority" else FirstCome()
