"""The steps of a run as stretches, and the requests' lives as places in that log.

While nothing arrives, finishes or is admitted, every decoding request takes one token a step, and
each step is longer than the one before by the same amount, since all contexts grow by one.  Such a
stretch is one entry.  A request keeps only which steps gave it its first and its last token.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from scheduler_reader.simulate.percentiles import Progression, Progressions
from scheduler_reader.simulate.result import Gaps, RequestRecord

UNSET = -1.0


class StepLog:
    """Step times by step number: stretches of (first step, seconds of the first, growth a step).

    `receivers` is how many requests get a token from each step of a stretch that is not their
    first: the gaps of all requests together are the steps, each counted so many times.  Stretches
    follow each other without a hole: an empty step is one without receivers.
    """

    def __init__(self) -> None:
        self._first = array("q")
        self._seconds = array("d")
        self._growth = array("d")
        self._receivers = array("q")
        self._end = 0

    def add(self, first: int, steps: int, seconds: float, growth: float, receivers: int) -> None:
        """Append a stretch."""
        self._first.append(first)
        self._seconds.append(seconds)
        self._growth.append(growth)
        self._receivers.append(receivers)
        self._end = first + steps

    def gaps(self) -> Progressions:
        """All gaps between output tokens, of all requests: a step's time, so many times."""
        return Progressions(
            tuple(
                Progression(seconds, growth, following - first, receivers)
                for first, following, seconds, growth, receivers in zip(
                    self._first,
                    [*self._first, self._end][1:],
                    self._seconds,
                    self._growth,
                    self._receivers,
                    strict=True,
                )
                if receivers
            )
        )

    def between(self, first: int, last: int) -> Iterator[Gaps]:
        """The gaps of one request: the steps after `first` up to and including `last`."""
        index = bisect_right(self._first, first + 1) - 1
        while index < len(self._first) and self._first[index] <= last:
            begin = max(first + 1, self._first[index])
            for seconds in self._steps(index, begin, min(last, self._last(index))):
                yield Gaps(seconds, 1)
            index += 1

    def _last(self, index: int) -> int:
        following = index + 1
        return (self._first[following] if following < len(self._first) else self._end) - 1

    def _steps(self, index: int, begin: int, last: int) -> Iterator[float]:
        seconds, growth, first = self._seconds[index], self._growth[index], self._first[index]
        return (seconds + growth * (step - first) for step in range(begin, last + 1))


class RequestGaps(Sequence[Gaps]):
    """The gaps of one request, read from the log when they are asked for."""

    __slots__ = ("_first", "_last", "_log")

    def __init__(self, log: StepLog, first: int, last: int) -> None:
        self._log, self._first, self._last = log, first, last

    def __len__(self) -> int:
        return max(self._last - self._first, 0)

    def __iter__(self) -> Iterator[Gaps]:
        return self._log.between(self._first, self._last)

    @overload
    def __getitem__(self, index: int) -> Gaps: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Gaps]: ...
    def __getitem__(self, index: int | slice) -> Gaps | Sequence[Gaps]:
        return tuple(self)[index]


class Lives(Sequence[RequestRecord]):
    """One record a request, kept as columns: a million of them take some 70 MB."""

    def __init__(self, log: StepLog) -> None:
        self._log = log
        self.number = array("q")
        self.prompt_tokens = array("q")
        self.output_tokens = array("q")
        self.arrival_s = array("d")
        self.admitted_s = array("d")
        self.first_token_s = array("d")
        self.finished_s = array("d")
        self.first_step = array("q")

    def arrive(self, number: int, time_s: float, prompt_tokens: int, output_tokens: int) -> int:
        """A request is there; returns its place."""
        self.number.append(number)
        self.prompt_tokens.append(prompt_tokens)
        self.output_tokens.append(output_tokens)
        self.arrival_s.append(time_s)
        for column in (self.admitted_s, self.first_token_s, self.finished_s):
            column.append(UNSET)
        self.first_step.append(0)
        return len(self.number) - 1

    def __len__(self) -> int:
        return len(self.number)

    @overload
    def __getitem__(self, index: int) -> RequestRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RequestRecord]: ...
    def __getitem__(self, index: int | slice) -> RequestRecord | Sequence[RequestRecord]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        finished_s = _set(self.finished_s[index])
        outputs = self.output_tokens[index] if finished_s is not None else 0
        first = self.first_step[index]
        return RequestRecord(
            number=self.number[index],
            prompt_tokens=self.prompt_tokens[index],
            output_tokens=outputs,
            arrival_s=self.arrival_s[index],
            admitted_s=_set(self.admitted_s[index]),
            first_token_s=_set(self.first_token_s[index]),
            finished_s=finished_s,
            gaps=RequestGaps(self._log, first, first + outputs - 1),
        )


def _set(seconds: float) -> float | None:
    return None if seconds == UNSET else seconds
