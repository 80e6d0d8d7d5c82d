"""The physical KV blocks: which are free, in which order they are taken, and what they hold.

A block keeps its content after it is freed, and can be found by it until it is taken again; the
free list is therefore the eviction order (vllm/v1/core/block_pool.py, BlockPool).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

NULL_BLOCK = 0  # stands for a block outside the window; never handed out


class BlockPool:
    """Blocks 1 … n-1 with reference counts, a free list, and one content index per KV group."""

    def __init__(self, num_blocks: int, num_groups: int) -> None:
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(1, num_blocks))
        self._references = [0] * num_blocks
        self._content: list[tuple[int, int] | None] = [None] * num_blocks  # (group, key)
        self._index: list[dict[int, list[int]]] = [{} for _ in range(num_groups)]
        self._watched: frozenset[int] = frozenset()
        self.is_touched = True  # whether a watched key was found in more or fewer blocks since

    @property
    def free(self) -> int:
        return len(self._free)

    def find(self, group: int, key: int) -> int | None:
        """The block with this content that was hashed first, free or in use."""
        blocks = self._index[group].get(key)
        return blocks[0] if blocks else None

    def watch(self, keys: Iterable[int]) -> None:
        """Note from now on when one of these keys gets a block or loses one."""
        self._watched, self.is_touched = frozenset(keys), False

    def is_free(self, block: int) -> bool:
        return self._references[block] == 0 and block != NULL_BLOCK

    def take(self, count: int) -> list[int]:
        """The next `count` free blocks; what they held is forgotten."""
        taken = []
        for _ in range(count):
            block, _ = self._free.popitem(last=False)
            self._forget(block)
            self._references[block] = 1
            taken.append(block)
        return taken

    def share(self, blocks: Iterable[int]) -> None:
        """Another request uses these blocks too."""
        for block in blocks:
            if block == NULL_BLOCK:
                continue
            if self._references[block] == 0:
                del self._free[block]
            self._references[block] += 1

    def index(self, block: int, group: int, key: int) -> None:
        """The block now holds the content `key` and can be found by it."""
        if self._content[block] == (group, key):
            return
        self.is_touched = self.is_touched or key in self._watched
        self._content[block] = (group, key)
        self._index[group].setdefault(key, []).append(block)

    def release(self, blocks: Iterable[int], unhashed_first: bool) -> None:
        """One request less uses these blocks, given in the order in which they may be evicted.

        Those that nobody uses any more join the end of the free list, or with `unhashed_first`
        its front when they hold nothing that could be found again.
        """
        front: list[int] = []
        end: list[int] = []
        for block in blocks:
            if block == NULL_BLOCK:
                continue
            self._references[block] -= 1
            if self._references[block] == 0:
                to_front = unhashed_first and self._content[block] is None
                (front if to_front else end).append(block)
        for block in reversed(front):
            self._free[block] = None
            self._free.move_to_end(block, last=False)
        for block in end:
            self._free[block] = None

    def _forget(self, block: int) -> None:
        content = self._content[block]
        if content is None:
            return
        group, key = content
        self.is_touched = self.is_touched or key in self._watched
        same = self._index[group][key]
        same.remove(block)
        if not same:
            del self._index[group][key]
        self._content[block] = None
