"""One step of a run from event to event: what it computes, and what it brings when it is done."""

from __future__ import annotations

from scheduler_reader.record import Record
from scheduler_reader.simulate.cohort import Ending


class InFlight(Record):
    """A step in flight: when it is done, whose first token it brings, and whom it ends."""

    done_s: float
    first_tokens: list[int]
    ends: list[Ending]
    is_empty: bool = False


class Work:
    """What a step computes: decodes, chunks, and the last known token of preempted requests."""

    def __init__(self, decoding: int, context: int) -> None:
        self.decoding, self.context = decoding, context
        self.chunks: list[tuple[int, int]] = []
        self.first_tokens: list[int] = []

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return not self.decoding and not self.chunks

    def add(self, tokens: int, start: int, prompt_tokens: int) -> None:
        """A chunk of what is known; one token beyond the prompt that was sent is as a decode."""
        if tokens == 1 and start >= prompt_tokens:
            self.decoding += 1
            self.context += start + 1
        elif tokens:
            self.chunks.append((tokens, start))
