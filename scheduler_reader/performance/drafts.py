"""What speculative decoding adds to a step of the engine."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Literal

from scheduler_reader.capacity.constants import Spread
from scheduler_reader.performance.host import HostOverhead
from scheduler_reader.record import Record

if TYPE_CHECKING:
    from scheduler_reader.performance.step import Chunks, StepModel


class Speculation(Record):
    """What speculative decoding adds to a step: up to `drafts` tokens a decoding sequence, checked at
    once; `proposed` of them on average.

    `draft` is a pass of what makes the drafts, None where no pass is needed; the first pass takes
    all tokens of the step, the others one a sequence.  `acceptance` is what a step yields of a
    sequence, in tokens; `routing` how many tokens of other sequences a draft is worth in the experts
    it adds to those its sequence touches; `step_s` is the host's time for checking, `draft_s` that
    of a pass.
    """

    method: str
    drafts: int
    proposed: float
    acceptance: Spread
    draft: StepModel | None
    step_s: Spread
    draft_s: Spread
    routing: Spread
    is_stated: bool = False  # the workload states the acceptance
    undrafted_host: HostOverhead | None = None  # where the engine would schedule otherwise

    @property
    def alike(self) -> float:
        """Drafts of a sequence that add no experts, as a number of tokens."""
        return self.proposed * (1 - self.routing.best)

    def accepting(self, tokens: float) -> Speculation:
        """Under traffic that states what a step yields."""
        stated = Spread.exact(min(tokens, self.drafts + 1.0))
        return self._replace(acceptance=stated, is_stated=True)

    def at(self, end: Literal["slow", "fast"]) -> Speculation:
        """One end of all that is known of drafts: the fewest tokens, the most experts and the
        most time of the host together, or the other way round.
        """
        is_slow, tokens = end == "slow", self.acceptance
        costs = (
            Spread.exact(cost.high if is_slow else cost.low)
            for cost in (self.step_s, self.draft_s, self.routing)
        )
        step_s, draft_s, routing = costs
        return self._replace(
            acceptance=Spread.exact(tokens.low if is_slow else tokens.high),
            step_s=step_s,
            draft_s=draft_s,
            routing=routing,
        )


def drafted(
    spec: Speculation,
    seqs: float,
    context_tokens: float,
    chunks: Chunks,
    copies: float,
) -> tuple[float, float, float, float]:
    """Seconds (memory, compute, communication, host) of the passes that make the next drafts of every
    sequence of the step.

    Neglected: that the first pass also takes the drafts that were accepted.
    """
    if spec.draft is None:
        return 0.0, 0.0, 0.0, 0.0
    memory, compute, communication, host = spec.draft.step_parts(
        seqs, context_tokens, chunks, copies
    )
    passes = spec.drafts * spec.draft_s.best
    if spec.drafts == 1:
        return memory, compute, communication, host + passes
    context_tokens += copies * fsum(tokens + depth for tokens, depth in chunks)
    later = spec.draft.step_parts(seqs + copies * len(chunks), context_tokens)
    more = spec.drafts - 1
    return (
        memory + more * later.memory,
        compute + more * later.compute,
        communication + more * later.communication,
        host + more * later.host + passes,
    )
