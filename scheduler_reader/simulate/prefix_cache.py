"""KV blocks with prefix caching: blocks that hold the same tokens are shared.

vLLM finds a block by a hash over its tokens and all before them.  Here the tokens of a prompt are
a shared prefix and then the request's own, so the same identity is an integer made of whose tokens
they are and the block's position.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.block_pool import NULL_BLOCK, BlockPool
from scheduler_reader.simulate.config import EngineConfig, Overlap
from scheduler_reader.simulate.failure import EngineError
from scheduler_reader.simulate.kv_manager import FULL, NO_HIT, WINDOW, Hit, KVManager
from scheduler_reader.simulate.request import Request

_POSITIONS = 32  # bits of a block's position in its key


class PrefixKVManager(KVManager):
    """Block tables of all requests, and what can be found in the blocks."""

    def __init__(self, config: EngineConfig, behaviour: Behaviour, overlap: Overlap) -> None:
        super().__init__(config, behaviour, overlap)
        self._pool = BlockPool(config.num_gpu_blocks, len(self._groups))
        self._last: tuple[Request, int, int, Hit] | None = None  # looked up; what its hit hangs on

    @property
    def free(self) -> int:
        return self._pool.free

    def lookup(self, request: Request) -> Hit:
        """The longest cached prefix: whole blocks, and never the last known token.

        A window group needs only the blocks that the next token looks at, so the hit ends where
        such a run of blocks ends (vllm/v1/core/kv_cache_coordinator.py, find_longest_cache_hit).
        """
        request.hashes = request.hashes or request.known // self._block_size
        if self._window is None:
            return self._lookup_again(request)
        full = self._run_from_start(request)
        windowed = self._last_window_run(request, len(full))
        if not windowed:
            return NO_HIT
        return Hit(len(windowed) * self._block_size, (full[: len(windowed)], windowed))

    def _lookup_again(self, request: Request) -> Hit:
        """The hit; the head of the queue is looked up at every step, and mostly nothing has changed."""
        last = self._last
        asked = (request, request.known, request.hashes)
        if last is not None and last[:3] == asked and not self._pool.is_touched:
            return last[3]
        full = self._run_from_start(request)
        hit = Hit(len(full) * self._block_size, (full, ())) if full else NO_HIT
        self._pool.watch(self._key(request, position) for position in range(len(full) + 1))
        self._last = (*asked, hit)
        return hit

    def extend_all(self, requests: Sequence[Request], steps: int) -> None:
        """The same, block by block in the order in which the steps take them."""
        size = self._block_size
        takes = [
            (entries * size + 1 - request.computed, place, request)
            for place, request in enumerate(requests)
            for entries in range(request.held, request.held + self._entries_to_come(request, steps))
        ]
        takes.sort(key=itemgetter(0, 1))
        for (_, _, request), block in zip(takes, self._pool.take(len(takes)), strict=True):
            request.tables[FULL].append(block)
            request.held += 1

    def commit(self, request: Request, tokens: int) -> None:
        whole = tokens // self._block_size
        if whole <= request.hashes and whole <= min(request.hashed or (whole,)):
            return
        for group in self._groups if request.tables else ():
            table, first = request.tables[group], request.hashed[group]
            if 0 < first < whole and table[first - 1] == NULL_BLOCK:
                self._check_hash_chain(request)
            for position in range(first, whole):
                if table[position] != NULL_BLOCK:
                    self._pool.index(table[position], group, self._key(request, position))
            request.hashed[group] = max(whole, first)
        request.hashes = max(whole, request.hashes)

    def release(self, request: Request) -> None:
        for group, table in enumerate(request.tables):
            self._pool.release(reversed(table), self._unhashed_first(group))
        request.tables, request.hashed = [], []
        request.held = request.behind_window = 0

    def _check_hash_chain(self, request: Request) -> None:
        """A block is to be hashed, and that before it has been given back."""
        if self._behaviour.hashes_from_previous_block:
            raise EngineError(f"request {request.number} hashes on from a block it gave back")

    def _run_from_start(self, request: Request) -> list[int]:
        found: list[int] = []
        for position in range((request.known - 1) // self._block_size):
            if position == request.hashes and not self._behaviour.lookup_ends_at_last_hash:
                raise EngineError(f"request {request.number} is looked up past its last hash")
            block = self._pool.find(FULL, self._key(request, position))
            if block is None:
                break
            found.append(block)
        return found

    def _last_window_run(self, request: Request, entries: int) -> list[int]:
        """Table of the window group for the longest hit of at most `entries` blocks."""
        assert self._window is not None
        wanted = -(-(self._window - 1) // self._block_size)
        run: list[int] = []  # the last entry first
        for position in range(entries - 1, -1, -1):
            block = self._pool.find(WINDOW, self._key(request, position))
            if block is None:
                run = []
                continue
            run.append(block)
            if len(run) >= wanted:
                return [NULL_BLOCK] * position + run[::-1]
        return run[::-1]

    def _revived(self, blocks: Sequence[int]) -> int:
        return sum(map(self._pool.is_free, blocks))

    def _take(self, request: Request, entries: int, hit: Hit) -> None:
        if not request.tables:
            self._adopt(request, hit)
        for group in self._groups:
            table = request.tables[group]
            if entries > len(table):
                table += self._pool.take(entries - len(table))
        request.held = len(request.tables[FULL])

    def _adopt(self, request: Request, hit: Hit) -> None:
        """Begin the block tables with the blocks of a hit, less those behind the window."""
        request.tables = [list(hit.blocks[group]) for group in self._groups]
        if self._window is not None:
            skipped = self._entries_behind(request.computed + hit.tokens)
            skipped = min(skipped, len(request.tables[WINDOW]))
            request.tables[WINDOW][:skipped] = [NULL_BLOCK] * skipped
            request.behind_window = skipped
        for table in request.tables:
            self._pool.share(table)
        request.hashed = [len(table) for table in request.tables]

    def _drop(self, request: Request, first: int, last: int) -> None:
        table = request.tables[WINDOW]
        dropped = table[first:last]
        table[first:last] = [NULL_BLOCK] * (last - first)
        self._pool.release(reversed(dropped), self._unhashed_first(WINDOW))

    def _unhashed_first(self, group: int) -> bool:
        order = self._behaviour.free_order
        return order == "unhashed_first" or (order == "window_unhashed_first" and group == WINDOW)

    def _key(self, request: Request, position: int) -> int:
        """Identity of a whole block: of the shared prefix, or of this request's own tokens."""
        if (position + 1) * self._block_size <= request.prefix_tokens:
            assert request.prefix_group is not None
            return (2 * request.prefix_group << _POSITIONS) | position
        return (2 * request.number + 1 << _POSITIONS) | position
