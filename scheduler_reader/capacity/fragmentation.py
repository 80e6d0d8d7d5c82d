"""KV waste of requests: contiguous reservation at the longest length, against blocks.

PagedAttention wastes only the unused end of each request's last block, (block size - 1) / 2 tokens
on average whatever the request's length.  Source: Kwon et al., "Efficient Memory Management for
Large Language Model Serving with PagedAttention", SOSP 2023, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PAPER_WASTE = 0.04  # of a request's tokens: the share often quoted from the paper as a constant


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """Slots of one KV cache, in tokens.  A request holds all its tokens, none more than the limit."""

    requests: int
    max_model_len: int
    block_size: int
    held_tokens: int
    block_tokens: int  # of all blocks that hold them
    cut_requests: int  # longer than max_model_len, and cut there

    @property
    def mean_tokens(self) -> float:
        return self.held_tokens / self.requests

    @property
    def reserved_tokens(self) -> int:
        """Slots when each request reserves max_model_len at once."""
        return self.requests * self.max_model_len

    @property
    def reserved_waste(self) -> float:
        """Share of the reserved slots that no token ever takes."""
        return 1 - self.held_tokens / self.reserved_tokens

    @property
    def wasted_per_request(self) -> float:
        """Empty slots in last blocks, tokens a request, as counted."""
        return (self.block_tokens - self.held_tokens) / self.requests

    @property
    def expected_per_request(self) -> float:
        """The same by formula: lengths are equally likely to end anywhere in a block."""
        return (self.block_size - 1) / 2

    @property
    def block_waste(self) -> float:
        """Counted empty slots as a share of the tokens held."""
        return self.wasted_per_request / self.mean_tokens

    @property
    def expected_waste(self) -> float:
        return self.expected_per_request / self.mean_tokens

    @property
    def gain(self) -> float:
        """How many times as many requests blocks hold in the same memory."""
        return self.reserved_tokens / self.block_tokens

    @property
    def paper_waste_length(self) -> float:
        """The request length, in tokens, at which the waste is the paper's 4 %."""
        return self.expected_per_request / PAPER_WASTE


def fragmentation(lengths: Iterable[int], max_model_len: int, block_size: int) -> Fragmentation:
    """Count the slots of requests of these lengths in tokens; at least one request is needed."""
    requests = held = blocks = cut = 0
    for length in lengths:
        tokens = min(length, max_model_len)
        requests += 1
        cut += tokens < length
        held += tokens
        blocks += -(-tokens // block_size)
    return Fragmentation(requests, max_model_len, block_size, held, blocks * block_size, cut)
