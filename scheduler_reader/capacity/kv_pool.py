"""The pool of KV blocks that given memory makes on every worker, as vLLM plans it.

All groups draw from one pool of equal blocks.  A block is as large as the largest group's pages
together; a request needs blocks in each group; the worker with the fewest blocks decides.
Source: vllm/v1/core/kv_cache_utils.py (kv_cache_planning.py from 0.33.0), get_kv_cache_configs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from scheduler_reader.capacity.constants import value_at
from scheduler_reader.capacity.kv_layers import KvGroup, KvLayer, cut_groups
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record


class KvLayout(Record):
    """The groups of one worker.  `layers`: as the model has them, before groups change them."""

    groups: tuple[KvGroup, ...]
    layers: tuple[KvLayer, ...]
    block_bytes: float

    @classmethod
    def of(cls, groups: tuple[KvGroup, ...], layers: tuple[KvLayer, ...]) -> KvLayout:
        """The layout of these groups; a search for a length asks for its blocks many times."""
        block_bytes = max((group.page_bytes for group in groups), default=0.0)
        return cls(groups, layers, block_bytes)

    @property
    def block_size(self) -> int:
        """Tokens of the shortest block."""
        return min(group.block_size for group in self.groups)

    @property
    def bytes_per_token(self) -> float:
        """KV bytes that one more token takes on this rank while it is in every window."""
        return sum(
            layer.page_bytes / layer.block_size
            for group in self.groups
            for layer in group.layers.values()
            if not layer.state_blocks
        )

    def blocks(self, length: int) -> int:
        """Blocks that one request of `length` tokens needs in all groups together."""
        return sum(group.blocks(length) for group in self.groups)

    def checked_bytes(self, length: int, release: Release) -> float:
        """Bytes that the one-request check takes a request of `length` tokens to need.

        Through 0.13 every layer's own pages; then whole blocks, of the first group only to 0.18.
        """
        rule = value_at("one_request_counts", release)
        if rule == "layers":
            return sum(layer.blocks(length) * layer.page_bytes for layer in self.layers)
        if rule == "first group":
            return self.groups[0].blocks(length) * self.block_bytes
        return self.blocks(length) * self.block_bytes


def worker_layouts(
    workers: Sequence[Mapping[int, KvLayer]], release: Release, *, keeps_windows: bool = True
) -> tuple[KvLayout, ...]:
    """The groups of each worker, given its layers by number.

    Groups are cut over the layers of all workers, before 0.11.0 over each worker's own.  Raises
    `KvLayoutError` where the release refuses the mixture.
    """
    if not value_at("groups_are_global", release):
        own = [cut_groups(held, release, keeps_windows=keeps_windows) for held in workers]
    else:
        every = {number: layer for held in workers for number, layer in held.items()}
        groups = cut_groups(every, release, keeps_windows=keeps_windows)
        own = [tuple(group.on_stage(held) for group in groups) for held in workers]
    return tuple(
        KvLayout.of(groups, tuple(held.values())) for groups, held in zip(own, workers, strict=True)
    )


class KvPool(Record):
    """The blocks of one engine.  `memory`: bytes for KV on each worker, by `layouts`."""

    release: Release
    layouts: tuple[KvLayout, ...]
    memory: tuple[float, ...]
    blocks_override: int | None = None
    configured_block_size: int = 16

    @property
    def tightest(self) -> KvLayout:
        """The layout of the worker with the fewest blocks."""
        return self.layouts[min(range(len(self.layouts)), key=self.worker_blocks)]

    def worker_blocks(self, worker: int) -> int:
        """Blocks that one worker's memory holds, or the override."""
        size = self.layouts[worker].block_bytes
        if not size:
            return 1  # without attention: the null block only
        if self.blocks_override is not None:
            return self.blocks_override
        return max(0, int(self.memory[worker] // size))

    @property
    def num_blocks(self) -> int:
        return min(self.worker_blocks(worker) for worker in range(len(self.layouts)))

    def fits(self, length: int) -> bool:
        """Whether the one-request check passes for `length` tokens on every worker."""
        return all(need <= room for need, room in self._checks(length))

    def tightest_check(self, length: int) -> tuple[float, float]:
        """Bytes that one request needs and finds on the worker where it is shortest of them."""
        return min(self._checks(length), key=lambda check: check[1] - check[0])

    def has_memory(self) -> bool:
        """Whether every worker has memory for blocks at all."""
        return all(
            room > 0
            for layout, room in zip(self.layouts, self._rooms(), strict=True)
            if layout.block_bytes
        )

    def longest(self, limit: int) -> int:
        """The largest length up to `limit` that passes the one-request check; 0: none does."""
        return _largest(limit, self.fits) if self.has_memory() else 0

    def longest_held(self, limit: int) -> int:
        """The largest length that passes the check and whose blocks the pool really has."""
        blocks = self.num_blocks
        return _largest(
            self.longest(limit),
            lambda length: all(layout.blocks(length) <= blocks for layout in self.layouts),
        )

    def concurrency(self, length: int) -> float:
        """`Maximum concurrency`: requests of `length` tokens that the blocks hold at once."""
        if value_at("printed_concurrency", self.release) == "tokens":
            return self.printed_tokens(length) / length
        return self.num_blocks / self.layouts[0].blocks(length)

    def printed_tokens(self, length: int) -> int:
        """`GPU KV cache size`: what that release prints."""
        if value_at("printed_tokens", self.release) == "concurrency":
            return int(self.num_blocks / self.layouts[0].blocks(length) * length)
        groups = self.layouts[0].groups
        size = self.layouts[0].block_size
        if len(groups) == 1 and not value_at("groups_are_global", self.release):
            size = self.configured_block_size
        return self.num_blocks // len(groups) * size * max(g.first.shards for g in groups)

    def _checks(self, length: int) -> list[tuple[float, float]]:
        """Bytes needed and there, worker by worker; 0.14 to 0.16 take all workers as one."""
        rooms = self._rooms()
        if len(rooms) > 1 and value_at("check_counts_all_stages", self.release):
            return [(self._whole().checked_bytes(length, self.release), min(rooms))]
        return [
            (layout.checked_bytes(length, self.release), room)
            for layout, room in zip(self.layouts, rooms, strict=True)
            if layout.block_bytes
        ]

    def _whole(self) -> KvLayout:
        """The groups with the layers of all workers."""
        groups = tuple(
            KvGroup(dict(chain.from_iterable(p.layers.items() for p in parts)), parts[0].first)
            for parts in zip(*(layout.groups for layout in self.layouts), strict=True)
        )
        return KvLayout.of(groups, tuple(chain.from_iterable(la.layers for la in self.layouts)))

    def _rooms(self) -> list[float]:
        """Bytes the check finds on each worker: without the null block from 0.29.0 on."""
        spared = int(value_at("null_block_is_extra", self.release))
        sizes = [layout.block_bytes for layout in self.layouts]
        memory: Sequence[float] = self.memory
        if self.blocks_override is not None and value_at("override_is_checked", self.release):
            memory = [self.blocks_override * size for size in sizes]
        return [room - spared * size for room, size in zip(memory, sizes, strict=True)]


def _largest(limit: int, is_possible: Callable[[int], bool]) -> int:
    """The largest number up to `limit` that is possible; larger than an impossible one is none."""
    if limit and is_possible(limit):  # mostly, and then nothing is searched
        return limit
    low, high = 0, max(limit - 1, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_possible(middle) else (low, middle - 1)
    return low
