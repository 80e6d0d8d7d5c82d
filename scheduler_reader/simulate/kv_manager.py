"""Which requests get KV blocks, and how many.

A request holds one block table per KV group: full attention, and in hybrid models a sliding-window
group that gives blocks behind the window back.  Tables of all groups are equally long (given-back
entries stay as null entries), so without prefix caching counts say everything, and an allocation
costs the same however long the request is.  `PrefixKVManager` adds the identity of blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.failure import EngineError
from scheduler_reader.simulate.request import Request

FULL, WINDOW = 0, 1  # KV groups, in the order of their block tables


@dataclass(frozen=True, slots=True)
class Hit:
    """A prefix found in the cache: its tokens, and its blocks in each KV group."""

    tokens: int = 0
    blocks: tuple[Sequence[int], ...] = ((), ())


NO_HIT = Hit()


class KVManager:
    """Block counts of all requests, against a pool of `free` blocks."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour, overlap: Overlap) -> None:
        self._config = config
        self._behaviour = behaviour
        self._block_size = config.block_size
        self._window = config.sliding_window
        self._groups = (FULL,) if config.sliding_window is None else (FULL, WINDOW)
        self._window_reservation = self._most_window_blocks(overlap)
        self._free = config.num_gpu_blocks - 1

    @property
    def free(self) -> int:
        """Blocks that can be taken now."""
        return self._free

    def lookup(self, request: Request) -> Hit:
        """The longest prefix of a waiting request that is in the cache."""
        return NO_HIT

    def admit(self, request: Request, tokens: int, hit: Hit, beside_others: bool) -> bool:
        """Give a waiting request the blocks of its first `tokens` after `hit`, if it may have them.

        False, and nothing changed, when the blocks are not there, or when not all of its known
        tokens would fit, with the watermark kept free when other requests run
        (vllm/v1/core/kv_cache_manager.py, KVCacheManager.allocate_slots).
        """
        headroom = self._headroom(beside_others)
        if self.reserves_known and self._lacks_reserve(request, hit, headroom):
            return False
        return self._allocate(request, tokens, hit, headroom)

    @property
    def reserves_known(self) -> bool:
        """Whether an admission needs room for all known tokens, not for the first chunk only."""
        return self._behaviour.reserves_known_tokens and self._config.scheduler_reserve_full_isl

    def fits(self, request: Request, tokens: int, hit: Hit, beside_others: bool) -> bool:
        """Whether `admit` would give a request its blocks; without a window group."""
        headroom = self._headroom(beside_others)
        if self.reserves_known and self._lacks_reserve(request, hit, headroom):
            return False
        slots = min(request.computed + hit.tokens + tokens, self._config.max_model_len)
        return self._needed(request, slots, hit) + headroom <= self.free

    def _headroom(self, beside_others: bool) -> int:
        """Blocks that an admission leaves free."""
        return self._config.watermark_blocks if beside_others else 0

    def _lacks_reserve(self, request: Request, hit: Hit, headroom: int) -> bool:
        known = min(request.known, self._config.max_model_len)
        return self._needed(request, known, hit, reserving=True) + headroom > self.free

    def extend(self, request: Request, tokens: int) -> bool:
        """Give a running request the blocks of its next `tokens`; False when they are not there."""
        slots = request.computed + tokens
        room = min(request.held * self._block_size, self._config.max_model_len)
        if slots <= room and self._window is None:  # most steps of a decode
            self.commit(request, min(slots, request.known))
            return True
        return self._allocate(request, tokens, NO_HIT, headroom=0)

    def steps_with_room(self, requests: Sequence[Request], most: int) -> int:
        """How many of `most` steps the free blocks last when each request takes a token a step."""
        free = self.free
        if len(requests) * (most // self._block_size + 1) <= free:
            return most
        return bisect_right(
            range(1, most + 1),
            free,
            key=lambda steps: sum(self._entries_to_come(each, steps) for each in requests),
        )

    def extend_all(self, requests: Sequence[Request], steps: int) -> None:
        """Give running requests, which have room, the blocks of a token each in so many steps."""
        for request in requests:
            more = self._entries_to_come(request, steps)
            self._free -= more
            request.held += more

    def _entries_to_come(self, request: Request, tokens: int) -> int:
        return max(-(-(request.computed + tokens) // self._block_size) - request.held, 0)

    def commit(self, request: Request, tokens: int) -> None:
        """The first `tokens` of a request are final: whole blocks of them can be found by content."""

    def release(self, request: Request) -> None:
        """Take back all blocks of a request."""
        self._free += request.held * len(self._groups) - request.behind_window
        request.held = request.behind_window = 0

    def _allocate(self, request: Request, tokens: int, hit: Hit, headroom: int) -> bool:
        computed = min(request.computed + hit.tokens, self._config.max_model_len)
        slots = min(computed + tokens, self._config.max_model_len)
        self._give_back_behind_window(request)
        if self._needed(request, slots, hit) + headroom > self.free:
            return False
        self._take(request, -(-slots // self._block_size), hit)
        self.commit(request, min(computed + tokens, request.known))
        return True

    def _needed(self, request: Request, tokens: int, hit: Hit, reserving: bool = False) -> int:
        """Free blocks that a request with room for `tokens` in all would take."""
        required = -(-tokens // self._block_size)
        needed = max(required - max(request.held, len(hit.blocks[FULL])), 0)
        needed += self._revived(hit.blocks[FULL])
        if self._window is None:
            return needed
        if reserving and self._window_reservation is not None:
            required = min(required, self._window_reservation)
        there = max(request.held, len(hit.blocks[WINDOW]))
        return needed + max(required - there, 0) + self._revived(hit.blocks[WINDOW])

    def _revived(self, blocks: Sequence[int]) -> int:
        """How many of the blocks of a hit are on the free list now."""
        return 0

    def _take(self, request: Request, entries: int, hit: Hit) -> None:
        """Make the block tables `entries` long."""
        more = entries - request.held
        if more > 0:
            self._free -= more * len(self._groups)
            request.held = entries

    def _give_back_behind_window(self, request: Request) -> None:
        """Free the blocks of a running request that no later token looks at."""
        if self._window is None:
            return
        computed = request.computed
        if self._behaviour.window_follows_output:
            computed -= request.in_flight
        behind = self._entries_behind(computed)
        if behind > request.held:
            raise EngineError(f"request {request.number} gives back blocks it does not hold")
        if behind > request.behind_window:
            self._drop(request, request.behind_window, behind)
            request.behind_window = behind

    def _drop(self, request: Request, first: int, last: int) -> None:
        """Free the window group's table entries `first` to `last` (exclusive)."""
        self._free += last - first

    def _entries_behind(self, computed: int) -> int:
        """Table entries wholly behind the window of the next token."""
        assert self._window is not None
        return max(computed - self._window + 1, 0) // self._block_size

    def _most_window_blocks(self, overlap: Overlap) -> int | None:
        """Blocks that a window group counts at most in an admission test; None: no such limit."""
        config = self._config
        if config.sliding_window is None or self._behaviour.window_reservation == "full":
            return None
        batches = 1
        if self._behaviour.window_reservation == "in_flight":
            batches = overlap.batches_in_flight
        tokens = config.sliding_window - 1 + config.max_num_batched_tokens * batches
        return -(-min(tokens, config.max_model_len) // self._block_size) + 1
