"""The free list of KV blocks, by what can still be found in them.

Where no prompt shares a prefix, the content of a block is of use to one request alone: the one that
wrote it, if it was preempted and waits.  So the list is a few segments: blocks of nobody, and the
first blocks of a preempted request, which are taken last (`block_pool.BlockPool` has the order).
"""

from __future__ import annotations

from collections import deque

from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig

NOBODY = -1


class FreeBlocks:
    """`count` free blocks; they are taken from the front and come back at the end."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour) -> None:
        self.count = config.num_gpu_blocks - 1
        self._keeps_content = config.enable_prefix_caching
        self._unhashed_first = behaviour.free_order == "unhashed_first"
        self._owned: dict[int, int] = {}  # blocks of preempted requests that hold what they wrote
        self._segments: deque[tuple[int, int]] = deque()  # (owner, blocks), while any are owned

    def take(self, blocks: int) -> None:
        """The next blocks; what they held is forgotten."""
        self.count -= blocks
        while blocks and self._owned:
            owner, there = self._segments[0]
            if there > blocks:
                self._segments[0] = owner, there - blocks
            else:
                self._segments.popleft()
            taken = min(there, blocks)
            blocks -= taken
            if owner != NOBODY:
                self._shrink(owner, self._owned[owner] - taken)

    def give_back(self, whole: int, unhashed: int) -> None:
        """The blocks of a request that will not come again."""
        self.give_up(NOBODY, whole, unhashed)

    def give_up(self, owner: int, whole: int, unhashed: int) -> None:
        """The blocks of a preempted request: `whole` of them can be found by their content."""
        is_owned = self._keeps_content and owner != NOBODY and whole > 0
        if self._owned or is_owned:
            if not self._owned:
                self._segments = deque([(NOBODY, self.count)])
            if self._unhashed_first:
                self._segments.appendleft((NOBODY, unhashed))
            else:
                self._segments.append((NOBODY, unhashed))
            self._segments.append((owner if is_owned else NOBODY, whole))
            if is_owned:
                self._owned[owner] = whole
        self.count += whole + unhashed

    def found(self, owner: int) -> int:
        """How many of its first blocks a preempted request would find."""
        return self._owned.get(owner, 0)

    def admit(self, owner: int, blocks: int) -> None:
        """Give a waiting request so many blocks: those that it finds, and the next ones."""
        found = self._owned.get(owner, 0)
        if found:
            self._segments.remove((owner, found))
            self.count -= found
            self._shrink(owner, 0)
        self.take(blocks - found)

    def _shrink(self, owner: int, blocks: int) -> None:
        if blocks:
            self._owned[owner] = blocks
        else:
            del self._owned[owner]
