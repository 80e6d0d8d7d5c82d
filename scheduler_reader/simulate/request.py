"""A request as the scheduler sees it: counts, never tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Status(Enum):
    waiting = "waiting"
    running = "running"
    preempted = "preempted"
    finished = "finished"


@dataclass(slots=True, eq=False)
class Request:
    """One request: what was asked for, and how far the scheduler has brought it.

    Which tokens a prompt holds is never stored.  The first `prefix_tokens` are those of
    `prefix_group`, shared by all its requests; everything after is this request's own.
    """

    number: int
    arrival: int  # step (or microsecond): first come is the smaller (arrival, number)
    prompt_tokens: int
    max_tokens: int  # output tokens at which it ends
    priority: int = 0  # smaller is more urgent
    prefix_group: int | None = None
    prefix_tokens: int = 0

    status: Status = Status.waiting
    computed: int = 0  # tokens whose KV is there, or will be when the batches in flight are done
    outputs: int = 0  # output tokens received
    placeholders: int = 0  # async scheduling: tokens sampled in flight, drafts included
    in_flight: int = 0  # tokens scheduled whose output has not come
    stale: int = 0  # of these, tokens scheduled before the last preemption
    drafts: int = 0  # proposed tokens to verify
    is_prefilling: bool = False  # the last scheduled chunk left known tokens uncomputed
    eligible_step: int = 0  # first step that may decode it again
    preemptions: int = 0

    held: int = 0  # entries of its block tables, the same in every KV group
    behind_window: int = 0  # leading entries already given back by a window group
    tables: list[list[int]] = field(default_factory=list)  # block ids by group (prefix caching)
    hashed: list[int] = field(default_factory=list)  # leading entries with a hash, by group
    hashes: int = 0  # whole blocks of its tokens whose hash is known, held now or not

    @property
    def known(self) -> int:
        """Tokens whose value is known: the prompt and the outputs received."""
        return self.prompt_tokens + self.outputs

    @property
    def rank(self) -> tuple[int, int, int]:
        """Order under the priority policy: urgent first, then first come."""
        return (self.priority, self.arrival, self.number)
