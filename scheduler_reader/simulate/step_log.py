"""The steps of a run as stretches, and the requests' lives as places in that log.

While nothing arrives, finishes or is admitted, every decoding request takes one token a step, and
each step is longer than the one before by the same amount, since all contexts grow by one.  Such a
stretch is one entry.  A request keeps only which steps gave it its first and its last token, and
where a preemption came between, the same of each part of its life.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import overload

from scheduler_reader.record import Record
from scheduler_reader.simulate.percentiles import Progression, Progressions
from scheduler_reader.simulate.result import OwnGaps, RequestRecord

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
        self._limit: tuple[float, int] | None = None  # of `within`, and the log's length then
        self._up_to: list[int] = []  # steps within it before each stretch

    def add(self, first: int, steps: int, seconds: float, growth: float, receivers: int) -> None:
        """Append a stretch."""
        self._first.append(first)
        self._seconds.append(seconds)
        self._growth.append(growth)
        self._receivers.append(receivers)
        self._end = first + steps

    def gaps(self, pauses: Iterable[Progression] = ()) -> Progressions:
        """All gaps between output tokens, of all requests: a step's time, so many times, and the
        pauses over preemptions.
        """
        steps = (
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
        return Progressions((*steps, *pauses))

    def between(self, first: int, last: int) -> Iterator[Progression]:
        """The gaps of one request: the steps after `first` up to and including `last`."""
        index = bisect_right(self._first, first + 1) - 1
        while index < len(self._first) and self._first[index] <= last:
            begin = max(first + 1, self._first[index])
            end = min(last, self._last(index))
            yield self._part(index)._replace(
                first=self._seconds[index] + self._growth[index] * (begin - self._first[index]),
                steps=end - begin + 1,
            )
            index += 1

    def within(self, first: int, last: int, limit_s: float) -> int:
        """How many gaps between two steps are within a limit."""
        if self._limit != (limit_s, self._end):
            counts = (self._part(index).split(limit_s) for index in range(len(self._first)))
            self._limit, self._up_to = (limit_s, self._end), [0, *accumulate(counts)]
        return self._within(last + 1) - self._within(first + 1)

    def _within(self, step: int) -> int:
        """How many steps before this one are within the limit that was asked for."""
        index = bisect_right(self._first, step) - 1
        in_part = self._up_to[index + 1] - self._up_to[index]
        return self._up_to[index] + min(in_part, step - self._first[index])

    def _part(self, index: int) -> Progression:
        steps = self._last(index) - self._first[index] + 1
        return Progression(self._seconds[index], self._growth[index], steps, 1)

    def _last(self, index: int) -> int:
        following = index + 1
        return (self._first[following] if following < len(self._first) else self._end) - 1


class Pause(Record):
    """A part of a life, ended by a preemption: the steps of its first and its last token."""

    first: int
    last: int
    end_s: float  # when the last token came


class RequestGaps(OwnGaps):
    """The gaps of one request, read from the log when they are asked for."""

    __slots__ = ("_lives", "_outputs", "_place")

    def __init__(self, lives: Lives, place: int, outputs: int) -> None:
        self._lives, self._place, self._outputs = lives, place, outputs

    def progressions(self) -> Iterator[Progression]:
        pauses_s = self._lives.pauses_s(self._place)
        for number, (first, last) in enumerate(self._lives.parts(self._place, self._outputs)):
            if number:
                yield Progression(pauses_s[number - 1], 0.0, 1, 1)
            yield from self._lives.log.between(first, last)

    def within(self, limit_s: float) -> tuple[int, int]:
        pauses_s = self._lives.pauses_s(self._place)
        size, count = len(pauses_s), sum([pause_s <= limit_s for pause_s in pauses_s])
        for first, last in self._lives.parts(self._place, self._outputs):
            size += last - first
            count += self._lives.log.within(first, last, limit_s)
        return size, count


class Lives(Sequence[RequestRecord]):
    """One record a request, kept as columns: a million of them take some 70 MB."""

    def __init__(self, log: StepLog) -> None:
        self.log = log
        self.number = array("q")
        self.prompt_tokens = array("q")
        self.output_tokens = array("q")
        self.arrival_s = array("d")
        self.admitted_s = array("d")
        self.first_token_s = array("d")
        self.finished_s = array("d")
        self.first_step = array("q")
        self._cached_tokens: dict[int, int] = {}  # of those that found any, by place
        self._pauses: dict[int, list[Pause]] = {}  # of preempted requests, by place
        self._pauses_s: dict[int, list[float]] = {}
        self._preemptions: Counter[int] = Counter()
        self.preemptions = 0  # of all together

    @property
    def pauses(self) -> Iterator[Progression]:
        """The gaps over a preemption, of all requests together."""
        counts = Counter(chain.from_iterable(self._pauses_s.values()))
        return (Progression(gap_s, 0.0, 1, count) for gap_s, count in counts.items())

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

    def admit(self, place: int, time_s: float, cached_tokens: int) -> None:
        """A request is admitted and finds so many tokens; what counts is the first time."""
        if self.admitted_s[place] == UNSET:
            self.admitted_s[place] = time_s
            if cached_tokens:
                self._cached_tokens[place] = cached_tokens

    def preempt(self, place: int) -> None:
        """A request gives way; what it has computed is lost."""
        self._preemptions[place] += 1
        self.preemptions += 1

    def pause(self, place: int, last_step: int, time_s: float) -> None:
        """A request with tokens gives way after a step, whose token comes at that time."""
        part = Pause(self.first_step[place], last_step, time_s)
        self._pauses.setdefault(place, []).append(part)

    def receive(self, place: int, time_s: float) -> None:
        """The first token is there, or the first one after a preemption."""
        if self.first_token_s[place] == UNSET:
            self.first_token_s[place] = time_s
            return
        gaps_s = self._pauses_s.setdefault(place, [])
        gaps_s.append(time_s - self._pauses[place][len(gaps_s)].end_s)

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
        return RequestRecord(
            number=self.number[index],
            prompt_tokens=self.prompt_tokens[index],
            output_tokens=outputs,
            arrival_s=self.arrival_s[index],
            admitted_s=_set(self.admitted_s[index]),
            first_token_s=_set(self.first_token_s[index]),
            finished_s=finished_s,
            cached_tokens=self._cached_tokens.get(index, 0),
            preemptions=self._preemptions.get(index, 0),
            gaps=RequestGaps(self, index, outputs),
        )

    def parts(self, place: int, outputs: int) -> list[tuple[int, int]]:
        """The steps of the first and the last token of each part of a life with so many tokens."""
        parts = [(part.first, part.last) for part in self._pauses.get(place, ())]
        before, first = sum([last - start + 1 for start, last in parts]), self.first_step[place]
        return [*parts, (first, first + max(outputs - before, 1) - 1)]

    def pauses_s(self, place: int) -> Sequence[float]:
        """The gaps between these parts."""
        return self._pauses_s.get(place, ())


def _set(seconds: float) -> float | None:
    return None if seconds == UNSET else seconds
