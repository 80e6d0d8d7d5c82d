"""KV blocks by what can be found in them, counted where nothing can.

`block_pool.BlockPool` knows what each block holds.  Here a run goes from event to event, and most
blocks are a number: what a request wrote itself is of use to that request alone, and only if it was
preempted and waits.  Of a prefix that a group of requests shares, `Prefixes` says who holds what.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from scheduler_reader.record import Record
from scheduler_reader.simulate.behaviour import Behaviour
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.failure import NotPlainError
from scheduler_reader.simulate.prefixes import Prefixes

# What stands in the free list: blocks of prefixes by the number of their return, the own blocks of
# a preempted request by its place, or blocks in which nothing is found.
Entry: TypeAlias = tuple[str, int]
PREFIX, OWN, NOTHING = "prefix", "own", "nothing"
_POSITIONS = 32  # bits of a block's position in what it holds: the group's number is above them


class Found(Record):
    """What a waiting request finds: blocks of its prefix, how many of them others hold, and how many
    blocks it wrote itself.
    """

    prefix: int
    in_use: int
    own: int

    @property
    def size(self) -> int:
        """Blocks in all."""
        return self.prefix + self.own


class Prefix(Record):
    """What a request shares with its group: the first content, and how many blocks."""

    content: int
    blocks: int


NOTHING_FOUND = Found(0, 0, 0)


class Blocks:
    """`free` blocks in the order in which they are taken, and those that requests hold.

    The order is kept from the first request on that could find something; before, and with prefix
    caching off, blocks are a number.
    """

    def __init__(self, config: EngineConfig, behaviour: Behaviour) -> None:
        self.free = config.num_gpu_blocks - 1
        self._size = config.block_size
        self._keeps_content = config.enable_prefix_caching
        self._unhashed_first = behaviour.free_order == "unhashed_first"
        self._is_ordered = False
        self._list: OrderedDict[Entry, int] = OrderedDict()
        self._shared: dict[int, Prefix] = {}  # by place
        self._written: dict[int, int] = {}  # blocks of the prefix that have a hash, by place
        self._prefixes = Prefixes()
        self._changes = 0  # of what can be found
        self._freed: dict[int, int] = {}  # by place with own blocks: after how many they came back
        self._last = (-1, 0, 0), NOTHING_FOUND  # asked for, and the answer

    def arrive(self, place: int, group: int | None, prefix_tokens: int) -> None:
        """A request shares its first tokens with all of its group."""
        if group is not None and self._keeps_content and prefix_tokens >= self._size:
            self._order()
            self._shared[place] = Prefix(group << _POSITIONS, prefix_tokens // self._size)

    def find(self, place: int, known: int) -> Found:
        """What a waiting request of so many tokens finds: never the block of its last one."""
        if not self._is_ordered:
            return NOTHING_FOUND
        asked = place, known, self._changes
        if self._last[0] != asked:  # the head of the queue is asked for at every step
            self._last = asked, self._find(place, known)
        return self._last[1]

    def is_lost_from_end(self, place: int, found: Found) -> bool:
        """Whether of what a waiting request finds the last block is always the next one taken: with
        each block that is taken it loses one at most, and fits no sooner.
        """
        if not found.prefix:
            return True
        return self._prefixes.is_lost_from_end(
            self._shared[place].content, found.prefix, self._freed[place] if found.own else 0
        )

    def wanted(self, found: Found, tokens: int) -> int:
        """Free blocks that so many tokens take: all but what others hold already."""
        return -(-tokens // self._size) - found.in_use

    def admit(self, place: int, found: Found, tokens: int) -> int:
        """Give a waiting request the blocks of so many tokens, those found included: how many."""
        if not self._is_ordered:
            return self.extend(place, 0, tokens)
        if found.prefix:
            self._hold(place, found.prefix)
        if self._list.pop((OWN, place), 0) != found.own:
            raise NotPlainError  # what is left could be found beside what is written again
        self.free -= found.own
        if place in self._shared:
            self._written[place] = found.prefix
        return self.extend(place, found.size, tokens)

    def extend(self, place: int, held: int, tokens: int) -> int:
        """Make the blocks of a request enough for so many tokens, all of them known: how many."""
        blocks = -(-tokens // self._size)
        self.take(blocks - held)
        if place in self._shared:
            self._write(place, tokens // self._size)
        return blocks

    def take(self, blocks: int) -> None:
        """The next free blocks; what they held is forgotten."""
        self.free -= blocks
        entries = self._list
        while blocks and self._is_ordered:
            entry, there = entries.popitem(last=False)
            taken = min(there, blocks)
            blocks -= taken
            if entry[0] == PREFIX:
                self._prefixes.take(entry[1], taken)
            if entry[0] != NOTHING:
                self._changes += 1
            if there > taken:
                entries[entry] = there - taken
                entries.move_to_end(entry, last=False)

    def release(self, place: int, tokens: int, hashed: int, *, waits: bool) -> None:
        """Take back the blocks of so many tokens, of which `hashed` are in blocks with a hash; one
        that `waits` will look for them.
        """
        whole, held = hashed // self._size, -(-tokens // self._size)
        if not self._is_ordered:
            if not (waits and whole and self._keeps_content):
                self.free += held
                return
            self._order()
        self._changes += 1
        written = self._written.pop(place, 0)
        own = whole - written
        self._put(held - whole, at_front=self._unhashed_first)
        if waits and own:
            self._list[OWN, place] = own
            self._freed[place] = self._changes
        else:
            self._put(own)
        self.free += held - written
        if written:
            self._leave(place, written)
        if not waits:
            self._shared.pop(place, None)

    def _order(self) -> None:
        """Keep the order from now on: nothing is found in the blocks that are free."""
        if not self._is_ordered:
            self._is_ordered, self._list[NOTHING, 0] = True, self.free

    def _find(self, place: int, known: int) -> Found:
        most, prefix, in_use = (known - 1) // self._size, 0, 0
        if shared := self._shared.get(place):
            wanted = min(shared.blocks, most)
            prefix, in_use = self._prefixes.find(shared.content, wanted)
            if prefix < wanted:
                return Found(prefix, in_use, 0)
        own = self._list.get((OWN, place), 0)
        return Found(prefix, in_use, min(own, most - prefix))

    def _hold(self, place: int, blocks: int) -> None:
        """A request holds what it found of its prefix."""
        self._changes += 1
        for number, taken in self._prefixes.hold(place, self._shared[place].content, blocks):
            self.free -= taken
            entry = PREFIX, number
            if self._list[entry] == taken:
                del self._list[entry]
            else:
                self._list[entry] -= taken

    def _write(self, place: int, whole: int) -> None:
        """The first `whole` blocks of a request have a hash."""
        content, shared = self._shared[place]
        written, end = self._written[place], min(whole, shared)
        if end > written:
            self._changes += 1
            self._prefixes.write(place, content + written, content + end)
            self._written[place] = end

    def _leave(self, place: int, written: int) -> None:
        """One user less of the blocks of a prefix."""
        self._changes += 1
        content, number = self._shared[place].content, self._changes
        freed = self._prefixes.leave(place, content, written, number)
        if freed:
            self._list[PREFIX, number] = freed
            self.free += freed

    def _put(self, blocks: int, *, at_front: bool = False) -> None:
        """Blocks in which nothing is found come back."""
        if not blocks:
            return
        neighbour = next(iter(self._list) if at_front else reversed(self._list), None)
        if neighbour is not None and neighbour[0] == NOTHING:
            self._list[neighbour] += blocks
            return
        self._changes += 1
        entry = NOTHING, self._changes
        self._list[entry] = blocks
        if at_front:
            self._list.move_to_end(entry, last=False)
