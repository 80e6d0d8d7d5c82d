"""What requests go through in a run, written down as it happens: tokens, waits, stretches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from scheduler_reader.simulate.arrivals import Arrival
from scheduler_reader.simulate.percentiles import Progression
from scheduler_reader.simulate.result import OwnGaps, Phase, RequestRecord

PhaseKind: TypeAlias = Literal["waiting", "prefill", "decode", "preempted"]


@dataclass(slots=True)
class Life:
    """One request from arrival on; `phases` None: they are not kept."""

    arrival: Arrival
    phases: list[Phase] | None
    admitted_s: float | None = None
    first_token_s: float | None = None
    last_token_s: float = 0.0
    finished_s: float | None = None
    outputs: int = 0
    cached_tokens: int = 0
    preemptions: int = 0
    _gaps: list[float | tuple[float, ...] | Progression] = field(default_factory=list)
    _kind: PhaseKind = "waiting"
    _since_s: float = 0.0
    _tokens: int = 0

    def arrives(self, time_s: float) -> None:
        """The request is in the waiting queue."""
        self._since_s = time_s

    def is_admitted(self, time_s: float, start: int) -> None:
        """It is scheduled with `start` tokens there; what counts is the first time."""
        if self.admitted_s is None:
            self.admitted_s, self.cached_tokens = time_s, start

    def runs(self, time_s: float, tokens: int, is_decode: bool) -> None:
        """A step begins that computes `tokens` of it."""
        if not is_decode or self._kind != "decode":
            self._enter("decode" if is_decode else "prefill", time_s)
        self._tokens += tokens

    def is_preempted(self, time_s: float) -> None:
        """Its blocks are taken; it waits to be computed anew."""
        self.preemptions += 1
        self._enter("preempted", time_s)

    def receives(self, time_s: float, tokens: int) -> float | None:
        """A step's output is there, of tokens that come together; the gap before it, or None for
        the first.
        """
        gap = None
        if self.first_token_s is None:
            self.first_token_s = time_s
        else:
            gap = time_s - self.last_token_s
            self._gaps.append(gap)
        if tokens > 1:
            self._gaps.extend([0.0] * (tokens - 1))
        self.last_token_s = time_s
        self.outputs += tokens
        return gap

    def receives_steadily(self, first_s: float, gaps: Progression) -> float:
        """A token at `first_s`, and one after each of `gaps`; the gap before all of them."""
        before_s = self.receives(first_s, 1)
        assert before_s is not None, "who decodes has a token"
        self.outputs += gaps.steps
        self.last_token_s = first_s + gaps.total
        if gaps.steps:
            self._gaps.append(gaps)
        return before_s

    def receives_at(self, times_s: Sequence[float], gaps: tuple[float, ...]) -> float:
        """A token at each time; the gap before them, and `gaps` (which others share) between."""
        before_s = self.receives(times_s[0], 1)
        assert before_s is not None, "who decodes has a token"
        self.outputs += len(gaps)
        self.last_token_s = times_s[-1]
        self._gaps.append(gaps)
        return before_s

    def ends(self, time_s: float) -> None:
        """The last token is out."""
        self.finished_s = time_s
        self._enter("waiting", time_s)

    def record(self) -> RequestRecord:
        """What is left of it, now or after it is finished."""
        arrival = self.arrival
        assert arrival.time_s is not None
        return RequestRecord(
            number=arrival.number,
            prompt_tokens=arrival.prompt_tokens,
            output_tokens=self.outputs,
            arrival_s=arrival.time_s,
            admitted_s=self.admitted_s,
            first_token_s=self.first_token_s,
            finished_s=self.finished_s,
            cached_tokens=self.cached_tokens,
            preemptions=self.preemptions,
            gaps=LifeGaps(self._gaps),
        )

    def _enter(self, kind: PhaseKind, time_s: float) -> None:
        if self.phases is not None and time_s > self._since_s:
            number = self.arrival.number
            self.phases.append(Phase(number, self._kind, self._since_s, time_s, self._tokens))
        self._kind, self._since_s, self._tokens = kind, time_s, 0


class LifeGaps(OwnGaps):
    """The gaps of one request as they were written down."""

    __slots__ = ("_parts",)

    def __init__(self, parts: list[float | tuple[float, ...] | Progression]) -> None:
        self._parts = parts

    def progressions(self) -> Iterator[Progression]:
        for part in self._parts:
            if isinstance(part, float):
                yield Progression(part, 0.0, 1, 1)
            elif isinstance(part, Progression):
                yield part
            else:
                yield from (Progression(gap, 0.0, 1, 1) for gap in part)

    def within(self, limit_s: float) -> tuple[int, int]:
        size = count = 0
        for part in self._parts:
            if isinstance(part, float):
                size += 1
                count += part <= limit_s
            elif isinstance(part, Progression):
                size += part.steps
                count += part.split(limit_s)
            else:
                size += len(part)
                count += sum([gap <= limit_s for gap in part])
        return size, count
