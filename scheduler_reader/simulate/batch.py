"""What one call of schedule() decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler_reader.simulate.request import Request


@dataclass(slots=True)
class Share:
    """The part of a batch that one request has."""

    start: int  # tokens computed before
    tokens: int  # tokens to compute, drafts included
    samples: bool  # whether the model returns output for it
    drafts: int = 0  # proposed tokens among them
    returned: int = 0  # output tokens that the model returns, accepted drafts included


@dataclass(slots=True)
class Batch:
    """The requests of one step in scheduled order, and the token budget that is left."""

    budget: int
    shares: dict[Request, Share] = field(default_factory=dict)
    new: list[Request] = field(default_factory=list)
    resumed: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)
    carries_prefill: bool = False  # a running request was still in prefill
    admits_prefill: bool = False  # an admitted one has more than its last token to compute

    @property
    def has_running(self) -> bool:
        """Whether a request is in it that ran before this step."""
        return len(self.shares) > len(self.new) + len(self.resumed)

    def add(self, request: Request, start: int, tokens: int) -> Share:
        """Schedule `tokens` of a request; output comes when they reach its last known token."""
        known = request.prompt_tokens + request.outputs
        samples = start + tokens >= known + request.placeholders
        share = self.shares[request] = Share(start, tokens, samples, returned=int(samples))
        self.budget -= tokens
        return share

    def withdraw(self, request: Request) -> None:
        """Take a request out of the batch again and return its tokens to the budget."""
        self.budget += self.shares.pop(request).tokens
